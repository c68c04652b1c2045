// The bookmarks of a trace: moments of the run that the user keeps.

import { t } from '../base/l10n';
import type { PlacedBookmark, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { momentName } from './cursors';
import type { Flag } from '../canvas/marks';
import type { Axis } from '../base/devices';
import { BookmarkList } from '../shell/bookmark-list';

export type { PlacedBookmark };

export class Bookmarks extends BookmarkList<PlacedBookmark> {
  constructor(api: Pick<Api, 'post' | 'request'>, info: TimelineInfo, failed: (error: unknown) => void) {
    super(api, () => api.request('memlens/bookmarks', {}), failed);
    // one moment of a snapshot without a history can't be lost
    if (info.devices.some(({ events }) => events > 0)) this.renew();
  }

  /** Lets the user write a note for a moment, which is `at` in words. */
  add(device: number, moment: number, at: string, allocation: number | null): void {
    const there = this.list.value.find((each) => each.device === device && each.at.moment === moment);
    this.keep({ is: 'moment', device, moment, allocation }, there, at);
  }

  /** The first of a device after a moment, or the last before it; beyond the ends it begins again. */
  next(device: number, moment: number, by: 1 | -1): PlacedBookmark | null {
    const own = this.list.value.filter((each) => each.device === device);
    const onwards = by > 0 ? own : own.toReversed();
    return onwards.find(({ at }) => (at.moment - moment) * by > 0) ?? onwards[0] ?? null;
  }

  /** As flags over a device's pictures. */
  flags(device: number, axis: Axis): readonly Flag[] {
    return this.list.value
      .filter((each) => each.device === device)
      .map((each) => ({
        x: bookmarkX(each, axis),
        kind: 'bookmark',
        free: null,
        text: each.note === '' ? t('Bookmark') : each.note,
      }));
  }

  protected override inJson(one: PlacedBookmark): unknown {
    return { ...one, device_name: one.device_name.text };
  }
}

/** Where a bookmark stands on an axis. */
export function bookmarkX(one: PlacedBookmark, axis: Axis): number {
  return axis === 'time' && one.x_time_us !== null ? one.x_time_us : one.at.moment;
}

/** "1.204 s", "event 1,204" */
export function bookmarkAt(one: PlacedBookmark, axis: Axis): string {
  return momentName(one.at, axis);
}
