// When a view's state is saved: a moment after its last change, and at once when the page is left or hidden.

import { debounce } from '../widgets/dom';

const SAVE_AFTER_MS = 250;

export interface Saver {
  (): void;
  /** Saves what is waiting to be saved. */
  flush: () => void;
  /** It was saved. */
  cancel: () => void;
}

export function saver(save: () => void, stop: AbortSignal): Saver {
  const soon = debounce(SAVE_AFTER_MS, save);
  for (const [target, event] of [
    [window, 'pagehide'],
    [document, 'visibilitychange'],
  ] as const)
    target.addEventListener(event, soon.flush, { signal: stop });
  return soon;
}
