// The state of a timeline's view: restored as far as it fits the snapshot.

import { AREA_KINDS, VIEW_COMMANDS } from '../../../extension/shared/commands';
import type { TimelineState } from '../../../extension/shared/messages';
import type { DeviceInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import { hasTimes, peakTime, type Axis } from '../base/devices';
import { oneOf } from '../base/one-of';
import { clampCamera, extentOf, fitAll, type Camera, type Extent } from '../canvas/camera';
import { restoreCompare } from '../compare/comparison';
import type { CursorState } from './cursors';

const SCOPES = ['peak', 'cursor', 'between'] as const;

const KINDS = ['live', 'allocated', 'freed', 'survived'] as const;

export function deviceExtent(device: DeviceInfo, axis: Axis): Extent {
  const range = axis === 'time' && device.time_axis ? device.time_axis : device.event_axis;
  return extentOf(range, device.peak_bytes, axis, device.reserved_at_end_bytes ?? 0);
}

/** The peak's place on the axis, or null where there is none. */
export function peakAt(device: DeviceInfo, axis: Axis): number | null {
  if (axis === 'time') return peakTime(device);
  return device.events > 0 ? device.peak_moment : null;
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
    picture: saved && VIEW_COMMANDS.includes(`picture.${saved.picture}`) ? saved.picture : 'stacked',
    pane: saved ? saved.pane : 'liveSet',
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
