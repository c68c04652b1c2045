// The keys of the flame graph, wherever it is shown.

import { t } from '../base/l10n';
import type { Part } from '../shell/help';
import { KeyTable, type KeyRow } from '../shell/key-table';

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

const ROWS: readonly KeyRow<FlameAction>[] = [
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

export const FLAME_KEYS = new KeyTable<FlameAction>(ROWS, true);

/** Of the stacks that allocated the objects of a heap dump. */
export const STACK_KEYS = new KeyTable<FlameAction>(
  [...ROWS, { keys: ['o'], action: 'objects', text: t('Show the objects that a box allocated') }],
  true,
);

/** What of them a picture of a heap dump has. */
const BOX_ACTIONS: ReadonlySet<FlameAction> = new Set([
  ...(['above', 'below', 'left', 'right', 'zoom', 'open', 'leave', 'pageUp', 'pageDown', 'whole'] as const),
  ...(['zoomIn', 'zoomOut', 'nextMatch', 'previousMatch'] as const),
]);

export const BOX_KEYS = new KeyTable<FlameAction>(
  ROWS.filter(({ action }) => BOX_ACTIONS.has(action)).map((row) =>
    row.action === 'leave' ? { ...row, text: t('Clear the selection, then the zoom') } : row,
  ),
  true,
);

/** The part of a list of keys that is about a flame graph. */
export function flamePart(keys: KeyTable<FlameAction>): Part {
  return [t('In the flame graph'), keys.listed];
}
