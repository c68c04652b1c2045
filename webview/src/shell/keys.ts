// The keys of views, one table for all models.

import type { ViewCommand } from '../../../extension/shared/commands';
import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { KeyTable, type KeyRow } from './key-table';

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
  | 'nextValue'
  | 'explain'
  | `pane${number}`
  | 'filter'
  | 'help';

export type KeyGroup = 'look' | 'allocations' | 'cursors' | 'view';

type Model = SnapshotInfo['model'];

interface ViewKeyRow extends KeyRow<Action> {
  readonly group: KeyGroup;
  /** The models whose views have it; without them only a trace's. */
  readonly of?: readonly Model[];
}

const ALL = ['timeline', 'profile', 'graph'] as const;
const FILTER = { keys: ['/'], action: 'filter', text: t('Filter everything'), group: 'view' } as const;

const ROWS: readonly ViewKeyRow[] = [
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
  {
    keys: ['w'],
    action: 'explain',
    text: t('Why what is selected is alive'),
    group: 'view',
    of: ['graph'],
  },
  {
    keys: ['k'],
    action: 'addBookmark',
    text: t('Add a bookmark for what is selected, with a note'),
    group: 'view',
    of: ['graph'],
  },
  { keys: ['i'], action: 'togglePanel', text: t('Details'), group: 'view', of: ['graph'] },
  { keys: ['v'], action: 'nextValue', text: t('Next value'), group: 'view', of: ['profile'] },
  { ...FILTER, of: ['profile', 'graph'] },
  { keys: ['t'], action: 'togglePane', text: t('Panel'), group: 'view', of: ALL },
  { keys: ['Shift+t'], action: 'toggleTall', text: t('Maximize the panel'), group: 'view' },
  ...Array.from({ length: 9 }, (_, i) => ({
    keys: [String(i + 1)],
    action: `pane${i + 1}` as const,
    text: i === 0 ? t('The first pane (2 for the second, and so on)') : '',
    group: 'view' as const,
    of: ['timeline', 'graph'] as const,
  })),
  { keys: ['s'], action: 'togglePanel', text: t('Details'), group: 'view' },
  FILTER,
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
  { keys: ['?', 'Shift+?'], action: 'help', text: t('This list'), group: 'view', of: ALL },
];

const keysOf = (model: Model): KeyTable<Action, ViewKeyRow> =>
  new KeyTable(ROWS.filter(({ of = ['timeline'] }) => of.includes(model)));

export const KEYS = {
  timeline: keysOf('timeline'),
  profile: keysOf('profile'),
  graph: keysOf('graph'),
} as const;
