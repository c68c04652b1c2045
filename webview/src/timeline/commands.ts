// The commands and keys of a trace's view, in the order in which `?` lists them.

import type { AreaKind } from '../../../extension/shared/commands';
import { hasTimes } from '../base/devices';
import { t } from '../base/l10n';
import { fitAll } from '../canvas/camera';
import type { CommandOf } from '../shell/command';
import {
  FILTER,
  HELP,
  NUMBERED,
  TOGGLE_PANE,
  TOGGLE_PANEL,
  TOGGLE_TALL,
  type CommandedView,
} from '../shell/commands';
import { CLEAR, CURSOR_MOVES, moveCamera, MOVES, PEAK } from '../shell/moves';
import type { PointerInput } from '../widgets/pointer';
import type { BookmarkTour } from './bookmark-tour';
import type { Plot } from './plot';
import type { TimelineSession } from './session';

/** What of a view they act on. */
interface TraceView extends CommandedView<TimelineSession> {
  readonly pointer: PointerInput;
  readonly tour: BookmarkTour;
}

type Row = CommandOf<TraceView, TimelineSession>;

/** Going to the peak from afar shows this share of the run around it. */
const PEAK_VIEW = 0.1;

const hasBookmarks = ({ bookmarks }: TimelineSession): boolean => bookmarks.list.value.length > 0;

const GROUPS: readonly (Pick<Row, 'action' | 'palette'> & { readonly kind: AreaKind | null })[] = [
  { action: 'group.line', palette: 'Group the Timeline by Line', kind: 'line' },
  { action: 'group.function', palette: 'Group the Timeline by Function', kind: 'function' },
  { action: 'group.module', palette: 'Group the Timeline by Module', kind: 'module' },
  { action: 'group.category', palette: 'Group the Timeline by Category', kind: 'category' },
  { action: 'group.file', palette: 'Group the Timeline by File', kind: 'file' },
  { action: 'group.size', palette: 'Group the Timeline by Size', kind: 'size' },
  { action: 'group.none', palette: 'Use PyTorch Order', kind: null },
];

/** The parts of the list of keys. */
const LOOK: readonly Row[] = [
  ...MOVES.map((row): Row => ({
    ...row,
    run: ({ session }) => void moveCamera(row.action, session.plot),
  })),
  { ...PEAK, when: ({ device }) => device.events > 0, run: ({ session }) => goToPeak(session) },
  {
    action: 'boxTool',
    keys: ['b'],
    text: t('Drag zooms a box (or Alt with a drag)'),
    run: ({ pointer }) => pointer.toggleBoxTool(),
  },
  {
    action: 'toggleHeight',
    palette: 'Lock Vertical Zoom',
    keys: ['h'],
    text: t('Keep the height while zooming in time'),
    run: ({ session }) => session.toggleHeight(),
  },
];

const ALLOCATIONS: readonly Row[] = [
  {
    action: 'younger',
    keys: ['Alt+ArrowUp'],
    text: t(
      'Select the next younger allocation, above (in the map: at a higher address; with none selected: the largest)',
    ),
    run: ({ session }) => session.step('younger'),
  },
  {
    action: 'older',
    keys: ['Alt+ArrowDown'],
    text: t('Select the next older allocation, below (in the map: at a lower address)'),
    run: ({ session }) => session.step('older'),
  },
  {
    action: 'previousSameStack',
    keys: ['['],
    text: t('Previous allocation of the same stack'),
    run: ({ session }) => session.step('previous_same_stack'),
  },
  {
    action: 'nextSameStack',
    keys: [']'],
    text: t('Next allocation of the same stack'),
    run: ({ session }) => session.step('next_same_stack'),
  },
  {
    action: 'zoomToSelection',
    palette: 'Zoom to Selection',
    keys: ['z'],
    text: t('Zoom to the selection'),
    when: ({ selected }) => selected !== null,
    run: ({ session }) => session.selection.zoomTo(),
  },
  {
    action: 'openSource',
    keys: ['Enter'],
    text: t('Open the line that allocated it'),
    run: ({ session }) => session.openSelected(false),
  },
  {
    action: 'openSourceBeside',
    keys: ['Mod+Enter'],
    text: t('Open that line beside'),
    run: ({ session }) => session.openSelected(true),
  },
  {
    ...CLEAR,
    when: ({ selected, highlight, cursors }) =>
      selected !== null || highlight.kind !== 'none' || cursors.first !== null,
    run: ({ session: { selection, cursors }, pointer }) => {
      if (!pointer.escape() && !selection.clear()) cursors.clear();
    },
  },
];

