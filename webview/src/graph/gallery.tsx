// The images of a heap dump beside each other: equal ones as one, drawn as they come into view. A click shows the object.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { GraphState } from '../../../extension/shared/messages';
import type { GalleryAnswer, GalleryRow } from '../../../extension/shared/protocol.gen';
import { bytes, count } from '../base/format';
import { plural, t } from '../base/l10n';
import { isCancelled } from '../base/latest';
import type { Pending } from '../base/request';
import { visible } from '../base/text';
import { Bar } from '../widgets/bar';
import type { BarRoom, Pane, PaneOf, PaneRoom } from '../shell/pane';
import { Dropdown } from '../widgets/choice';
import { copyItems, copyTable, type CopiedTable } from '../widgets/copy';
import { IconButton } from '../widgets/icon-button';
import type { MenuEntry } from '../widgets/menu';
import { Tiles, type Tile } from '../widgets/tiles';
import { sameSelection } from './selected';
import type { GraphSession } from './session';
import { draw } from './image-file';
import { mayHaveSource, selectionMenu } from './menu';
import { Thumbnails, type Shown } from './thumbnails';
import { GivenUp, Waiting } from './waiting';
import { bytesAndNative, bytesCell, copiedObject, countCell, copiedText, objectText } from './words';

const PAGE = 100;
const TILE = { width: 156, height: 200 };

export const imagesPane = {
  id: 'images',
  of: ['graph'],
  place: 60,
  inMenu: true,
  title: t('Images'),
  palette: 'Show Images of a Heap Dump',
  offered: ({ info }) => info.image_types.length > 0,
  make: makePane,
} satisfies PaneOf<GraphSession>;

function makePane(context: GraphSession): Pane {
  const gallery = new Gallery(context);
  const order = signal(context.state.images);
  return {
    View: (room: PaneRoom) => (
      <section {...room} class="pane heap-images">
        <gallery.View />
      </section>
    ),
    Bar: ({ hidden }: BarRoom) => (
      <Bar class="heap-bar" label={t('Images')} hidden={hidden}>
        <Dropdown<GraphState['images']>
          label={t('Order')}
          value={order.value}
          options={[
            { value: 'bytes', text: t('Largest first') },
            { value: 'freed', text: t('Equal ones first') },
          ]}
          change={(value) => context.keep({ images: value })}
        />
        <IconButton icon="copy" label={t('Copy Table')} press={() => gallery.copy()} />
      </Bar>
    ),
    update: (changes) => {
      order.value = context.state.images;
      if (changes.has('filter') || changes.has('images')) gallery.show();
      else gallery.redraw();
    },
    dispose: () => gallery.dispose(),
  };
}

class Gallery {
  private readonly thumbnails: Thumbnails;
  private readonly tiles: Tiles;
  private readonly first = signal<'asked' | 'here' | 'cancelled'>('asked');
  /** The latest answer, for its sums. */
  private readonly sums = signal<GalleryAnswer | null>(null);
  /** Rows by their place, as far as they are here. */
  private readonly rows = new Map<number, GalleryRow>();
  /** What is asked for, by its first row. */
  private readonly asked = new Map<number, Pending<GalleryAnswer>>();

  constructor(private readonly context: GraphSession) {
    this.thumbnails = new Thumbnails(
      context.api,
      () => this.tiles.update(),
      (error) => context.failed(error),
    );
    this.tiles = new Tiles(t('Images'), TILE, {
      count: () => this.sums.peek()?.total ?? 0,
      tile: (index) => this.tile(index),
      pick: (index, opened) => {
        const row = this.rows.get(index);
        if (!row) return;
        const selection = { is: 'object', object: row.object.object } as const;
        if (opened) context.openSource(selection, false);
        context.select(selection);
      },
      menu: (index) => this.menu(index),
      seen: (begin, end) => this.seen(begin, end),
    });
  }

  readonly View = (): VNode => {
    const sums = this.sums.value;
    const none =
      this.context.filter === '' ? t('The dump has no images.') : t('No image matches the filter.');
    return (
      <>
        <p class="muted heap-note" role="status">
          {sums !== null && (sums.images > 0 ? sumsText(sums) : none)}
        </p>
        {sums !== null && sums.images > 0 && <this.tiles.View />}
        {this.first.value === 'asked' && (
          <Waiting
            text={t('Working…')}
            done={this.asked.get(0)?.done?.value ?? null}
            cancel={() => {
              this.cancel();
              this.first.value = 'cancelled';
            }}
          />
        )}
        {this.first.value === 'cancelled' && <GivenUp again={() => this.show()} />}
      </>
    );
  };

  /** Asks for all again. */
  show(): void {
    this.cancel();
    this.rows.clear();
    this.first.value = 'asked';
    this.ask(0);
  }

  redraw(): void {
    this.tiles.update();
  }

  copy(): void {
    this.context.copy(copyTable(this.table(this.here)));
  }

  dispose(): void {
    this.cancel();
    this.thumbnails.dispose();
  }

  /** The rows that are here, in their order. */
  private get here(): readonly GalleryRow[] {
    return [...this.rows].sort(([a], [b]) => a - b).map(([, row]) => row);
  }

