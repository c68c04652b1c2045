// A tree of rows in columns, of which only those in view are elements: ARIA's treegrid, walked by keys.

import { render, type VNode } from 'preact';
import { visible } from '../base/text';
import { element } from './dom';
import { Icon } from './icon';
import { openMenu, type MenuEntry } from './menu';

/** What stands in a cell: names as they are, which are shown with what can't be seen in them; components. */
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
}

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
  readonly root: HTMLElement;
  private readonly id = `grid-${++grids}`;
  private active = 0;
  private pointedAt: number | null = null;
  private shown: { first: number; last: number } = { first: 0, last: 0 };
  private columns: readonly GridColumn[] = [];
  private rows: readonly VNode[] = [];
  private heightPx = 0;

  constructor(
    label: string,
    private readonly events: GridEvents,
  ) {
    this.root = element('div', {
      ...{ class: 'grid', role: 'treegrid', tabIndex: 0, attributes: { 'aria-label': label } },
    });
    this.root.addEventListener('scroll', () => {
      this.draw(false);
    });
    this.root.addEventListener('keydown', (event) => {
      this.key(event);
    });
    this.root.addEventListener('click', (event) => {
      this.click(event);
    });
    this.root.addEventListener('contextmenu', (event) => {
      this.openMenu(event);
    });
    this.render();
    new ResizeObserver(() => {
      this.draw(false);
    }).observe(this.root);
  }

  setColumns(columns: readonly GridColumn[]): void {
    this.columns = columns;
    this.root.style.setProperty('--columns', columns.map(({ width }) => width).join(' '));
    this.root.setAttribute('aria-colcount', String(columns.length));
    this.render();
  }

  get activeIndex(): number {
    return this.active;
  }

  /** Rows came, went or look different. */
  update(active: number = this.active): void {
    const count = this.events.count();
    this.active = Math.min(Math.max(active, 0), Math.max(count - 1, 0));
    this.root.setAttribute('aria-rowcount', String(count + 1));
    this.draw(true);
  }

  setActive(index: number): void {
    this.active = index;
    const top = index * ROW_PX;
    const room =
      this.root.clientHeight - (this.root.querySelector('.grid-heads')?.clientHeight ?? 0) - ROW_PX;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top > this.root.scrollTop + room) this.root.scrollTop = top - room;
    this.draw(true);
  }

  private draw(anew: boolean): void {
    const count = this.events.count();
    const first = Math.max(Math.floor(this.root.scrollTop / ROW_PX) - BEYOND, 0);
    const last = Math.min(Math.ceil((this.root.scrollTop + this.root.clientHeight) / ROW_PX) + BEYOND, count);
    if (!anew && first === this.shown.first && last === this.shown.last) return;
    this.shown = { first, last };
    this.heightPx = count * ROW_PX;
    this.rows = Array.from({ length: Math.max(last - first, 0) }, (_, i) => (
      <Row
        key={first + i}
        id={`${this.id}-${first + i}`}
        index={first + i}
        row={this.events.row(first + i)}
        columns={this.columns}
        active={first + i === this.active}
      />
    ));
    this.render();
    if (count > 0) this.root.setAttribute('aria-activedescendant', `${this.id}-${this.active}`);
    else this.root.removeAttribute('aria-activedescendant');
  }

  private render(): void {
    render(
      <>
        <div role="rowgroup" class="grid-heads">
          <Head
            columns={this.columns}
            sort={(column) => {
              this.events.sort(column);
            }}
          />
        </div>
        <div
          class="grid-body"
          role="rowgroup"
          style={{ height: `${this.heightPx}px` }}
          onPointerMove={({ target }) => {
            const row = target instanceof Element ? target.closest<HTMLElement>('.grid-row') : null;
            this.point(row ? Number(row.dataset['index']) : null);
          }}
          onPointerLeave={() => {
            this.point(null);
          }}
        >
          {this.rows}
        </div>
      </>,
      this.root,
    );
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
    else if (event.target !== this.root || this.events.count() === 0) return;
    const items = this.events.menu?.(this.active) ?? [];
    if (items.length === 0) return;
    event.preventDefault();
    // by the keyboard it opens at the row, wherever the browser has the pointer
    const row = this.root.querySelector(`[data-index='${this.active}']`)?.getBoundingClientRect();
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
    if (mod) this.events.pick(this.active, true, true);
    else if (!this.walk(event.key, count) && !this.events.key(event, this.active)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(index: number): void {
    this.setActive(index);
    this.events.moved?.(index);
  }

  private walk(key: string, count: number): boolean {
    const page = Math.max(Math.floor(this.root.clientHeight / ROW_PX) - 2, 1);
    const { active } = this;
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

function Head({ columns, sort: press }: HeadProps): VNode {
  return (
    <div class="grid-head" role="row">
      {columns.map(({ name, title, number, sort }, i) => (
        <div
          key={i}
          role="columnheader"
          class={number ? 'number' : ''}
          title={visible(title)}
          {...(sort === null ? {} : { 'aria-sort': sort })}
        >
          {sort === null ? (
            visible(name)
          ) : (
            <button
              type="button"
              onClick={() => {
                press(i);
              }}
            >
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
          ...({ role: 'gridcell', class: columns[i]?.number ? 'number' : '' } as const),
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
