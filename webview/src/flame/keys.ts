// The keys of the flame graph and what they do. The list of keys that `?` shows is made of this table as well.

import { t } from '../base/l10n';
import type { KeyPress } from '../shell/keys';

export type FlameAction =
  | 'above'
  | 'below'
  | 'left'
  | 'right'
  | 'zoom'
  | 'open'
  | 'leave'
  | 'pageUp'
  | 'pageDown'
  | 'whole'
  | 'zoomIn'
  | 'zoomOut'
  | 'search'
  | 'nextMatch'
  | 'previousMatch'
  | 'focus'
  | 'ignore'
  | 'hide'
  | 'collapse'
  | 'sandwich'
  | 'objects';

export interface FlameKeyRow {
  /** As `KeyboardEvent.key`, with "Shift+" or "Mod+" (Ctrl, or Cmd) before it. */
  readonly keys: readonly string[];
  readonly action: FlameAction;
  readonly text: string;
}

export const FLAME_KEYS: readonly FlameKeyRow[] = [
  { keys: ['ArrowUp'], action: 'above', text: t('To the box above') },
  { keys: ['ArrowDown'], action: 'below', text: t('To the box below') },
  { keys: ['ArrowLeft'], action: 'left', text: t('To the box on the left') },
  { keys: ['ArrowRight'], action: 'right', text: t('To the box on the right') },
  { keys: ['Enter'], action: 'zoom', text: t('Zoom to the box') },
  { keys: ['Mod+Enter'], action: 'open', text: t('Open its line (in the tables Enter does)') },
  { keys: ['+', '='], action: 'zoomIn', text: t('Zoom in') },
  { keys: ['-'], action: 'zoomOut', text: t('Zoom out') },
  { keys: ['0', 'Home'], action: 'whole', text: t('Reset zoom') },
  { keys: ['PageUp'], action: 'pageUp', text: t('One page up') },
  { keys: ['PageDown'], action: 'pageDown', text: t('One page down') },
  { keys: ['/'], action: 'search', text: t('Search') },
  { keys: ['n'], action: 'nextMatch', text: t('Next match') },
  { keys: ['Shift+n'], action: 'previousMatch', text: t('Previous match') },
  { keys: ['w'], action: 'sandwich', text: t('Sandwich: callers and callees of the function') },
  { keys: ['f'], action: 'focus', text: t('Focus: only stacks through the function') },
  { keys: ['i'], action: 'ignore', text: t('Ignore: no stacks through the function, in any view') },
  { keys: ['h'], action: 'hide', text: t('Hide the function; its bytes stay with its callers') },
  { keys: ['c'], action: 'collapse', text: t('Collapse its package into one box') },
  {
    keys: ['Escape'],
    action: 'leave',
    text: t('Clear in turn: selection, zoom, focus, hidden, collapsed, search'),
  },
];

/** Where stacks allocated the objects of a heap dump. */
export const OBJECT_KEYS: readonly FlameKeyRow[] = [
  { keys: ['o'], action: 'objects', text: t('Show the objects that a box allocated') },
];

const ACTIONS = new Map(
  [...FLAME_KEYS, ...OBJECT_KEYS].flatMap((row) => row.keys.map((key) => [key, row.action] as const)),
);

export function flameAction(press: KeyPress): FlameAction | null {
  if (press.altKey) return null;
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const letter = /^[a-z]$/.test(key);
  const mod = press.ctrlKey || press.metaKey ? 'Mod+' : '';
  // A symbol's own Shift is not asked for, nor is that of a letter which has no meaning of its own with it.
  const shifted = press.shiftKey && letter ? ACTIONS.get(`${mod}Shift+${key}`) : undefined;
  return shifted ?? ACTIONS.get(mod + key) ?? null;
}
