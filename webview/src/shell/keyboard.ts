// Which keys are the view's, given where they are pressed.

import type { KeyTable } from './key-table';

/** Whether letters, digits and signs by themselves are keys of views, which the user may not want. */
export const keySettings = { single: true };

const SCROLL_KEYS = /^(Arrow|Page|Home|End)/;

/** What a list of choices doesn't use: no choice begins with a slash. */
const NOT_OF_LISTS = new Set(['Escape', '/']);

/** Does what keys mean in a view, until it is closed; none while its list of keys is open. */
export function listenForKeys<A extends string>(
  table: KeyTable<A>,
  help: { readonly isOpen: boolean },
  run: (action: A) => void,
  signal: AbortSignal,
): void {
  window.addEventListener(
    'keydown',
    (event) => {
      if (help.isOpen || isTaken(event) || (!keySettings.single && isSingle(event))) return;
      const action = table.actionOf(event);
      if (action === null) return;
      event.preventDefault();
      run(action);
    },
    { signal },
  );
}

/** Whether a key is typed as if it were text. */
function isSingle({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return key.length === 1 && !ctrlKey && !metaKey && !altKey;
}

/** Whether the element with the focus uses the key itself. */
function isTaken({ target, key, altKey, defaultPrevented }: KeyboardEvent): boolean {
  if (defaultPrevented) return true;
  // Where text is written every key is a letter, or VS Code's.
  if (isWritten(target)) return true;
  // A pane's settings are over the view.
  if (target instanceof Element && target.closest('.settings-slot')) return true;
  // Lists and buttons keep the keys that they use themselves.
  if (target instanceof HTMLSelectElement && !NOT_OF_LISTS.has(key)) return true;
  if (target instanceof HTMLButtonElement && (key === 'Enter' || key === ' ')) return true;
  return !altKey && SCROLL_KEYS.test(key) && scrolls(target);
}

/** Whether text is written there. */
export function isWritten(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, [contenteditable=true]') !== null;
}

/** Keeps what is typed in a box from the view around it, but not the keys that are VS Code's: F1, Ctrl+P. */
export function keepTyping(event: KeyboardEvent): void {
  const isOfEditor = event.ctrlKey || event.metaKey || /^F\d+$/.test(event.key);
  if (!isOfEditor) event.stopPropagation();
}

/** Whether an element stands where those keys scroll, rather than move the picture. */
function scrolls(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.panel, .dock') !== null;
}
