// The snapshot's bookmarks: moments of the run that the user keeps, each with a note.

import { t } from '../base/l10n';
import { signal, type ReadonlySignal } from '@preact/signals';
import type { PlacedBookmark, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { momentName } from './cursors';
import type { Flag } from '../canvas/marks';
import type { Axis } from '../base/devices';

export type { PlacedBookmark };

export interface BookmarkEvents {
  /** There are others. */
  changed(): void;
  failed(error: unknown): void;
}

export class Bookmarks {
  private readonly listSignal = signal<readonly PlacedBookmark[]>([]);

  constructor(
    private readonly api: Pick<Api, 'post' | 'request'>,
    info: TimelineInfo,
    private readonly events: BookmarkEvents,
  ) {
    // one moment of a snapshot without a history can't be lost
    if (!info.devices.some(({ events: count }) => count > 0)) return;
    api.request('memlens/bookmarks', {}).answer.then(
      ({ bookmarks }) => this.receive(bookmarks),
      (error: unknown) => events.failed(error),
    );
  }

  /** All of them, by device and moment. */
  get list(): ReadonlySignal<readonly PlacedBookmark[]> {
    return this.listSignal;
  }

  receive(bookmarks: readonly PlacedBookmark[]): void {
    this.listSignal.value = bookmarks;
    this.events.changed();
  }

  /** Lets the user write a note for a moment; one that has a bookmark keeps that. `at` is the moment in words. */
  add(device: number, moment: number, at: string, allocation: number | null): void {
    const there = this.list.value.find((each) => each.device === device && each.at.moment === moment);
    if (there) this.rename(there, at);
    else
      this.api.post({
        type: 'bookmark',
        change: { is: 'add', title: sentence(at), device, moment, allocation },
      });
  }

  rename({ bookmark, note }: PlacedBookmark, at: string): void {
    this.api.post({ type: 'bookmark', change: { is: 'rename', title: sentence(at), bookmark, note } });
  }

  delete({ bookmark }: PlacedBookmark): void {
    this.api.post({ type: 'bookmark', change: { is: 'delete', bookmark } });
  }

  /** Lets the user save them as JSON. */
  export(): void {
    // as `memlens bookmarks --json` has them: its texts are the English ones
    const bookmarks = this.list.value.map((each) => ({ ...each, device_name: each.device_name.text }));
    const text = `${JSON.stringify({ bookmarks }, null, 2)}\n`;
    this.api.post({ type: 'saveText', form: 'bookmarks', text });
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
        ...{ x: bookmarkX(each, axis), kind: 'bookmark', free: null },
        text: each.note === '' ? t('Bookmark') : each.note,
      }));
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

function sentence(at: string): string {
  return t('A note for {0}', at);
}
