// What each action does to the view.

import { AREA_KINDS, PANE_IDS, PICTURE_IDS, type AreaKind } from '../../../extension/shared/messages';
import type { Arrangement } from './arrangement';
import type { Bookmarks } from './bookmarks';
import type { Cursors } from './cursors';
import type { Action } from '../shell/keys';
import type { Plot } from './plot';
import { fitAll, panBy, zoomAt } from '../canvas/camera';
import type { Selection } from './selection';
import type { Sources } from './sources';

/** The part of the view that actions need. */
export interface Commanded {
  readonly plot: Plot;
  readonly selection: Selection;
  /** The peak's place on the axis, null where there is none. */
  peak(): { x: number; bytes: number } | null;
  toggleAxis(): void;
  toggleColour(): void;
  /** Groups the timeline; null for the order of PyTorch's viewer. */
  groupBy(kind: AreaKind | null): void;
  /** Between the last grouping and none. */
  toggleOrder(): void;
  toggleHeight(): void;
  readonly cursors: Cursors;
  readonly arrangement: Arrangement;
  toggleHelp(): void;
  focusFilter(): void;
  nextDevice(): void;
  readonly sources: Sources;
  readonly bookmarks: Bookmarks;
  /** At the moment that the panes answer for. */
  addBookmark(): void;
  stepBookmark(by: 1 | -1): void;
}

/** What every model's view can do at any time, besides going back and forward. */
export const SHARED_COMMANDS = ['copyLink', 'exportReport', 'copyReport'] as const;

const ZOOM = 1.5;
const STEP = 0.15;
const FAR = 0.9;
/** Going to the peak from afar shows this share of the run around it. */
const PEAK_VIEW = 0.1;

type Factors = readonly [x: number, y: number];

/** By which factors an action zooms, or by which shares of the view it moves. */
const MOVES: Readonly<Partial<Record<Action, { readonly zoom?: Factors; readonly pan?: Factors }>>> = {
  zoomIn: { zoom: [1 / ZOOM, 1] },
  zoomOut: { zoom: [ZOOM, 1] },
  zoomInHeight: { zoom: [1, 1 / ZOOM] },
  zoomOutHeight: { zoom: [1, ZOOM] },
  left: { pan: [-STEP, 0] },
  right: { pan: [STEP, 0] },
  up: { pan: [0, STEP] },
  down: { pan: [0, -STEP] },
  farLeft: { pan: [-FAR, 0] },
  farRight: { pan: [FAR, 0] },
};

/** Moves a picture's camera; false for an action that does something else. */
export function moveCamera(action: Action, plot: Plot): boolean {
  const zoom = (fx: number, fy: number): void => {
    const c = plot.target;
    plot.moveTo(
      zoomAt(c, plot.bounds, { x: (c.x0 + c.x1) / 2, y: fx === 1 ? c.y0 : (c.y0 + c.y1) / 2 }, fx, fy),
      true,
    );
  };
  const pan = (dx: number, dy: number): void => {
    plot.moveTo(panBy(plot.target, plot.bounds, dx, dy), true);
  };
  const { zoom: by, pan: far } = MOVES[action] ?? {};
  if (action === 'fit') plot.moveTo(fitAll(plot.bounds), true);
  else if (by) zoom(...by);
  else if (far) pan(...far);
  else return false;
  return true;
}

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
      view.toggleAxis();
      return;
    case 'toggleColour':
      view.toggleColour();
      return;
    case 'toggleHeight':
      view.toggleHeight();
      return;
    case 'toggleOrder':
      view.toggleOrder();
      return;
    case 'group.none':
      view.groupBy(null);
      return;
    case 'togglePane':
      view.arrangement.togglePane();
      return;
    case 'toggleTall':
      view.arrangement.toggleTall();
      return;
    case 'addBookmark':
      view.addBookmark();
      return;
    case 'nextBookmark':
    case 'previousBookmark':
      view.stepBookmark(action === 'nextBookmark' ? 1 : -1);
      return;
    case 'exportBookmarks':
      view.bookmarks.export();
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
      view.arrangement.togglePanel();
      return;
    case 'nextDevice':
      view.nextDevice();
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
    view.groupBy(kind);
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
  const peak = view.peak();
  if (!peak) {
    plot.moveTo(fitAll(plot.bounds), true);
    return;
  }
  // A view that is closer already keeps its zoom.
  const all = plot.bounds.x1 - plot.bounds.x0;
  const span = Math.min(plot.target.x1 - plot.target.x0, all * PEAK_VIEW);
  plot.moveTo({ x0: peak.x - span / 2, x1: peak.x + span / 2, y0: 0, y1: plot.bounds.top }, true);
}