const CURSORS: readonly Row[] = [
  ...CURSOR_MOVES.map((row): Row => ({
    ...row,
    run: ({ session: { cursors, plot } }) => {
      if (row.by !== null) cursors.step(row.by, row.second);
      else if (row.second) cursors.extendTo(middle(plot));
      else cursors.place(middle(plot));
    },
  })),
  {
    action: 'addBookmark',
    palette: 'Add Bookmark…',
    keys: ['k'],
    text: t('Add a bookmark at the cursor, with a note'),
    when: ({ device }) => device.events > 0,
    run: ({ tour }) => tour.add(),
  },
  {
    action: 'nextBookmark',
    palette: 'Go to Next Bookmark',
    keys: ['n'],
    text: t('Next bookmark'),
    when: hasBookmarks,
    run: ({ tour }) => tour.step(1),
  },
  {
    action: 'previousBookmark',
    palette: 'Go to Previous Bookmark',
    keys: ['Shift+n'],
    text: t('Previous bookmark'),
    when: hasBookmarks,
    run: ({ tour }) => tour.step(-1),
  },
];

const VIEW: readonly Row[] = [
  TOGGLE_PANE,
  TOGGLE_TALL,
  ...NUMBERED,
  { ...TOGGLE_PANEL, keys: ['s'] },
  FILTER,
  {
    action: 'toggleAxis',
    palette: 'Switch between Time and Events',
    keys: ['a'],
    text: t('Time or event number'),
    when: ({ device }) => hasTimes(device),
    run: ({ session }) => session.toggleAxis(),
  },
  {
    action: 'toggleColour',
    palette: 'Switch Colours between Stack and Category',
    keys: ['c'],
    text: t('Colour by stack or by category'),
    when: ({ info }) => info.categories.length > 0,
    run: ({ session }) => session.areas.toggleColour(),
  },
  {
    action: 'toggleOrder',
    keys: ['g'],
    text: t('By group, or in the order of PyTorch’s viewer'),
    run: ({ session }) => session.areas.toggleOrder(),
  },
  {
    action: 'nextDevice',
    palette: 'Next Device',
    keys: ['d'],
    text: t('Next device'),
    when: ({ info }) => info.devices.length > 1,
    run: ({ session }) => session.nextDevice(),
  },
  HELP,
];

export const KEY_PARTS: readonly (readonly [title: string, rows: readonly Row[]])[] = [
  [t('Move and zoom'), LOOK],
  [t('Allocations'), ALLOCATIONS],
  [t('Cursors'), CURSORS],
  [t('View'), VIEW],
];

export const TIMELINE_COMMANDS: readonly Row[] = [
  ...KEY_PARTS.flatMap(([, rows]) => rows),
  {
    action: 'exportBookmarks',
    palette: 'Export Bookmarks…',
    list: 'share',
    when: hasBookmarks,
    run: ({ session }) => session.bookmarks.export(),
  },
  {
    action: 'picture.stacked',
    palette: 'Show Timeline',
    run: ({ session }) => session.showPicture('stacked'),
  },
  ...GROUPS.map(({ kind, ...row }): Row => ({
    ...row,
    when: ({ info }) => kind !== 'category' || info.categories.length > 0,
    run: ({ session }) => session.areas.groupBy(kind),
  })),
];

function middle(plot: Plot): number {
  const { x0, x1 } = plot.target;
  return plot.momentAt((x0 + x1) / 2);
}

function goToPeak(session: TimelineSession): void {
  const { plot } = session;
  const peak = session.peak();
  if (!peak) {
    plot.moveTo(fitAll(plot.bounds), true);
    return;
  }
  // A view that is closer already keeps its zoom.
  const all = plot.bounds.x1 - plot.bounds.x0;
  const span = Math.min(plot.target.x1 - plot.target.x0, all * PEAK_VIEW);
  plot.moveTo({ x0: peak.x - span / 2, x1: peak.x + span / 2, y0: 0, y1: plot.bounds.top }, true);
}
