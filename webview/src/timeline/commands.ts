// What each action does to the view.

import { AREA_KINDS, PANE_IDS, PICTURE_IDS, type ViewCommand } from '../../../extension/shared/messages';
import type { Arrangement } from './arrangement';
import type { BookmarkTour } from './bookmark-tour';
import type { Cursors } from './cursors';
import { hasTimes } from '../base/devices';
import type { DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Action } from '../shell/keys';
import { SHARED_COMMANDS } from '../shell/share';
import type { Grouping } from './grouping';
import type { Parts } from './parts';
import type { Plot } from './plot';
import { fitAll } from '../canvas/camera';
import type { Selection } from './selection';
import type { Sources } from './sources';
import type { Subject } from './subject';
import { moveCamera } from './moves';

/** The part of the view that actions need. */
export interface Commanded {
  readonly plot: Plot;
  readonly selection: Selection;
  readonly subject: Subject;
  readonly grouping: Grouping;
  toggleHeight(): void;
  readonly cursors: Cursors;
  readonly arrangement: Arrangement;
  toggleHelp(): void;
  focusFilter(): void;
  readonly sources: Sources;
  readonly tour: BookmarkTour;
}

/** What does something in a timeline's view as it is. */
export function commandsOf(
  { dock, pictures, selection, cursors, bookmarks, plot }: Parts,
  { devices, categories }: TimelineInfo,
  device: DeviceInfo,
): readonly ViewCommand[] {
  const selected = selection.current !== null;
  const lit = selected || plot.highlighted.kind !== 'none' || cursors.first !== null;
  const given = <C extends ViewCommand>(holds: boolean, ...commands: readonly C[]): readonly C[] =>
    holds ? commands : [];
  return [
    ...SHARED_COMMANDS,
    ...(['exportSvg', 'exportPng', 'fit', 'zoomIn', 'zoomOut', 'togglePane'] as const),
    ...given(device.events > 0, 'peak', 'addBookmark'),
    ...given(bookmarks.list.value.length > 0, 'nextBookmark', 'previousBookmark', 'exportBookmarks'),
    ...given(selected, 'zoomToSelection'),
    ...given(lit, 'clearSelection'),
    ...given(hasTimes(device), 'toggleAxis'),
    ...given(categories.length > 0, 'toggleColour', 'group.category'),
    ...given(devices.length > 1, 'nextDevice'),
    ...dock.panes.map(({ id }) => `pane.${id}` as const),
    ...(['stacked', ...pictures.map(({ id }) => id)] as const).map((id) => `picture.${id}` as const),
    ...AREA_KINDS.filter((kind) => kind !== 'category').map((kind) => `group.${kind}` as const),
    ...(['group.none', 'toggleHeight'] as const),
  ];
}

/** Going to the peak from afar shows this share of the run around it. */
const PEAK_VIEW = 0.1;

export function runAction(action: Action, view: Commanded): void {
  const { plot, selection } = view;
  if (moveCamera(action, plot)) return;
  switch (action) {
    case 'peak':
      goToPeak(view);
      return;
    case 'older':
    case 'younger':
      selection.step(action);
      return;
    case 'previousSameStack':
      selection.step('previous_same_stack');
      return;
    case 'nextSameStack':
      selection.step('next_same_stack');
      return;
    case 'zoomToSelection':
      selection.zoomTo();
      return;
    case 'openSource':
      view.sources.openSelected(selection, false);
      return;
    case 'openSourceBeside':
      view.sources.openSelected(selection, true);
      return;
    case 'clearSelection':
      if (!view.arrangement.giveUp() && !selection.clear()) view.cursors.clear();
      return;
    case 'toggleAxis':
      view.subject.toggleAxis();
      return;
    case 'toggleColour':
      view.grouping.toggleColour();
      return;
    case 'toggleHeight':
      view.toggleHeight();
      return;
    case 'toggleOrder':
      view.grouping.toggleOrder();
      return;
    case 'group.none':
      view.grouping.groupBy(null);
      return;
    case 'togglePane':
      view.arrangement.togglePane();
      return;
    case 'toggleTall':
      view.arrangement.toggleTall();
      return;
    case 'addBookmark':
      view.tour.add();
      return;
    case 'nextBookmark':
    case 'previousBookmark':
      view.tour.step(action === 'nextBookmark' ? 1 : -1);
      return;
    case 'exportBookmarks':
      view.tour.bookmarks.export();
      return;
    case 'cursorHere':
      view.cursors.place(middle(plot));
      return;
    case 'secondCursorHere':
      view.cursors.extendTo(middle(plot));
      return;
    case 'cursorBack':
    case 'cursorOn':
      view.cursors.step(action === 'cursorOn' ? 1 : -1, false);
      return;
    case 'secondCursorBack':
    case 'secondCursorOn':
      view.cursors.step(action === 'secondCursorOn' ? 1 : -1, true);
      return;
    case 'togglePanel':
      view.arrangement.toggleDetails();
      return;
    case 'nextDevice':
      view.subject.nextDevice();
      return;
    case 'boxTool':
      view.arrangement.toggleBoxTool();
      return;
    case 'filter':
      view.focusFilter();
      return;
    case 'help':
      view.toggleHelp();
      return;
    default:
      showNamed(action, view);
  }
}

/** "pane3", "pane.liveSet", "picture.stacked", "group.line". */
function showNamed(action: Action, view: Commanded): void {
  const kind = AREA_KINDS.find((each) => action === `group.${each}`);
  if (kind) {
    view.grouping.groupBy(kind);
    return;
  }
  const picture = PICTURE_IDS.find((id) => action === `picture.${id}`);
  if (picture) {
    view.arrangement.showPicture(picture);
    return;
  }
  view.arrangement.showPane(
    PANE_IDS.find((id) => action === `pane.${id}`) ?? Number(action.slice('pane'.length)) - 1,
  );
}

function middle(plot: Plot): number {
  const { x0, x1 } = plot.target;
  return plot.momentAt((x0 + x1) / 2);
}

function goToPeak(view: Commanded): void {
  const { plot } = view;
  const peak = view.subject.peak();
  if (!peak) {
    plot.moveTo(fitAll(plot.bounds), true);
    return;
  }
  // A view that is closer already keeps its zoom.
  const all = plot.bounds.x1 - plot.bounds.x0;
  const span = Math.min(plot.target.x1 - plot.target.x0, all * PEAK_VIEW);
  plot.moveTo({ x0: peak.x - span / 2, x1: peak.x + span / 2, y0: 0, y1: plot.bounds.top }, true);
}
