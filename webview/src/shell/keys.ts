// Every key and what it does. The list of keys that `?` shows is made of this table as well.

import type { ViewCommand } from '../../../extension/shared/messages';
import { t } from '../base/l10n';

export type Action =
  | ViewCommand
  | 'zoomInHeight'
  | 'zoomOutHeight'
  | 'left'
  | 'right'
  | 'up'
  | 'down'
  | 'farLeft'
  | 'farRight'
  | 'older'
  | 'younger'
  | 'previousSameStack'
  | 'nextSameStack'
  | 'openSource'
  | 'openSourceBeside'
  | 'togglePanel'
  | 'boxTool'
  | 'toggleOrder'
  | 'cursorHere'
  | 'secondCursorHere'
  | 'cursorBack'
  | 'cursorOn'
  | 'secondCursorBack'
  | 'secondCursorOn'
  | 'toggleTall'
  | `pane${number}`
  | 'filter'
  | 'help';

export type KeyGroup = 'look' | 'allocations' | 'cursors' | 'view';

export interface KeyRow {
  /** As `KeyboardEvent.key`, with "Shift+", "Alt+" or "Mod+" (Ctrl, or Cmd) before it. */
  readonly keys: readonly string[];
  readonly action: Action;
  readonly text: string;
  readonly group: KeyGroup;
}

export const KEYS: readonly KeyRow[] = [
  { keys: ['ArrowLeft'], action: 'left', text: t('Move left'), group: 'look' },
  { keys: ['ArrowRight'], action: 'right', text: t('Move right'), group: 'look' },
  { keys: ['ArrowUp'], action: 'up', text: t('Move up'), group: 'look' },
  { keys: ['ArrowDown'], action: 'down', text: t('Move down'), group: 'look' },
  { keys: ['Shift+ArrowLeft', 'PageUp'], action: 'farLeft', text: t('One view left'), group: 'look' },
  {
    keys: ['Shift+ArrowRight', 'PageDown'],
    action: 'farRight',
    text: t('One view right'),
    group: 'look',
  },
  { keys: ['+', '=', 'Shift++'], action: 'zoomIn', text: t('Zoom in'), group: 'look' },
  { keys: ['-', '_'], action: 'zoomOut', text: t('Zoom out'), group: 'look' },
  { keys: ['Shift+ArrowUp'], action: 'zoomInHeight', text: t('Stretch the height'), group: 'look' },
  { keys: ['Shift+ArrowDown'], action: 'zoomOutHeight', text: t('Shrink the height'), group: 'look' },
  { keys: ['0', 'Home'], action: 'fit', text: t('Reset zoom'), group: 'look' },
  { keys: ['p'], action: 'peak', text: t('Go to the peak'), group: 'look' },
  { keys: ['b'], action: 'boxTool', text: t('Drag zooms a box (or Alt with a drag)'), group: 'look' },
  {
    keys: ['Alt+ArrowUp'],
    action: 'younger',
    text: t(
      'Select the next younger allocation, above (in the map: at a higher address; with none selected: the largest)',
    ),
    group: 'allocations',
  },
  {
    keys: ['Alt+ArrowDown'],
    action: 'older',
    text: t('Select the next older allocation, below (in the map: at a lower address)'),
    group: 'allocations',
  },
  {
    keys: ['['],
    action: 'previousSameStack',
    text: t('Previous allocation of the same stack'),
    group: 'allocations',
  },
  {
    keys: [']'],
    action: 'nextSameStack',
    text: t('Next allocation of the same stack'),
    group: 'allocations',
  },
  { keys: ['z'], action: 'zoomToSelection', text: t('Zoom to the selection'), group: 'allocations' },
  { keys: ['Enter'], action: 'openSource', text: t('Open the line that allocated it'), group: 'allocations' },
  { keys: ['Mod+Enter'], action: 'openSourceBeside', text: t('Open that line beside'), group: 'allocations' },
  { keys: ['Escape'], action: 'clearSelection', text: t('Clear the selection'), group: 'allocations' },
  {
    keys: ['m'],
    action: 'cursorHere',
    text: t('Put the cursor in the middle of the view'),
    group: 'cursors',
  },
  {
    keys: ['Shift+m'],
    action: 'secondCursorHere',
    text: t('Put the second cursor in the middle'),
    group: 'cursors',
  },
  { keys: [','], action: 'cursorBack', text: t('Move the cursor back one event'), group: 'cursors' },
  { keys: ['.'], action: 'cursorOn', text: t('Move the cursor forward one event'), group: 'cursors' },
  {
    keys: ['<', 'Shift+,'],
    action: 'secondCursorBack',
    text: t('Move the second cursor back one event'),
    group: 'cursors',
  },
  {
    keys: ['>', 'Shift+.'],
    action: 'secondCursorOn',
    text: t('Move the second cursor forward one event'),
    group: 'cursors',
  },
  {
    keys: ['k'],
    action: 'addBookmark',
    text: t('Add a bookmark at the cursor, with a note'),
    group: 'cursors',
  },
  { keys: ['n'], action: 'nextBookmark', text: t('Next bookmark'), group: 'cursors' },
  { keys: ['Shift+n'], action: 'previousBookmark', text: t('Previous bookmark'), group: 'cursors' },
  { keys: ['t'], action: 'togglePane', text: t('Panel'), group: 'view' },
  { keys: ['Shift+t'], action: 'toggleTall', text: t('Maximize the panel'), group: 'view' },
  ...Array.from({ length: 9 }, (_, i) => ({
    keys: [String(i + 1)],
    action: `pane${i + 1}` as const,
    text: i === 0 ? t('The first pane (2 for the second, and so on)') : '',
    group: 'view' as const,
  })),
  { keys: ['s'], action: 'togglePanel', text: t('Details'), group: 'view' },
  { keys: ['/'], action: 'filter', text: t('Filter everything'), group: 'view' },
  { keys: ['a'], action: 'toggleAxis', text: t('Time or event number'), group: 'view' },
  { keys: ['c'], action: 'toggleColour', text: t('Colour by stack or by category'), group: 'view' },
  {
    keys: ['g'],
    action: 'toggleOrder',
    text: t('By group, or in the order of PyTorch’s viewer'),
    group: 'view',
  },
  {
    keys: ['h'],
    action: 'toggleHeight',
    text: t('Keep the height while zooming in time'),
    group: 'look',
  },
  { keys: ['d'], action: 'nextDevice', text: t('Next device'), group: 'view' },
  { keys: ['?', 'Shift+?'], action: 'help', text: t('This list'), group: 'view' },
];

