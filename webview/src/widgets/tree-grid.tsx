// A tree of rows in columns, of which only those in view are elements: ARIA's treegrid, walked by keys.

import { signal, type Signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { visible } from '../base/text';
import { Icon } from './icon';
import { openMenu, type MenuEntry } from './menu';
import { useResized } from './resized';

/** The content of a cell: components, and names as they are, whose invisible characters are shown. */
export type GridCell = readonly (VNode | string)[];

export interface GridRow {
  readonly id: string;
  readonly level: number;
  /** Null for a row without children. */
  readonly open: boolean | null;
  /** Its place among its siblings from 1, and how many these are. */
  readonly place: number;
  readonly of: number;
  readonly selected: boolean;
  /** One for each column, the first after the tree's indent. */
  readonly cells: readonly GridCell[];
  readonly class: string;
}

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly number: boolean;
  /** None for a column that can't be sorted by. */
  readonly sort: 'ascending' | 'descending' | 'none' | null;
  /** In what room it is left out; null for one that always stays. */
  readonly spare?: Room | null;
}

/** How little room there is; a narrow window leaves out what a medium one does, and more. */
export type Room = 'medium' | 'narrow';

export interface GridEvents {
  count(): number;
  row(index: number): GridRow;
  sort(column: number): void;
  /** A press or the space bar; `opened` with Enter, on a place or with Ctrl or Cmd. `beside` for Ctrl or Cmd Enter. */
  pick(index: number, opened: boolean, beside: boolean): void;
  /** The keys went to another row. */
  moved?(index: number): void;
  /** The pointer is over another row; null for none. */
  pointed?(index: number | null): void;
  toggle(index: number, open: boolean): void;
  parent(index: number): number;
  /** What the menu of a row offers: with the other button of the mouse, or the keyboard's key for it. */
  menu?(index: number): readonly MenuEntry[];
  /** A key that the grid itself has no use for; true when it was taken. */
  key(event: KeyboardEvent, index: number): boolean;
}

const ROW_PX = 22;
const BEYOND = 8;
const INDENT_PX = 16;
/** Deeper levels stand no further in: calls are hundreds deep. */
const MOST_INDENTS = 40;

let grids = 0;

export class TreeGrid {
  private readonly id = `grid-${++grids}`;
  private readonly root = createRef<HTMLDivElement>();
  private readonly label: Signal<string>;
  private readonly columns = signal<readonly GridColumn[]>([]);
  /** Which row the keys stand on, and which are elements; another object when rows look different. */
  private readonly view = signal({ active: 0, first: 0, last: 0 });
  private pointedAt: number | null = null;

  constructor(
    label: string,
    private readonly events: GridEvents,
  ) {
    this.label = signal(label);
  }

  /** The table on the screen. */
  readonly View = (): VNode => {
    const { id, root, events } = this;
    const columns = this.columns.value;
    const { active, first, last } = this.view.value;
    const count = events.count();
    const measure = (): void => this.measure();
    useResized(root, measure);
    useLayoutEffect(measure);
    return (
      <div
        ref={root}
        class="grid"
        role="treegrid"
        tabIndex={0}
        aria-label={visible(this.label.value)}
        aria-colcount={columns.length}
        aria-rowcount={count + 1}
        {...(count > 0 && { 'aria-activedescendant': `${id}-${active}` })}
        style={{
          '--columns': columns.map(({ width }) => width).join(' '),
          '--medium-columns': columns
            .flatMap(({ width, spare }) => (spare === 'medium' ? [] : [width]))
            .join(' '),
          '--narrow-columns': columns.flatMap(({ width, spare }) => (spare ? [] : [width])).join(' '),
        }}
        onScroll={measure}
        onKeyDown={(event) => this.key(event)}
        onClick={(event) => this.click(event)}
        onContextMenu={(event) => this.openMenu(event)}
      >
        <div role="rowgroup" class="grid-heads">
          <Head columns={columns} sort={(column) => events.sort(column)} />
        </div>
        <div
          class="grid-body"
          role="rowgroup"
          style={{ height: `${count * ROW_PX}px` }}
          onPointerMove={({ target }) => {
            const row = target instanceof Element ? target.closest<HTMLElement>('.grid-row') : null;
            this.point(row ? Number(row.dataset['index']) : null);
          }}
          onPointerLeave={() => this.point(null)}
        >
          {Array.from({ length: Math.max(Math.min(last, count) - first, 0) }, (_, at) => first + at).map(
            (index) => (
              <Row
                key={index}
                id={`${id}-${index}`}
                row={events.row(index)}
                active={index === active}
                {...{ index, columns }}
              />
            ),
          )}
        </div>
      </div>
    );
  };

  setColumns(columns: readonly GridColumn[]): void {
    this.columns.value = columns;
  }

  setLabel(label: string): void {
    this.label.value = label;
  }

  get activeIndex(): number {
    return this.view.peek().active;
  }

  /** Rows came, went or look different. */
  update(active: number = this.activeIndex): void {
    const last = Math.max(this.events.count() - 1, 0);
    this.view.value = { ...this.view.peek(), active: Math.min(Math.max(active, 0), last) };
  }

