// The pane of a snapshot's bookmarks: a row for each, by which one goes there, writes another note, or deletes it.

import type { ComponentChild, VNode } from 'preact';
import { plural, t } from '../base/l10n';
import { visible } from '../base/text';
import { IconButton } from '../widgets/icon-button';
import { openMenu, type MenuEntry } from '../widgets/menu';
import { Bar } from '../widgets/bar';
import type { BookmarkList, Noted } from './bookmark-list';
import type { BarRoom, Pane, PaneRoom } from './pane';

export interface BookmarkColumn<T> {
  readonly title: string;
  /** A name of any length is cut where it has no room. */
  readonly holds?: 'name' | 'number';
  readonly cell: (one: T) => ComponentChild;
}

export interface BookmarksOwner<T extends Noted> {
  readonly bookmarks: Pick<BookmarkList<T>, 'list' | 'rename' | 'delete' | 'export'>;
  readonly columns: readonly BookmarkColumn<T>[];
  /** What the pane says where there are none. */
  readonly none: string;
  /** What is kept by the button that adds one. */
  readonly addTitle: string;
  add(): void;
  goTo(one: T): void;
  /** Where it is, in words. */
  at(one: T): string;
  /** What one without a note is called. */
  unnamed(one: T): string;
  copy(text: string): void;
}

interface RowProps<T extends Noted> {
  readonly owner: BookmarksOwner<T>;
  readonly one: T;
}

/** What panes of bookmarks are called. */
export const BOOKMARKS = { id: 'bookmarks', title: t('Bookmarks'), palette: 'Show Bookmarks' } as const;

export function bookmarksOf<T extends Noted>(
  owner: BookmarksOwner<T>,
  update: Pane['update'] = () => undefined,
): Pane {
  return {
    update,
    View: (room: PaneRoom) => (
      <section {...room} class="bookmarks pane">
        <List owner={owner} />
      </section>
    ),
    Bar: ({ hidden }: BarRoom) => (
      <Bar class="bookmarks-bar" label={t('Bookmarks')} hidden={hidden}>
        <Controls owner={owner} />
      </Bar>
    ),
  };
}

function Controls<T extends Noted>({ owner }: Pick<RowProps<T>, 'owner'>): VNode {
  return (
    <>
      <button
        type="button"
        class="text-button"
        title={owner.addTitle}
        aria-keyshortcuts="k"
        onClick={() => owner.add()}
      >
        {t('Add Bookmark…')}
      </button>
      {owner.bookmarks.list.value.length > 0 && (
        <button
          type="button"
          class="text-button"
          title={t('Export the bookmarks as JSON')}
          onClick={() => owner.bookmarks.export()}
        >
          {t('Export…')}
        </button>
      )}
    </>
  );
}

function List<T extends Noted>({ owner }: Pick<RowProps<T>, 'owner'>): VNode {
  const all = owner.bookmarks.list.value;
  if (all.length === 0) return <p class="muted bookmarks-none">{owner.none}</p>;
  return (
    <div class="bookmarks-body">
      <table aria-label={plural(all.length, '{0} bookmark', '{0} bookmarks')}>
        <thead>
          <tr>
            <th scope="col">{t('Note')}</th>
            {owner.columns.map(({ title, holds = '' }) => (
              <th key={title} scope="col" class={holds}>
                {title}
              </th>
            ))}
            <th scope="col">
              <span class="sr-only">{t('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map((each) => (
            <Row key={each.bookmark} one={each} owner={owner} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row<T extends Noted>({ one, owner }: RowProps<T>): VNode {
  const { note } = one;
  const at = owner.at(one);
  const rename = (): void => owner.bookmarks.rename(one, at);
  const remove = (): void => owner.bookmarks.delete(one);
  const go = (): void => owner.goTo(one);
  const menu: readonly MenuEntry[] = [
    { text: t('Go to Bookmark'), key: 'Enter', run: go },
    { text: t('Rename…'), key: 'F2', run: rename },
    { text: t('Delete'), key: 'Delete', run: remove },
    null,
    { text: t('Copy Note'), run: () => owner.copy(note) },
  ];
  return (
    <tr
      onKeyDown={(event) => {
        if (event.key === 'F2') rename();
        else if (event.key === 'Delete') remove();
        else if (event.key === 'ArrowDown' || event.key === 'ArrowUp')
          walk(event.currentTarget, event.key === 'ArrowDown');
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        openMenu(menu, event.clientX, event.clientY, t('Bookmark'));
      }}
    >
      <th scope="row">
        <button type="button" class="link bookmark-note" title={visible(t('Go to {0}', at))} onClick={go}>
          <bdi>{visible(note === '' ? owner.unnamed(one) : note)}</bdi>
        </button>
      </th>
      {owner.columns.map(({ title, holds = '', cell }) => (
        <td key={title} class={holds}>
          {cell(one)}
        </td>
      ))}
      <td class="bookmark-actions">
        <IconButton icon="edit" label={t('Rename')} keys="F2" press={rename} />
        <IconButton icon="close" label={t('Delete')} keys="Delete" press={remove} />
      </td>
    </tr>
  );
}

/** To the note of the row below or above. */
function walk(row: Element, down: boolean): void {
  const to = down ? row.nextElementSibling : row.previousElementSibling;
  to?.querySelector<HTMLElement>('.bookmark-note')?.focus();
}
