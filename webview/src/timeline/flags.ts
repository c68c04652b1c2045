// What is marked on the time axis: out of memory, where snapshots were taken, and the user's bookmarks.

import type { DeviceInfo, Mark, MarksAnswer, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { signal } from '@preact/signals';
import type { Api } from '../api';
import type { Bookmarks } from './bookmarks';
import { devicesOf } from '../shell/model';
import type { Axis } from '../base/devices';
import { bytes, deviceName, time } from '../base/format';
import { count, t } from '../base/l10n';
import type { Flag } from '../canvas/marks';

export class Flags {
  private readonly known = signal<{ readonly marks: readonly Mark[]; readonly untold: number }>({
    marks: [],
    untold: 0,
  });

  constructor(
    api: Api,
    info: SnapshotInfo,
    failed: (error: unknown) => void,
    private readonly bookmarks: Pick<Bookmarks, 'flags'>,
  ) {
    if (!devicesOf(info).some(({ events }) => events > 0)) return;
    api.request('memlens/marks', {}).answer.then((answer: MarksAnswer) => {
      this.known.value = { marks: answer.marks, untold: answer.count - answer.marks.length };
    }, failed);
  }

  get marks(): readonly Mark[] {
    return this.known.value.marks;
  }

  /** Out-of-memory events beyond those that the server listed. */
  get untold(): number {
    return this.known.value.untold;
  }

  get ooms(): readonly Mark[] {
    return this.marks.filter(({ kind }) => kind === 'oom');
  }

  /** Those of a device; where two stand at one place the first one's text is shown. */
  of(device: number, axis: Axis): readonly Flag[] {
    const marks = this.marks
      .filter((mark) => mark.device === device)
      .map((mark) => ({
        x: markX(mark, axis),
        kind: mark.kind,
        text: flagText(mark),
        free: mark.device_free_bytes,
      }));
    return [...marks, ...this.bookmarks.flags(device, axis)];
  }
}

/** Where an event's mark stands. */
export function markX(mark: Mark, axis: Axis): number {
  return axis === 'time' && mark.x_time_us !== null ? mark.x_time_us : mark.moment;
}

export function flagText(mark: Mark): string {
  return mark.kind === 'oom' ? t('Out of memory: {0}', bytes(mark.size_bytes)) : t('Snapshot taken');
}

/** "Device 1, 1.204 s: 512 MiB" */
export function markName(mark: Mark, devices: readonly Pick<DeviceInfo, 'device' | 'name'>[]): string {
  const when = mark.x_time_us === null ? t('event {0}', count(mark.moment)) : time(mark.x_time_us);
  const where = devices.length > 1 ? `${deviceName(devices, mark.device)}, ${when}` : when;
  return `${where}: ${bytes(mark.size_bytes)}`;
}
