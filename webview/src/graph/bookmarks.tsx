// The bookmarks of a heap dump: objects, types and groups that the user keeps, each with a note.

import type { VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { HeapBookmark } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { bytes } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { visible } from '../base/text';
import { BookmarkList } from '../shell/bookmark-list';
import { BOOKMARKS, bookmarksOf } from '../shell/bookmarks-pane';
import type { Pane, PaneOf } from '../shell/pane';
import { IconButton } from '../widgets/icon-button';
import { sameSelection } from './selected';
import type { GraphSession } from './session';
import { ObjectButton } from './object-button';
import { objectText, shortType } from './words';

export class HeapBookmarks extends BookmarkList<HeapBookmark> {
  constructor(api: Pick<Api, 'post' | 'request'>, failed: (error: unknown) => void) {
    super(api, () => api.request('memlens/heapBookmarks', {}), failed);
    this.renew();
  }

  /** That of what is selected. */
  of(selection: HeapSelection): HeapBookmark | undefined {
    return this.list.value.find(({ place }) => sameSelection(place, selection));
  }

  /** Lets the user write a note for an object, a type or a group. */
  add(selection: HeapSelection): void {
    const there = this.of(selection);
    this.keep(selection, there, there ? nameOf(there) : KINDS[selection.is]);
  }

  /** The one after that of what is selected, or before it; beyond the ends it begins again. */
  next(selection: HeapSelection | null, by: 1 | -1): HeapBookmark | null {
    const all = this.list.value;
    const at = all.findIndex(({ place }) => sameSelection(place, selection));
    const from = at < 0 && by < 0 ? 0 : at;
    return all.at((from + by) % all.length) ?? null;
  }

  protected override inJson(one: HeapBookmark): unknown {
    return { ...one, name: one.name.text };
  }
}

const KINDS: Readonly<Record<HeapSelection['is'], string>> = {
  object: t('this object'),
  type: t('this type'),
  group: t('this group'),
};

/** "Session @5143", "Session", "12 objects: Session" */
function nameOf({ object, place, name, objects }: HeapBookmark): string {
  if (object) return objectText(object);
  const type = shortType(said(name));
  if (place.is !== 'group' || objects === 0) return type;
  return plural(objects, '{0} object: {1}', '{0} objects: {1}', type);
}

export const bookmarksPane = { ...BOOKMARKS, make: makePane } satisfies PaneOf<GraphSession>;

function makePane(context: GraphSession): Pane {
  return bookmarksOf<HeapBookmark>({
    bookmarks: context.bookmarks,
    columns: [
      { title: t('Kind'), cell: ({ place }) => KIND_NAMES[place.is] },
      { title: t('Name'), holds: 'name', cell: (one) => <Name one={one} context={context} /> },
      { title: t('Shallow'), holds: 'number', cell: ({ shallow_bytes: own }) => bytes(own) },
      {
        title: t('Retained'),
        holds: 'number',
        cell: ({ retained_bytes: retained }) => (retained === null ? '–' : bytes(retained)),
      },
    ],
    none: t('No bookmarks. Press K to keep what is selected, with a note.'),
    addTitle: t('Add a bookmark for what is selected (K)'),
    add: () => context.bookmark(context.state.selection),
    goTo: ({ place }) => context.select(place),
    at: nameOf,
    unnamed: nameOf,
    copy: (text) => context.copy(text),
  });
}

const KIND_NAMES: Readonly<Record<HeapSelection['is'], string>> = {
  object: t('Object'),
  type: t('Type'),
  group: t('Group'),
};

function Name({ one, context }: { readonly one: HeapBookmark; readonly context: GraphSession }): VNode {
  if (one.object) return <ObjectButton row={one.object} context={context} />;
  return <bdi title={visible(said(one.name))}>{visible(nameOf(one))}</bdi>;
}

/** The note of what is selected. */
export function Note({
  selection,
  context: { bookmarks },
}: {
  readonly selection: HeapSelection;
  readonly context: Pick<GraphSession, 'bookmarks'>;
}): VNode | null {
  const one = bookmarks.of(selection);
  if (!one) return null;
  return (
    <p class="heap-bookmark">
      <bdi>{one.note === '' ? t('Bookmark') : visible(one.note)}</bdi>
      <IconButton icon="edit" label={t('Rename')} press={() => bookmarks.add(selection)} />
    </p>
  );
}
