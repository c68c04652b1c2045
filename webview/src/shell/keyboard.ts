// Which action a pressed key means, given where it was pressed.

import { actionOf, type Action } from './keys';

const SCROLL_KEYS = /^(Arrow|Page|Home|End)/;

/** What a list of choices doesn't use: no choice begins with a slash. */
const NOT_OF_LISTS = new Set(['Escape', '/']);

/** Null for a key that means nothing, or that the element with the focus uses itself. */
export function actionAt(event: KeyboardEvent): Action | null {
  const { target } = event;
  if (event.defaultPrevented) return null;
  // Where text is written every key is a letter, or VS Code's.
  if (isWritten(target)) return null;
  // A pane's settings are over the view.
  if (target instanceof Element && target.closest('.settings-slot')) return null;
  // Lists and buttons keep the keys that they use themselves.
  if (target instanceof HTMLSelectElement && !NOT_OF_LISTS.has(event.key)) return null;
  if (target instanceof HTMLButtonElement && (event.key === 'Enter' || event.key === ' ')) return null;
  if (!event.altKey && SCROLL_KEYS.test(event.key) && scrolls(target)) return null;
  return actionOf(event);
}

/** Whether a key without modifiers was pressed where it is the view's: not in a text, a list or a pane's settings. */
export function isPlain({ target, key, ctrlKey, metaKey, altKey, defaultPrevented }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey || defaultPrevented || isWritten(target)) return false;
  if (target instanceof HTMLSelectElement && !NOT_OF_LISTS.has(key)) return false;
  return !(target instanceof Element && target.closest('.settings-slot'));
}

/** Whether text is written there. */
export function isWritten(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, [contenteditable=true]') !== null;
}

/** Whether an element stands where those keys scroll, rather than move the picture. */
function scrolls(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('.panel, .dock') !== null;
}