export interface KeyPress {
  readonly key: string;
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
}

const ACTIONS = new Map(KEYS.flatMap((row) => row.keys.map((key) => [key, row.action] as const)));

export function actionOf(press: KeyPress): Action | null {
  const mod = press.ctrlKey || press.metaKey ? 'Mod+' : '';
  const alt = press.altKey ? 'Alt+' : '';
  // Caps lock should not disable half of the keys; a symbol's own Shift is not asked for twice.
  const key = press.key.length === 1 ? press.key.toLowerCase() : press.key;
  const shift = press.shiftKey ? 'Shift+' : '';
  const symbol = press.key.length === 1 && !/[a-z0-9]/i.test(press.key);
  return (
    ACTIONS.get(`${mod}${alt}${shift}${key}`) ?? (symbol ? (ACTIONS.get(`${mod}${alt}${key}`) ?? null) : null)
  );
}

const SYMBOLS: Record<string, string> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: t('Esc'),
  PageUp: t('Page Up'),
  PageDown: t('Page Down'),
};

/** A key as it stands on the keyboard. */
export function keyName(key: string, mac: boolean): string {
  const parts = key === 'Shift++' ? ['Shift', '+'] : key.length === 1 ? [key] : key.split('+');
  const names: Record<string, string> = { Mod: mac ? '⌘' : 'Ctrl', Alt: mac ? '⌥' : 'Alt' };
  return parts
    .map((part) => names[part] ?? SYMBOLS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(' ');
}
