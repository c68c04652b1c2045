// Whether a device of a trace has a history and times, and when its peak was.

import type { TimelineState } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';

export type Axis = TimelineState['axis'];

export function hasTimes(device: DeviceInfo): boolean {
  return device.time_axis !== null && device.time_axis.x1 > device.time_axis.x0;
}

/** Whether the trace of a device has more than one state; else there is only what a snapshot held when it was taken. */
export function hasHistory(device: DeviceInfo): boolean {
  return device.events > 1;
}

/** The peak's time in microseconds since the first event, or null where the file has no times. */
export function peakTime(device: DeviceInfo): number | null {
  return hasTimes(device) ? device.peak_time_us : null;
}