  private cancel(): void {
    for (const pending of this.asked.values()) pending.cancel();
    this.asked.clear();
  }

  private ask(offset: number): void {
    const { api, filter, state } = this.context;
    const asked = api.request('memlens/heapImages', { filter, order: state.images, offset, limit: PAGE });
    this.asked.set(offset, asked);
    const isWanted = (): boolean => {
      if (this.asked.get(offset) !== asked) return false;
      this.asked.delete(offset);
      return true;
    };
    asked.answer.then(
      (answer) => {
        if (!isWanted()) return;
        answer.rows.forEach((row, at) => this.rows.set(offset + at, row));
        this.sums.value = answer;
        if (this.first.value === 'asked') {
          this.first.value = 'here';
          this.tiles.rewind();
        }
        this.tiles.update();
      },
      (error: unknown) => {
        if (!isWanted()) return;
        this.first.value = 'here';
        if (!isCancelled(error)) this.context.failed(error);
      },
    );
  }

  /** Rows that are in view, and aren't here, are asked for; then their pictures. */
  private seen(begin: number, end: number): void {
    if (this.first.peek() !== 'here') return;
    const rows: GalleryRow[] = [];
    for (let at = begin; at < end; at++) {
      const row = this.rows.get(at);
      const page = at - (at % PAGE);
      if (row) rows.push(row);
      else if (!this.asked.has(page)) this.ask(page);
    }
    this.thumbnails.want(rows);
  }

  private tile(index: number): Tile {
    const row = this.rows.get(index);
    if (!row) return { selected: false, content: <span class="tile-line muted">{t('Fetching…')}</span> };
    const { object } = row.object;
    return {
      selected: sameSelection(this.context.state.selection, { is: 'object', object }),
      content: <TileContent row={row} shown={this.thumbnails.of(object)} />,
    };
  }

  private menu(index: number): readonly MenuEntry[] {
    const row = this.rows.get(index);
    if (!row) return [];
    const selection = { is: 'object', object: row.object.object } as const;
    return [
      ...selectionMenu(this.context, selection, '', mayHaveSource(this.context, row.object)),
      ...copyItems(this.context.api, copiedObject(row.object), {
        one: () => this.table([row]),
        all: () => this.table(this.here),
      }),
    ];
  }

  private table(rows: readonly GalleryRow[]): CopiedTable {
    const hasNative = this.context.info.native_bytes > 0;
    return {
      heads: [
        ...[t('Image'), t('Width'), t('Height'), t('Pixels'), t('Images'), t('Heap')],
        ...(hasNative ? [t('Native')] : []),
        t('More than needed'),
      ],
      rows: rows.map(
        ({ object, image, count: images, heap_bytes: heap, native_bytes: native, freed_bytes: freed }) => [
          copiedText(object),
          countCell(image.width).copied,
          countCell(image.height).copied,
          image.layout,
          countCell(images).copied,
          bytesCell(heap).copied,
          ...(hasNative ? [bytesCell(native).copied] : []),
          bytesCell(freed).copied,
        ],
      ),
    };
  }
}

function TileContent({ row, shown }: { readonly row: GalleryRow; readonly shown: Shown | null }): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  const bitmap = shown && 'bitmap' in shown ? shown.bitmap : null;
  useLayoutEffect(() => {
    if (bitmap && canvas.current) draw(canvas.current, bitmap);
  }, [bitmap]);
  const [size, amount, ...more] = wordsOf(row);
  return (
    <>
      <div class="tile-picture">
        {bitmap && <canvas ref={canvas} class="heap-picture" aria-hidden="true" />}
        {shown && 'missing' in shown && <span class="muted">{visible(shown.missing)}</span>}
      </div>
      <span class="tile-line" title={objectText(row.object)}>
        {size}
      </span>
      <span class="tile-line">{amount}</span>
      {more.map((line) => (
        <span key={line} class="tile-equal">
          {line}
        </span>
      ))}
    </>
  );
}

/** What is said of images: their size, their bytes, and of equal ones how many are more than needed. */
function wordsOf({
  image,
  count: images,
  heap_bytes: heap,
  native_bytes: native,
  freed_bytes: freed,
}: GalleryRow): readonly string[] {
  const size = `${count(image.width)} × ${count(image.height)}`;
  const amount = bytesText(heap, native);
  if (images === 1) return [size, amount];
  const equal =
    freed === 0
      ? t('{0} with the same array', count(images))
      : plural(
          images - 1,
          '{2} equal, {0} more than needed: {1}',
          '{2} equal, {0} more than needed: {1}',
          bytes(freed),
          count(images),
        );
  return [size, amount, equal];
}

/** Bytes of the heap and outside of it. */
function bytesText(heap: number, native: number): string {
  return heap === 0 && native > 0 ? t('{0} native', bytes(native)) : bytesAndNative(heap, native);
}

function sumsText({
  images,
  heap_bytes: heap,
  native_bytes: native,
  freed_bytes: freed,
}: GalleryAnswer): string {
  const all = plural(images, '{0} image, {1}', '{0} images, {1}', bytesText(heap, native));
  return freed === 0 ? all : t('{0}. Sharing equal ones would free {1}.', all, bytes(freed));
}
