// What each action does to the view.

import { AREA_KINDS, PICTURE_IDS } from '../../../extension/shared/commands';
import { fitAll } from '../canvas/camera';
import type { Action } from '../shell/keys';
import type { BookmarkTour } from './bookmark-tour';
import { moveCamera } from '../shell/moves';
import type { PointerInput } from '../widgets/pointer';
import type { Plot } from './plot';
import type { TimelineSession } from './session';

/** Going to the peak from afar shows this share of the run around it. */
const PEAK_VIEW = 0.1;

export function runAction(
  action: Action,
  session: TimelineSession,
  pointer: PointerInput,
  tour: BookmarkTour,
): void {
  const { plot, selection, cursors, areas } = session;
  if (moveCamera(action, plot)) return;
  switch (action) {
    case 'peak':
      goToPeak(session);
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
      session.openSelected(false);
      return;
    case 'openSourceBeside':
      session.openSelected(true);
      return;
    case 'clearSelection':
      if (!pointer.escape() && !selection.clear()) cursors.clear();
      return;
    case 'toggleAxis':
      session.toggleAxis();
      return;
    case 'toggleColour':
      areas.toggleColour();
      return;
    case 'toggleHeight':
      session.toggleHeight();
      return;
    case 'toggleOrder':
      areas.toggleOrder();
      return;
    case 'group.none':
      areas.groupBy(null);
      return;
    case 'addBookmark':
      tour.add();
      return;
    case 'nextBookmark':
    case 'previousBookmark':
      tour.step(action === 'nextBookmark' ? 1 : -1);
      return;
    case 'exportBookmarks':
      tour.bookmarks.export();
      return;
    case 'cursorHere':
      cursors.place(middle(plot));
      return;
    case 'secondCursorHere':
      cursors.extendTo(middle(plot));
      return;
    case 'cursorBack':
    case 'cursorOn':
      cursors.step(action === 'cursorOn' ? 1 : -1, false);
      return;
    case 'secondCursorBack':
    case 'secondCursorOn':
      cursors.step(action === 'secondCursorOn' ? 1 : -1, true);
      return;
    case 'nextDevice':
      session.nextDevice();
      return;
    case 'boxTool':
      pointer.toggleBoxTool();
      return;
    default:
      showNamed(action, session);
  }
}

/** "picture.stacked", "group.line". */
function showNamed(action: Action, session: TimelineSession): void {
  const kind = AREA_KINDS.find((each) => action === `group.${each}`);
  const picture = PICTURE_IDS.find((id) => action === `picture.${id}`);
  if (kind) session.areas.groupBy(kind);
  else if (picture) session.showPicture(picture);
}

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
