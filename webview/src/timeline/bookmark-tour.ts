// Bookmarks in use: where one is added, and how one is gone to.

import { t } from '../base/l10n';
import { bookmarkAt, bookmarkX, type Bookmarks, type PlacedBookmark } from './bookmarks';
import { momentName } from './cursors';
import type { TimelineSession } from './session';

export class BookmarkTour {
  readonly bookmarks: Bookmarks;

  constructor(private readonly view: TimelineSession) {
    this.bookmarks = view.bookmarks;
  }

  /** At a moment, else the cursor's, else the peak; with what is selected. */
  add(moment?: number): void {
    const { view } = this;
    const { api, cursors, selection } = view;
    const { device, events } = view.device;
    if (events === 0) return;
    const at = moment ?? cursors.moment;
    const pending = api.request('memlens/moment', { device, moment: at, filter: '' });
    pending.answer.then(
      (answer) => this.bookmarks.add(device, answer.moment, momentName(answer, view.axis), selection.current),
      (error: unknown) => view.failed(error),
    );
  }

  /** To the next (1) or the previous (-1) of the device. */
  step(by: 1 | -1): void {
    const { cursors } = this.view;
    const from = cursors.first?.moment ?? (by > 0 ? -1 : Infinity);
    const found = this.bookmarks.next(this.view.device.device, from, by);
    if (found) this.goTo(found);
    else this.view.say(t('No bookmarks'));
  }

  goTo(bookmark: PlacedBookmark): void {
    const { view } = this;
    const { cursors, plot, selection } = view;
    const { at, device, allocation, note } = bookmark;
    if (device !== view.device.device) {
      // the filter would have to be asked about first, and may leave the moment without anything
      view.setFilter('');
      view.switchDevice(device);
    }
    cursors.place(at.moment);
    if (allocation) selection.select(allocation.allocation, at.moment, false);
    else selection.clear();
    const x = bookmarkX(bookmark, view.axis);
    const { x0, x1, y0, y1 } = plot.target;
    if (x < x0 || x > x1) {
      const half = (x1 - x0) / 2;
      plot.moveTo({ x0: x - half, x1: x + half, y0, y1 }, true);
    }
    const when = bookmarkAt(bookmark, view.axis);
    view.say(note === '' ? t('Bookmark at {0}', when) : t('Bookmark at {0}: {1}', when, note));
  }
}
