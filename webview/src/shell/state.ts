// What of a view survives hiding its tab and reloading the window.

import {
  AREA_KINDS,
  PANE_IDS,
  PICTURE_IDS,
  type FlameState,
  type TimelineState,
  type ViewState,
} from '../../../extension/shared/messages';
import type { Attribution } from './attribution';
import type { DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import { restoreCompare } from '../compare/comparison';
import { hasTimes, peakTime } from '../base/devices';
import { oneOf } from '../base/one-of';
import type { GroupKind, GroupOrder, MemberOrder } from '../live-set/tree';
import type { CursorState } from '../timeline/cursors';
import { clampCamera, extentOf, fitAll, type Camera, type Extent } from '../canvas/camera';

export type Axis = TimelineState['axis'];

const SCOPES = ['peak', 'cursor', 'between'] as const;
const KINDS = ['live', 'allocated', 'freed', 'survived'] as const;

/** Kept by the webview itself; `view` is also what the host keeps. */
export interface SavedState {
  readonly view: ViewState | null;
  readonly layout: Layout;
  readonly kept?: Kept;
}

/** What single panes keep. */
export interface Kept {
  readonly sql?: SavedSql;
  readonly liveSet?: SavedLiveSet;
  readonly difference?: SavedDifference;
  readonly comparison?: SavedComparison;
  readonly attribution?: Attribution;
}

/** How the difference flame graph is shown. */
export interface SavedDifference {
  readonly scale: 'absolute' | 'normalised';
  readonly width: 'both' | 'after' | 'before';
  readonly flame: FlameState | null;
}

/** Whether a comparison is shown as a table or as a flame graph. */
export type SavedComparison = 'table' | 'graph';

/** By what the live set's tree is grouped, and its order; with no groups it is a list. */
export interface SavedLiveSet {
  readonly by: readonly GroupKind[];
  readonly groupOrder: GroupOrder;
  readonly memberOrder: MemberOrder;
  readonly descending: boolean;
}

/** The SQL panel's query and what was asked before, the latest first. */
interface SavedSql {
  readonly query: string;
  readonly history: readonly string[];
}

export interface Layout {
  readonly panelWidth: number;
  readonly panelOpen: boolean;
  readonly dockHeight: number;
  /** The panel below has the whole height, the picture none. */
  readonly dockTall: boolean;
}

const FIRST_LAYOUT: Layout = {
  panelWidth: 340,
  panelOpen: false,
  dockHeight: 300,
  dockTall: false,
};

export function deviceExtent(device: DeviceInfo, axis: Axis): Extent {
  const range = axis === 'time' && device.time_axis ? device.time_axis : device.event_axis;
  return extentOf(range, device.peak_bytes, axis, device.reserved_at_end_bytes ?? 0);
}

/** The peak's place on the axis, or null where there is none. */
export function peakAt(device: DeviceInfo, axis: Axis): number | null {
  if (axis === 'time') return peakTime(device);
  return device.events > 0 ? device.peak_moment : null;
}

/** What was kept of a view of a model: by the host, which knows of other windows, else by the page. */
export function keptState<M extends ViewState['model']>(
  model: M,
  byHost: ViewState | null,
  byPage: SavedState | undefined,
): Extract<ViewState, { model: M }> | null {
  const kept = byHost ?? byPage?.view ?? null;
  return isOf(model, kept) ? kept : null;
}

/** Whether a state is one of a model's views: another version may have kept another kind of state. */
export function isOf<M extends ViewState['model']>(
  model: M,
  state: ViewState | null,
): state is Extract<ViewState, { model: M }> {
  return state?.model === model;
}

/** A state that is valid for this snapshot: what is unknown or out of range is replaced by that of the first view. */
export function restoreState(info: TimelineInfo, saved: TimelineState | null): TimelineState {
  const device =
    info.devices.find((d) => d.device === saved?.device) ??
    info.devices.find((d) => d.device === info.default_device) ??
    info.devices[0];
  if (!device) throw new Error('The snapshot has no device.');
  const known = saved?.device === device.device ? saved : null;
  const axis: Axis = known?.axis === 'event' || !hasTimes(device) ? 'event' : 'time';
  const extent = deviceExtent(device, axis);
  const camera = known?.axis === axis && isCamera(known) ? clampCamera(known, extent) : fitAll(extent);
  const total = info.devices.reduce((sum, d) => sum + d.allocations, 0);
  const selection = known?.selection ?? null;
  return {
    model: 'timeline',
    device: device.device,
    axis,
    ...camera,
    selection:
      selection !== null && Number.isInteger(selection) && selection >= 0 && selection < total
        ? selection
        : null,
    colour: saved?.colour === 'category' && info.categories.length > 0 ? 'category' : 'stack',
    areas: saved?.areas === null ? null : oneOf(saved?.areas, AREA_KINDS, 'line'),
    holdHeight: saved?.holdHeight === true,
    picture: oneOf(saved?.picture, PICTURE_IDS, 'stacked'),
    pane: saved ? (PANE_IDS.find((id) => id === saved.pane) ?? null) : 'liveSet',
    filter: typeof saved?.filter === 'string' ? saved.filter : '',
    ...restoreCursors(known, device.events),
    compare: restoreCompare(saved?.compare),
    flame: saved?.flame ?? null,
  };
}

function restoreCursors(known: TimelineState | null, events: number): CursorState {
  const first = momentOf(known?.first, events);
  const second = first === null ? null : momentOf(known?.second, events);
  const scope = oneOf(known?.scope, SCOPES, 'peak');
  return { scope, kind: oneOf(known?.kind, KINDS, 'live'), first, second };
}

function momentOf(saved: number | null | undefined, events: number): number | null {
  return saved !== null && Number.isInteger(saved) && saved !== undefined && saved >= 0 && saved <= events
    ? saved
    : null;
}

function isCamera(c: Camera): boolean {
  return [c.x0, c.x1, c.y0, c.y1].every(Number.isFinite) && c.x1 > c.x0 && c.y1 > c.y0;
}

export function restoreLayout(saved: Layout | undefined): Layout {
  const layout = { ...FIRST_LAYOUT, ...saved };
  return {
    panelWidth: bounded(layout.panelWidth, 220, 900),
    panelOpen: layout.panelOpen,
    dockHeight: bounded(layout.dockHeight, 120, 1200),
    dockTall: layout.dockTall,
  };
}

function bounded(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, least), most) : least;
}
