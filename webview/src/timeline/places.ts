// A timeline's view as it is kept, and the way back to where it was.

import type { TimelineState } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Compare } from '../compare/comparison';
import type { KeptFlame } from '../flame/settings';
import type { Change } from '../shell/context';
import type { Arrangement } from './arrangement';
import type { CursorState } from './cursors';
import type { Grouping } from './grouping';
import type { Parts } from './parts';
import type { Colours } from './scene/colours';
import type { Subject } from './subject';

interface Placed {
  readonly subject: Subject;
  readonly grouping: Grouping;
  readonly colours: Colours;
  readonly arrangement: Arrangement;
  readonly compare: Compare;
  readonly flame: KeptFlame;
  changed(...changes: readonly Change[]): void;
  cursorsChanged(): void;
  rearranged(): void;
}

/** Where the view stands. */
export function placeOf(
  { subject, grouping, colours, arrangement, compare, flame }: Placed,
  { plot, selection, cursors, dock }: Parts,
): TimelineState {
  const { device, axis, filter } = subject;
  const { x0, x1, y0, y1 } = plot.target;
  return {
    ...{ model: 'timeline', device: device.device, axis, x0, x1, y0, y1, filter },
    ...{ selection: selection.current, colour: colours.by, areas: grouping.kind },
    ...{ holdHeight: plot.holdsHeight, picture: arrangement.picture, pane: dock.shown },
    ...{ compare: compare.state, flame: flame.state },
    ...cursors.state,
  };
}

export function goTo(state: TimelineState, view: Placed, parts: Parts): void {
  parts.plot.setHold(state.holdHeight);
  view.grouping.goTo(state);
  view.subject.restore(state.device, state.filter, (device) => arrive(state, device, view, parts));
}

/** `device` is as the filter leaves it. */
function arrive(state: TimelineState, device: DeviceInfo, view: Placed, parts: Parts): void {
  const { cursors, dock, plot, selection } = parts;
  const { subject, arrangement } = view;
  const here = device === subject.device && state.axis === subject.axis;
  if (here) plot.moveTo(state, true);
  else subject.show(device, state.axis, state);
  if (momentsOf(cursors.state) !== momentsOf(state)) {
    cursors.turnTo(device.device, state);
    if (state.first === null) view.cursorsChanged();
  }
  view.flame.restore(state.flame);
  view.compare.goTo(state.compare);
  if (state.picture !== arrangement.picture) arrangement.showPicture(state.picture);
  dock.show(state.pane);
  view.changed('flame', ...(here ? [] : (['filter'] as const)));
  if (state.selection === null) selection.clear();
  else if (!here || state.selection !== selection.current) selection.select(state.selection, null, false);
  view.rearranged();
}

function momentsOf({ scope, kind, first, second }: CursorState): string {
  return JSON.stringify([scope, kind, first, second]);
}
