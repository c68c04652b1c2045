// Following several values that may change together.

import { effect, untracked } from '@preact/signals';

/** Calls back with the names of the values that are others, once for all that change in a batch; until it is ended. */
export function follow<K extends string>(
  values: Readonly<Partial<Record<K, () => unknown>>>,
  changed: (names: ReadonlySet<K>) => void,
): () => void {
  // SAFETY: its names are those that the type of the parameter has.
  const all = Object.entries(values) as [K, () => unknown][];
  let before: readonly unknown[] | null = null;
  return effect(() => {
    const last = before;
    const now = all.map(([, value]) => value());
    before = now;
    const names = last === null ? [] : all.flatMap(([name], at) => (now[at] === last[at] ? [] : [name]));
    if (names.length > 0)
      untracked(() => {
        changed(new Set(names));
      });
  });
}

/** Uses what is read, and again whenever that may be another; what the use itself reads isn't followed. */
export function using<T>(read: () => T, use: (value: T) => void): () => void {
  return effect(() => {
    const value = read();
    untracked(() => {
      use(value);
    });
  });
}
