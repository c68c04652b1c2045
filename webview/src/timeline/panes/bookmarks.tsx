// The bookmarks of a trace: the moment of each, what was live then, and the allocation that was selected.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { TimelineSession } from '../session';
import { bytes, hasSource, nameOf } from '../../base/format';
import { said, t } from '../../base/l10n';
import { visible } from '../../base/text';
import type { Axis } from '../../base/devices';
import { bookmarksOf, BOOKMARKS, type BookmarkColumn } from '../../shell/bookmarks-pane';
import { devicesOf } from '../../shell/model';
import type { PaneOf } from '../../shell/pane';
import { BookmarkTour } from '../bookmark-tour';
import { bookmarkAt, type PlacedBookmark } from '../bookmarks';

export const bookmarksPane = {
  ...BOOKMARKS,
  of: ['timeline'],
  place: 100,
  inMenu: true,
  offered: ({ device }) => device.events > 0,
  make: (context) => {
    const tour = new BookmarkTour(context);
    const axis = signal<Axis>(context.axis);
    const at = (one: PlacedBookmark): string => bookmarkAt(one, axis.value);
    const device: BookmarkColumn<PlacedBookmark> = {
      title: t('Device'),
      cell: ({ device_name: name }) => said(name),
    };
    return bookmarksOf<PlacedBookmark>(
      {
        bookmarks: tour.bookmarks,
        columns: [
          ...(devicesOf(context.info).length > 1 ? [device] : []),
          { title: t('At'), cell: (one) => (one.at.is_peak ? t('{0} (peak)', at(one)) : at(one)) },
          { title: t('Live then'), holds: 'number', cell: ({ at: { live_bytes: live } }) => bytes(live) },
          { title: t('Allocation'), cell: (one) => <Allocation one={one} context={context} /> },
        ],
        none: t('No bookmarks. Press K to keep the moment at the cursor, with a note.'),
        addTitle: t('Add a bookmark at the cursor, else at the peak (K)'),
        add: () => tour.add(),
        goTo: (one) => tour.goTo(one),
        at,
        unnamed: (one) => t('Bookmark at {0}', at(one)),
        copy: (text) => context.api.post({ type: 'copy', text }),
      },
      (changes) => {
        if (changes.has('axis') || changes.has('device')) axis.value = context.axis;
      },
    );
  },
} satisfies PaneOf<TimelineSession>;

function Allocation({
  one: { allocation },
  context,
}: {
  readonly one: PlacedBookmark;
  readonly context: Pick<TimelineSession, 'openFrame'>;
}): VNode | null {
  if (!allocation) return null;
  const { label } = allocation;
  const text = <bdi>{visible(`${bytes(allocation.size_bytes)} · ${nameOf(allocation).title}`)}</bdi>;
  if (!label || !hasSource(label)) return text;
  return (
    <button
      type="button"
      class="link"
      title={visible(t('Open {0}', `${label.file}:${label.line}`))}
      onClick={(event) => context.openFrame(label, event.ctrlKey || event.metaKey)}
    >
      {text}
    </button>
  );
}
