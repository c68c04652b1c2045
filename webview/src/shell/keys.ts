// Every key and what it does. The list of keys that `?` shows is made of this table as well.

import type { ViewCommand } from '../../../extension/shared/messages';

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

export interface KeyRow {
  /** As `KeyboardEvent.key`, with "Shift+", "Alt+" or "Mod+" (Ctrl, or Cmd) before it. */
  readonly keys: readonly string[];
  readonly action: Action;
  readonly text: string;
  readonly group: 'Look around' | 'Allocations' | 'Cursors' | 'View';
}

export const KEYS: readonly KeyRow[] = [
  { keys: ['ArrowLeft'], action: 'left', text: 'Move left', group: 'Look around' },
  { keys: ['ArrowRight'], action: 'right', text: 'Move right', group: 'Look around' },
  { keys: ['ArrowUp'], action: 'up', text: 'Move up', group: 'Look around' },
  { keys: ['ArrowDown'], action: 'down', text: 'Move down', group: 'Look around' },
  { keys: ['Shift+ArrowLeft', 'PageUp'], action: 'farLeft', text: 'A whole view left', group: 'Look around' },
  {
    keys: ['Shift+ArrowRight', 'PageDown'],
    action: 'farRight',
    text: 'A whole view right',
    group: 'Look around',
  },
  { keys: ['+', '=', 'Shift++'], action: 'zoomIn', text: 'Zoom in', group: 'Look around' },
  { keys: ['-', '_'], action: 'zoomOut', text: 'Zoom out', group: 'Look around' },
  { keys: ['Shift+ArrowUp'], action: 'zoomInHeight', text: 'Stretch the height', group: 'Look around' },
  { keys: ['Shift+ArrowDown'], action: 'zoomOutHeight', text: 'Shrink the height', group: 'Look around' },
  { keys: ['0', 'Home'], action: 'fit', text: 'Show everything', group: 'Look around' },
  { keys: ['p'], action: 'peak', text: 'Go to the peak', group: 'Look around' },
  { keys: ['b'], action: 'boxTool', text: 'Drag zooms a box (or Alt with a drag)', group: 'Look around' },
  {
    keys: ['Alt+ArrowUp'],
    action: 'younger',
    text: 'Select the next younger allocation, above (in the map: at a higher address; with none selected: the largest)',
    group: 'Allocations',
  },
  {
    keys: ['Alt+ArrowDown'],
    action: 'older',
    text: 'Select the next older allocation, below (in the map: at a lower address)',
    group: 'Allocations',
  },
  {
    keys: ['['],
    action: 'previousSameStack',
    text: 'Previous allocation of the same stack',
    group: 'Allocations',
  },
  {
    keys: [']'],
    action: 'nextSameStack',
    text: 'Next allocation of the same stack',
    group: 'Allocations',
  },
  { keys: ['z'], action: 'zoomToSelection', text: 'Zoom to the selection', group: 'Allocations' },
  { keys: ['Enter'], action: 'openSource', text: 'Open the line that allocated it', group: 'Allocations' },
  { keys: ['Mod+Enter'], action: 'openSourceBeside', text: 'Open that line beside', group: 'Allocations' },
  { keys: ['Escape'], action: 'clearSelection', text: 'Clear the selection', group: 'Allocations' },
  { keys: ['m'], action: 'cursorHere', text: 'Cursor to the middle of the view', group: 'Cursors' },
  { keys: ['Shift+m'], action: 'secondCursorHere', text: 'Second cursor to the middle', group: 'Cursors' },
  { keys: [','], action: 'cursorBack', text: 'Cursor one event back', group: 'Cursors' },
  { keys: ['.'], action: 'cursorOn', text: 'Cursor one event on', group: 'Cursors' },
  {
    keys: ['<', 'Shift+,'],
    action: 'secondCursorBack',
    text: 'Second cursor one event back',
    group: 'Cursors',
  },
  { keys: ['>', 'Shift+.'], action: 'secondCursorOn', text: 'Second cursor one event on', group: 'Cursors' },
  { keys: ['k'], action: 'addBookmark', text: 'Add a bookmark at the cursor, with a note', group: 'Cursors' },
  { keys: ['n'], action: 'nextBookmark', text: 'Next bookmark', group: 'Cursors' },
  { keys: ['Shift+n'], action: 'previousBookmark', text: 'Previous bookmark', group: 'Cursors' },
  { keys: ['t'], action: 'togglePane', text: 'Panel', group: 'View' },
  { keys: ['Shift+t'], action: 'toggleTall', text: 'Maximize the panel', group: 'View' },
  ...Array.from({ length: 9 }, (_, i) => ({
    keys: [String(i + 1)],
    action: `pane${i + 1}` as const,
    text: i === 0 ? 'The first pane (2 for the second, and so on)' : '',
    group: 'View' as const,
  })),
  { keys: ['s'], action: 'togglePanel', text: 'Details', group: 'View' },
  { keys: ['/'], action: 'filter', text: 'Filter everything', group: 'View' },
  { keys: ['a'], action: 'toggleAxis', text: 'Time or event number', group: 'View' },
  { keys: ['c'], action: 'toggleColour', text: 'Colour by stack or by category', group: 'View' },
  {
    keys: ['g'],
    action: 'toggleOrder',
    text: 'By group, or in the order of PyTorch’s viewer',
    group: 'View',
  },
  {
    keys: ['h'],
    action: 'toggleHeight',
    text: 'Hold the height while zooming in time',
    group: 'Look around',
  },
  { keys: ['d'], action: 'nextDevice', text: 'Next device', group: 'View' },
  { keys: ['?', 'Shift+?'], action: 'help', text: 'This list', group: 'View' },
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
  Escape: 'Esc',
  PageUp: 'Page Up',
  PageDown: 'Page Down',
};

/** A key as it stands on the keyboard. */
export function keyName(key: string, mac: boolean): string {
  const parts = key === 'Shift++' ? ['Shift', '+'] : key.length === 1 ? [key] : key.split('+');
  const names: Record<string, string> = { Mod: mac ? '⌘' : 'Ctrl', Alt: mac ? '⌥' : 'Alt' };
  return parts
    .map((part) => names[part] ?? SYMBOLS[part] ?? (part.length === 1 ? part.toUpperCase() : part))
    .join(' ');
}
