// Tiles of one size in as many columns as there is room for, of which only those in view are elements: ARIA's listbox. It is
// no grid: tiles have no cells, heads, order by column or levels, and how many stand in a row is another with the room.

import { signal, type Signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { visible } from '../base/text';
import { openMenu, type MenuEntry } from './menu';
import { useResized } from './resized';

export interface Tile {
  readonly selected: boolean;
  /** Its texts are what a screen reader says. */
  readonly content: VNode;
}

export interface TileContent {
  count(): number;
  tile(index: number): Tile;
  /** A press, Enter or the space bar; `opened` with Ctrl or Cmd. */
  pick(index: number, opened: boolean): void;
  menu(index: number): readonly MenuEntry[];
  /** These tiles are in view: `first` up to `end`. */
  seen(first: number, end: number): void;
}

export interface TileSize {
  /** The least width: what is left of a row's is shared out. */
  readonly width: number;
  readonly height: number;
}

let grids = 0;

export class Tiles {
  private readonly id = `tiles-${++grids}`;
  private readonly root = createRef<HTMLDivElement>();
  private readonly label: Signal<string>;
  /** Which tile the keys stand on, how many stand in a row, and which rows are elements. */
  private readonly view = signal({ active: 0, columns: 1, first: 0, last: 0 });

  constructor(
    label: string,
    private readonly size: TileSize,
    private readonly content: TileContent,
  ) {
    this.label = signal(label);
  }

  readonly View = (): VNode => {
    const { id, root, size } = this;
    const { active, columns, first, last } = this.view.value;
    const count = this.content.count();
    const measure = (): void => this.measure();
    useResized(root, measure);
    useLayoutEffect(measure);
    const begin = Math.min(first * columns, count);
    const end = Math.min(last * columns, count);
    return (
      <div
        ref={root}
        class="tiles"
        role="listbox"
        tabIndex={0}
        aria-label={visible(this.label.value)}
        {...(count > 0 && { 'aria-activedescendant': `${id}-${active}` })}
        onScroll={measure}
        onKeyDown={(event) => this.key(event)}
        onClick={(event) => this.click(event)}
        onContextMenu={(event) => this.openMenu(event)}
      >
        <div
          class="tiles-body"
          role="presentation"
          style={{ height: `${Math.ceil(count / columns) * size.height}px` }}
        >
          {Array.from({ length: end - begin }, (_, at) => begin + at).map((index) => {
            const { selected, content } = this.content.tile(index);
            return (
              <div
                key={index}
                id={`${id}-${index}`}
                class={index === active ? 'tile active' : 'tile'}
                role="option"
                data-index={index}
                aria-selected={selected}
                aria-posinset={index + 1}
                aria-setsize={count}
                style={{
                  top: `${Math.floor(index / columns) * size.height}px`,
                  left: `${((index % columns) / columns) * 100}%`,
                  width: `${100 / columns}%`,
                  height: `${size.height}px`,
                }}
              >
                {content}
              </div>
            );
          })}
        </div>
      </div>
    );
  };

  /** Tiles came, went or look different. */
  update(): void {
    const { active, ...rest } = this.view.peek();
    this.view.value = { ...rest, active: Math.min(active, Math.max(this.content.count() - 1, 0)) };
  }

  /** To the first one. */
  rewind(): void {
    if (this.root.current) this.root.current.scrollTop = 0;
    this.view.value = { ...this.view.peek(), active: 0 };
  }

  /** Which tiles are in view, and how many columns there is room for. */
  private measure(): void {
    const { clientWidth = 0, clientHeight = 0 } = this.root.current ?? {};
    const { active, ...was } = this.view.peek();
    const columns = Math.max(Math.floor(clientWidth / this.size.width), 1);
    // with other columns the tile that stood at the top stays in view
    if (columns !== was.columns && this.root.current && was.first > 0)
      this.root.current.scrollTop = Math.floor((was.first * was.columns) / columns) * this.size.height;
    const scrolled = this.root.current?.scrollTop ?? 0;
    const first = Math.max(Math.floor(scrolled / this.size.height), 0);
    const last = Math.ceil((scrolled + clientHeight) / this.size.height);
    if (columns !== was.columns || first !== was.first || last !== was.last)
      this.view.value = { active, columns, first, last };
    const count = this.content.count();
    this.content.seen(Math.min(first * columns, count), Math.min(last * columns, count));
  }

  private click(event: MouseEvent): void {
    const index = indexOf(event.target);
    if (index === null) return;
    this.go(index);
    this.content.pick(index, event.ctrlKey || event.metaKey);
  }

  private openMenu(event: MouseEvent): void {
    const pointed = indexOf(event.target);
    if (pointed !== null) this.go(pointed);
    else if (event.target !== this.root.current || this.content.count() === 0) return;
    const { active } = this.view.peek();
    const items = this.content.menu(active);
    if (items.length === 0) return;
    event.preventDefault();
    // by the keyboard it opens at the tile, wherever the browser has the pointer
    const tile = this.root.current?.querySelector(`[data-index='${active}']`)?.getBoundingClientRect();
    if (pointed !== null || !tile) openMenu(items, event.clientX, event.clientY);
    else openMenu(items, tile.left + 24, tile.top + 24);
  }

  private key(event: KeyboardEvent): void {
    const mod = event.ctrlKey || event.metaKey;
    const count = this.content.count();
    if (event.altKey || event.shiftKey || (mod && event.key !== 'Enter') || count === 0) return;
    const { active, columns } = this.view.peek();
    const rows = Math.max(Math.floor((this.root.current?.clientHeight ?? 0) / this.size.height), 1);
    const to = {
      ArrowRight: active + 1,
      ArrowLeft: active - 1,
      ArrowDown: active + columns,
      ArrowUp: active - columns,
      PageDown: active + rows * columns,
      PageUp: active - rows * columns,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (event.key === 'Enter' || event.key === ' ') this.content.pick(active, mod);
    // from the last whole row down to the last tile, and up or down beyond the first and the last row nowhere
    else if (to === undefined) return;
    else if (to >= 0) this.go(Math.min(to, count - 1));
    else if (event.key === 'PageUp') this.go(active % columns);
    event.preventDefault();
    event.stopPropagation();
  }

  private go(index: number): void {
    this.view.value = { ...this.view.peek(), active: index };
    const root = this.root.current;
    if (!root) return;
    const top = Math.floor(index / this.view.peek().columns) * this.size.height;
    const most = top + this.size.height - root.clientHeight;
    if (root.scrollTop > top) root.scrollTop = top;
    else if (root.scrollTop < most) root.scrollTop = most;
    this.measure();
  }
}

function indexOf(target: EventTarget | null): number | null {
  const tile = target instanceof Element ? target.closest<HTMLElement>('.tile') : null;
  return tile ? Number(tile.dataset['index']) : null;
}
