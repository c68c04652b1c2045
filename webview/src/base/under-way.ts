// What the view has begun and not finished: requests, what is put off for a moment, frames. End-to-end tests wait for it.

declare global {
  interface Window {
    /** `begun` and `commands` only grow: what was ever begun, and the commands of the palette that arrived. */
    memlensUnderWay?: {
      readonly names: readonly string[];
      readonly begun: number;
      readonly commands: number;
    };
  }
}

const left = new Map<unknown, string>();
let begun = 0;
let commands = 0;

/** Something is under way, known by `what`, until `finished` is called with the same. */
export function started(what: unknown, name: string): void {
  left.set(what, name);
  begun++;
}

export function finished(what: unknown): void {
  left.delete(what);
}

export function commandArrived(): void {
  commands++;
}

export function exposeUnderWay(): void {
  Object.defineProperty(window, 'memlensUnderWay', {
    get: () => ({ names: [...left.values()], begun, commands }),
  });
}