  setActive(index: number): void {
    this.view.value = { ...this.view.peek(), active: index };
    const root = this.root.current;
    if (!root) return;
    const top = index * ROW_PX;
    const room = root.clientHeight - (root.querySelector('.grid-heads')?.clientHeight ?? 0) - ROW_PX;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top > root.scrollTop + room) root.scrollTop = top - room;
    this.measure();
  }

  /** Which rows are in view. */
  private measure(): void {
    const { scrollTop = 0, clientHeight = 0 } = this.root.current ?? {};
    const first = Math.max(Math.floor(scrollTop / ROW_PX) - BEYOND, 0);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_PX) + BEYOND;
    const { active, ...was } = this.view.peek();
    if (first !== was.first || last !== was.last) this.view.value = { active, first, last };
  }

  private click(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    const row = target?.closest<HTMLElement>('.grid-row');
    if (!target || !row) return;
    const index = Number(row.dataset['index']);
    this.setActive(index);
    const { open } = this.events.row(index);
    if (open !== null && target.closest('.twistie')) this.events.toggle(index, !open);
    else {
      const mod = event.ctrlKey || event.metaKey;
      this.events.pick(index, mod || target.closest('.place-link') !== null, false);
    }
  }

  private point(index: number | null): void {
    if (index === this.pointedAt) return;
    this.pointedAt = index;
    this.events.pointed?.(index);
  }

  private openMenu(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>('.grid-row') : null;
    if (target) this.go(Number(target.dataset['index']));
    else if (event.target !== this.root.current || this.events.count() === 0) return;
    const items = this.events.menu?.(this.activeIndex) ?? [];
    if (items.length === 0) return;
    event.preventDefault();
    // by the keyboard it opens at the row, wherever the browser has the pointer
    const row = this.root.current
      ?.querySelector(`[data-index='${this.activeIndex}']`)
      ?.getBoundingClientRect();
    if (target || !row) openMenu(items, event.clientX, event.clientY);
    else openMenu(items, row.left + 24, row.bottom);
  }

  private key(event: KeyboardEvent): void {
    if (event.target instanceof HTMLButtonElement && (event.key === 'Enter' || event.key === ' ')) {
      event.stopPropagation();
      return;
    }
    const mod = event.ctrlKey || event.metaKey;
    if (event.altKey || (mod && event.key !== 'Enter') || event.shiftKey) return;
    const count = this.events.count();
    if (count === 0) return;
    if (mod) this.events.pick(this.activeIndex, true, true);
    else if (!this.walk(event.key, count) && !this.events.key(event, this.activeIndex)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(index: number): void {
    this.setActive(index);
    this.events.moved?.(index);
  }

  private walk(key: string, count: number): boolean {
    const page = Math.max(Math.floor((this.root.current?.clientHeight ?? 0) / ROW_PX) - 2, 1);
    const active = this.activeIndex;
    const { open } = this.events.row(active);
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    }[key];
    if (to !== undefined) this.go(Math.min(Math.max(to, 0), count - 1));
    else if (key === 'ArrowRight') {
      if (open === false) this.events.toggle(active, true);
      else if (open) this.go(Math.min(active + 1, count - 1));
    } else if (key === 'ArrowLeft') {
      if (open) this.events.toggle(active, false);
      else if (this.events.parent(active) >= 0) this.go(this.events.parent(active));
    } else if (key === 'Enter' || key === ' ') this.events.pick(active, key === 'Enter', false);
    else return false;
    return true;
  }
}

interface HeadProps {
  readonly columns: readonly GridColumn[];
  readonly sort: (column: number) => void;
}

/** The class of a column's cells. */
function columnClass({ number = false, spare = null }: Partial<GridColumn> = {}): string {
  return `${number ? 'number' : ''}${spare ? ` spare-${spare}` : ''}`.trim();
}

function Head({ columns, sort: press }: HeadProps): VNode {
  return (
    <div class="grid-head" role="row">
      {columns.map(({ name, title, sort, ...column }, i) => (
        <div
          key={i}
          role="columnheader"
          aria-colindex={i + 1}
          class={columnClass(column)}
          title={visible(title)}
          {...(sort === null ? {} : { 'aria-sort': sort })}
        >
          {sort === null ? (
            visible(name)
          ) : (
            <button type="button" onClick={() => press(i)}>
              {visible(name)}
              {sort !== 'none' && <Icon name={sort === 'descending' ? 'down' : 'up'} />}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}

interface RowProps {
  readonly id: string;
  readonly index: number;
  readonly row: GridRow;
  readonly columns: readonly GridColumn[];
  readonly active: boolean;
}

function Row({ id, index, row, columns, active }: RowProps): VNode {
  return (
    <div
      class={`grid-row ${row.class}${active ? ' active' : ''}`}
      id={id}
      role="row"
      data-id={row.id}
      data-index={index}
      aria-rowindex={index + 2}
      aria-level={row.level + 1}
      aria-posinset={row.place}
      aria-setsize={row.of}
      aria-selected={row.selected}
      {...(row.open === null ? {} : { 'aria-expanded': row.open })}
      style={{ top: `${index * ROW_PX}px` }}
    >
      {row.cells.map((cell, i) => {
        const common = {
          ...({ role: 'gridcell', class: columnClass(columns[i]), 'aria-colindex': i + 1 } as const),
          // half of a narrow column is the name's
          ...(i === 0 && {
            style: {
              paddingInlineStart: `min(${8 + Math.min(row.level, MOST_INDENTS) * INDENT_PX}px, 50%)`,
            },
          }),
        };
        return (
          <div key={i} {...common}>
            {i === 0 && (
              <span class={`twistie${row.open === null ? ' none' : ''}`}>
                <Icon name="chevron" />
              </span>
            )}
            {cell.map((part) => (typeof part === 'string' ? visible(part) : part))}
          </div>
        );
      })}
    </div>
  );
}
