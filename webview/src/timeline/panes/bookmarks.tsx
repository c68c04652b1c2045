// The bookmarks of a trace: a row for each, by which one goes there, writes another note, or deletes it.

import type { VNode } from 'preact';
import type { BookmarkTour } from '../bookmark-tour';
import { bookmarkAt, type PlacedBookmark } from '../bookmarks';
import type { ViewContext } from '../../shell/context';
import { IconButton } from '../../widgets/icon-button';
import { openMenu, type MenuEntry } from '../../widgets/menu';
import { bytes, hasSource, nameOf } from '../../base/format';
import { plural, said, t } from '../../base/l10n';
import { visible } from '../../base/text';
import { signal, type ReadonlySignal } from '@preact/signals';
import type { Axis } from '../../base/devices';
import { devicesOf } from '../../shell/model';
import { Bar } from '../../shell/bar';
import { made, type BarRoom, type MakePane, type PaneRoom } from '../../shell/pane';

type BookmarksOwner = Pick<BookmarkTour, 'bookmarks' | 'goTo' | 'add'>;

interface ListProps {
  readonly owner: BookmarksOwner;
  readonly context: Pick<ViewContext, 'openFrame' | 'api'>;
  readonly axis: ReadonlySignal<Axis>;
  /** Whether there is more than one device to tell apart. */
  readonly devices: boolean;
}

export function bookmarksPane(owner: BookmarksOwner): MakePane {
  return (context) => {
    if (context.device.events === 0) return null;
    const axis = signal<Axis>(context.axis);
    const devices = devicesOf(context.info).length > 1;
    return made({
      ...{ id: 'bookmarks', title: t('Bookmarks'), usesSet: false },
      View: (room: PaneRoom) => (
        <section {...room} class="bookmarks pane">
          <List {...{ owner, context, axis, devices }} />
        </section>
      ),
      Bar: ({ hidden }: BarRoom) => (
        <Bar class="bookmarks-bar" label={t('Bookmarks')} hidden={hidden}>
          <Controls owner={owner} />
        </Bar>
      ),
      update: (changes) => {
        if (changes.has('axis') || changes.has('device')) axis.value = context.axis;
      },
    });
  };
}

function Controls({ owner }: { readonly owner: BookmarksOwner }): VNode {
  return (
    <>
      <button
        type="button"
        class="text-button"
        title={t('Add a bookmark at the cursor, else at the peak (K)')}
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

function List({ owner, context, axis, devices }: ListProps): VNode {
  const all = owner.bookmarks.list.value;
  if (all.length === 0)
    return (
      <p class="muted bookmarks-none">
        {t('No bookmarks. Press K to keep the moment at the cursor, with a note.')}
      </p>
    );
  return (
    <div class="bookmarks-body">
      <table aria-label={plural(all.length, '{0} bookmark', '{0} bookmarks')}>
        <thead>
          <tr>
            <th scope="col">{t('Note')}</th>
            {devices && <th scope="col">{t('Device')}</th>}
            <th scope="col">{t('At')}</th>
            <th scope="col" class="number">
              {t('Live then')}
            </th>
            <th scope="col">{t('Allocation')}</th>
            <th scope="col">
              <span class="sr-only">{t('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {all.map((each) => (
            <Row
              key={each.bookmark}
              one={each}
              owner={owner}
              context={context}
              axis={axis}
              devices={devices}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ one, owner, context, axis, devices }: ListProps & { readonly one: PlacedBookmark }): VNode {
  const { allocation, at, note } = one;
  const when = bookmarkAt(one, axis.value);
  const rename = (): void => owner.bookmarks.rename(one, when);
  const remove = (): void => owner.bookmarks.delete(one);
  const go = (): void => owner.goTo(one);
  const label = allocation?.label ?? null;
  const menu: readonly MenuEntry[] = [
    { text: t('Go to Bookmark'), key: 'Enter', run: go },
    { text: t('Rename…'), key: 'F2', run: rename },
    { text: t('Delete'), key: 'Delete', run: remove },
    null,
    {
      ...{ text: t('Copy Note'), key: '' },
      run: () => context.api.post({ type: 'copy', text: note }),
    },
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
        <button type="button" class="link bookmark-note" title={t('Go to {0}', when)} onClick={go}>
          <bdi>{note === '' ? t('Bookmark at {0}', when) : visible(note)}</bdi>
        </button>
      </th>
      {devices && <td>{said(one.device_name)}</td>}
      <td>{at.is_peak ? t('{0} (peak)', when) : when}</td>
      <td class="number">{bytes(at.live_bytes)}</td>
      <td>
        {allocation && label && hasSource(label) ? (
          <button
            type="button"
            class="link"
            title={visible(t('Open {0}', `${label.file}:${label.line}`))}
            onClick={(event) => context.openFrame(label, event.ctrlKey || event.metaKey)}
          >
            <bdi>{visible(`${bytes(allocation.size_bytes)} · ${nameOf(allocation).title}`)}</bdi>
          </button>
        ) : (
          allocation && <bdi>{visible(`${bytes(allocation.size_bytes)} · ${nameOf(allocation).title}`)}</bdi>
        )}
      </td>
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
