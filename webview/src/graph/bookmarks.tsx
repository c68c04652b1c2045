// The pane of a heap dump's bookmarks.

import type { VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { HeapBookmark } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { visible } from '../base/text';
import { BOOKMARKS, bookmarksOf } from '../shell/bookmarks-pane';
import type { Pane, PaneOf } from '../shell/pane';
import { IconButton } from '../widgets/icon-button';
import { nameOf } from './heap-bookmarks';
import type { GraphSession } from './session';
import { ObjectButton } from './object-button';

export const bookmarksPane = {
  ...BOOKMARKS,
  of: ['graph'],
  place: 100,
  inMenu: true,
  make: makePane,
} satisfies PaneOf<GraphSession>;

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
