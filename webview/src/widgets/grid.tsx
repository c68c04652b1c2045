// The one grid of the page: rows in columns, of which only those in view are elements. Rows that open are ARIA's treegrid,
// gone through row by row; a table is ARIA's grid, gone through cell by cell.

import { signal, type Signal } from '@preact/signals';
import { createRef, type ComponentChildren, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { t } from '../base/l10n';
import { visible } from '../base/text';
import { Icon } from './icon';
import { openMenu, type MenuEntry } from './menu';
import { useResized } from './resized';

/** The content of a tree's cell: components, and names as they are, whose invisible characters are shown. */
export type GridCell = readonly (VNode | string)[];

/** A table's cell; its title says it in full, or exactly. */
export interface TableCell {
  readonly content: ComponentChildren;
  readonly title?: string;
  readonly class?: string;
}

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
  readonly cells: readonly (GridCell | TableCell)[];
  readonly class: string;
}

export interface GridColumn {
  readonly name: string;
  readonly title: string;
  /** A track of a CSS grid. All rows have the same, so it doesn't depend on what is in them. */
  readonly width: string;
  /** Figures stand at the end. */
  readonly number: boolean;
  /** None for a column that can't be sorted by. */
  readonly sort: 'ascending' | 'descending' | 'none' | null;
  /** In what room it is left out; null for one that always stays. */
  readonly spare?: Room | null;
}

/** How little room there is; a narrow window leaves out what a medium one does, and more. */
export type Room = 'medium' | 'narrow';

/** What a grid shows, and what its rows do. */
export interface GridContent {
  count(): number;
  /** How many there are, here or not, where that is another number. */
  total?(): number;
  row(index: number): GridRow;
  sort(column: number): void;
  /**
   * A press or the space bar; `opened` with Enter, on a place or with Ctrl or Cmd, in a table with a double click. `beside`
   * for Ctrl or Cmd Enter, in a table for such a click.
   */
  pick(index: number, opened: boolean, beside: boolean): void;
  /** The keys went to another row. */
  moved?(index: number): void;
  /** The pointer is over another row; null for none. */
  pointed?(index: number | null): void;
  /** Rows up to there are elements. */
  reached?(last: number): void;
  toggle?(index: number, open: boolean): void;
  parent?(index: number): number;
  /** What the menu of a row offers: with the other button of the mouse, or the keyboard's key for it. */
  menu?(index: number): readonly MenuEntry[];
  /** A key that the grid itself has no use for; true when it was taken. */
  key(event: KeyboardEvent, index: number): boolean;
}

const ROW_PX = 22;
/** So many rows are elements above and below those in view. */
const BEYOND = 8;
const BEYOND_TABLE = 24;
const INDENT_PX = 16;
/** Deeper levels stand no further in: calls are hundreds deep. */
const MOST_INDENTS = 40;

let grids = 0;

export class Grid {
  private readonly id = `grid-${++grids}`;
  private readonly root = createRef<HTMLDivElement>();
  private readonly label: Signal<string>;
  private readonly columns = signal<readonly GridColumn[]>([]);
  /** Where the keys stand, and which rows are elements; another object when rows look different. */
  private readonly view = signal({ active: 0, column: 0, first: 0, last: 0 });
  private pointedAt: number | null = null;

  constructor(
    label: string,
    private readonly content: GridContent,
    /** What the classes of a table begin with: `compare-grid`, `compare-head`, `compare-body`, `compare-row`; null for a tree. */
    private readonly table: string | null = null,
  ) {
    this.label = signal(label);
  }

  /** The grid on the screen. */
  readonly View = (): VNode => {
    const { id, root, content, table } = this;
    const columns = this.columns.value;
    const { active, column, first, last } = this.view.value;
    const count = content.count();
    const measure = (): void => this.measure();
    useResized(root, measure);
    useLayoutEffect(measure);
    const named = (part: string): string =>
      table === null ? `grid-${part}` : `data-${part} ${table}-${part}`;
    const rows = Array.from({ length: Math.max(Math.min(last, count) - first, 0) }, (_, at) => first + at);
    return (
      <div
        ref={root}
        class={table === null ? 'grid' : `data-grid ${table}-grid`}
        role={table === null ? 'treegrid' : 'grid'}
        tabIndex={0}
        aria-label={visible(this.label.value)}
        {...(table !== null && { 'aria-readonly': true })}
        aria-colcount={columns.length}
        aria-rowcount={(content.total?.() ?? count) + 1}
        {...(count > 0 && {
          'aria-activedescendant': table === null ? `${id}-${active}` : `${id}-${active}-${column}`,
        })}
        style={{
          '--columns': `${columns.map(({ width }) => width).join(' ')}${table === null ? '' : ' minmax(0, 1fr)'}`,
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
        {/* as wide as the heads of a table */}
        <div class={named('sheet')} role="presentation">
          <div role="rowgroup" class={named('heads')}>
            {/* a row without cells is none */}
            <div class={named('head')} role={columns.length > 0 ? 'row' : 'presentation'}>
              {columns.map((each, i) => (
                <Head
                  key={i}
                  column={each}
                  index={i}
                  isTable={table !== null}
                  press={() => content.sort(i)}
                />
              ))}
            </div>
          </div>
          <div
            class={named('body')}
            role="rowgroup"
            style={{ height: `${count * ROW_PX}px` }}
            onPointerMove={({ target }) => this.point(rowAt(target))}
            onPointerLeave={() => this.point(null)}
          >
            {rows.map((index) => (
              <Row
                key={index}
                id={`${id}-${index}`}
                class={named('row')}
                row={content.row(index)}
                active={index === active ? (table === null ? 'row' : column) : null}
                isTable={table !== null}
                index={index}
                columns={columns}
              />
            ))}
          </div>
        </div>
      </div>
    );
  };

  setColumns(columns: readonly GridColumn[]): void {
    this.columns.value = columns;
    const { column } = this.view.peek();
    if (column >= columns.length) this.look({ column: Math.max(columns.length - 1, 0) });
  }

  setLabel(label: string): void {
    this.label.value = label;
  }

  get activeIndex(): number {
    return this.view.peek().active;
  }

  focus(): void {
    this.root.current?.focus({ preventScroll: true });
  }

  /** Rows came, went or look different. */
  update(active: number = this.activeIndex): void {
    this.look({ active: Math.min(Math.max(active, 0), Math.max(this.content.count() - 1, 0)) });
  }

  /** Shows other rows from their top. */
  restart(): void {
    this.update(0);
    if (this.root.current) this.root.current.scrollTop = 0;
  }

  setActive(index: number, column = this.view.peek().column): void {
    this.look({ active: index, column });
    const root = this.root.current;
    if (!root) return;
    const top = index * ROW_PX;
    const heads = root.querySelector('[role=rowgroup]')?.clientHeight ?? 0;
    const room = root.clientHeight - heads - ROW_PX;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top > root.scrollTop + room) root.scrollTop = top - room;
    this.measure();
    const head = root.querySelectorAll<HTMLElement>('[role=columnheader]')[column];
    if (this.table !== null && head) scrollAcross(root, head);
  }

  private look(part: Partial<(typeof this.view)['value']>): void {
    this.view.value = { ...this.view.peek(), ...part };
  }

  /** Which rows are in view. */
  private measure(): void {
    const { scrollTop = 0, clientHeight = 0 } = this.root.current ?? {};
    const beyond = this.table === null ? BEYOND : BEYOND_TABLE;
    const first = Math.max(Math.floor(scrollTop / ROW_PX) - beyond, 0);
    const last = Math.ceil((scrollTop + clientHeight) / ROW_PX) + beyond;
    const was = this.view.peek();
    if (first !== was.first || last !== was.last) this.look({ first, last });
    this.content.reached?.(last);
  }

  private click(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target : null;
    const index = rowAt(target);
    if (!target || index === null) return;
    const cell = target.closest('[role=gridcell]')?.getAttribute('aria-colindex');
    this.setActive(index, this.table === null ? 0 : Number(cell ?? 1) - 1);
    const { open } = this.content.row(index);
    if (open !== null && target.closest('.twistie')) this.content.toggle?.(index, !open);
    else {
      const mod = event.ctrlKey || event.metaKey;
      const isTable = this.table !== null;
      const opened = mod || (isTable ? event.detail === 2 : target.closest('.place-link') !== null);
      this.content.pick(index, opened, isTable && mod);
    }
  }

  private point(index: number | null): void {
    if (index === this.pointedAt) return;
    this.pointedAt = index;
    this.content.pointed?.(index);
  }

  private openMenu(event: MouseEvent): void {
    const index = rowAt(event.target);
    if (index !== null) this.go(index);
    else if (event.target !== this.root.current || this.content.count() === 0) return;
    const items = this.content.menu?.(this.activeIndex) ?? [];
    if (items.length === 0) return;
    event.preventDefault();
    event.stopPropagation();
    // by the keyboard it opens at the row, wherever the browser has the pointer
    const row = this.root.current
      ?.querySelector(`[data-index='${this.activeIndex}']`)
      ?.getBoundingClientRect();
    if (index !== null || !row) openMenu(items, event.clientX, event.clientY);
    else openMenu(items, row.left + 24, row.bottom);
  }

  private key(event: KeyboardEvent): void {
    const { target, key } = event;
    if (target instanceof HTMLButtonElement && (key === 'Enter' || key === ' ')) {
      event.stopPropagation();
      return;
    }
    const mod = event.ctrlKey || event.metaKey;
    if (event.altKey || event.shiftKey || (mod && this.table === null && key !== 'Enter')) return;
    const { content, activeIndex: active } = this;
    const count = content.count();
    if (count === 0) return;
    if (key === 'Enter' || key === ' ') content.pick(active, key === 'Enter', mod);
    else if (!this.walk(key, mod, count) && !content.key(event, active)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(index: number, column?: number): void {
    this.setActive(index, column);
    this.content.moved?.(index);
  }

  private walk(key: string, mod: boolean, count: number): boolean {
    if (this.table !== null && key === 's' && !mod) {
      this.content.sort(this.view.peek().column);
      return true;
    }
    const page = Math.max(Math.floor((this.root.current?.clientHeight ?? 0) / ROW_PX) - 2, 1);
    const active = this.activeIndex;
    const whole = this.table === null || mod;
    const to = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: whole ? 0 : active,
      End: whole ? count - 1 : active,
    }[key];
    const across = this.table === null ? undefined : this.across(key);
    if (to === undefined && across === undefined) return this.table === null && this.openOrClose(key, active);
    this.go(Math.min(Math.max(to ?? active, 0), count - 1), across);
    return true;
  }

  /** The column to which a key leads in a table. */
  private across(key: string): number | undefined {
    const last = Math.max(this.columns.peek().length - 1, 0);
    const { column } = this.view.peek();
    return {
      ArrowRight: Math.min(column + 1, last),
      ArrowLeft: Math.max(column - 1, 0),
      Home: 0,
      End: last,
    }[key];
  }

  private openOrClose(key: string, active: number): boolean {
    const { content } = this;
    const { open } = content.row(active);
    if (key === 'ArrowRight') {
      if (open === false) content.toggle?.(active, true);
      else if (open) this.go(Math.min(active + 1, content.count() - 1));
      return true;
    }
    if (key !== 'ArrowLeft') return false;
    const parent = content.parent?.(active) ?? -1;
    if (open) content.toggle?.(active, false);
    else if (parent >= 0) this.go(parent);
    return true;
  }
}

function rowAt(target: EventTarget | null): number | null {
  const row = target instanceof Element ? target.closest<HTMLElement>('[data-index]') : null;
  return row ? Number(row.dataset['index']) : null;
}

/** Brings a column of a wide table into view. */
function scrollAcross(root: HTMLElement, { offsetLeft: left, offsetWidth: width }: HTMLElement): void {
  const { scrollLeft, clientWidth } = root;
  if (left < scrollLeft) root.scrollLeft = left;
  else if (left + width > scrollLeft + clientWidth)
    root.scrollLeft = Math.min(left, left + width - clientWidth);
}

/** The class of a column's cells. */
function columnClass({ number = false, spare = null }: Partial<GridColumn> = {}): string {
  return `${number ? 'number' : ''}${spare ? ` spare-${spare}` : ''}`.trim();
}

interface HeadProps {
  readonly column: GridColumn;
  readonly index: number;
  readonly isTable: boolean;
  readonly press: () => void;
}

/** The head of a column. A table's are sorted by a key of their own, so that Tab leads past them. */
function Head({ column, index, isTable, press }: HeadProps): VNode {
  const { name, title, sort } = column;
  const arrow = sort !== null && sort !== 'none' && <Icon name={sort === 'descending' ? 'down' : 'up'} />;
  return (
    <div
      role="columnheader"
      aria-colindex={index + 1}
      class={columnClass(column)}
      title={isTable ? t('Sort by {0} (S)', visible(name)) : visible(title)}
      {...(sort !== null && { 'aria-sort': sort })}
      {...(isTable && { onClick: press })}
    >
      {isTable ? <bdi>{visible(name)}</bdi> : sort === null && visible(name)}
      {isTable && arrow}
      {!isTable && sort !== null && (
        <button type="button" onClick={press}>
          {visible(name)}
          {arrow}
        </button>
      )}
    </div>
  );
}

interface RowProps {
  readonly id: string;
  readonly class: string;
  readonly index: number;
  readonly row: GridRow;
  readonly columns: readonly GridColumn[];
  /** Whether the keys stand on it; in a table, on which of its cells. */
  readonly active: 'row' | number | null;
  readonly isTable: boolean;
}

function Row({ id, class: kind, index, row, columns, active, isTable }: RowProps): VNode {
  return (
    <div
      class={[kind, row.class, active === 'row' && 'active', isTable && index % 2 === 1 && 'odd']
        .filter(Boolean)
        .join(' ')}
      id={id}
      role="row"
      data-id={row.id}
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={row.selected}
      {...(!isTable && {
        'aria-level': row.level + 1,
        'aria-posinset': row.place,
        'aria-setsize': row.of,
      })}
      {...(row.open !== null && { 'aria-expanded': row.open })}
      style={{ top: `${index * ROW_PX}px` }}
    >
      {row.cells.map((cell, i) => {
        const indent = !isTable && i === 0;
        const { content, title, class: own = '' }: TableCell = 'content' in cell ? cell : { content: null };
        return (
          <div
            key={i}
            id={`${id}-${i}`}
            role="gridcell"
            class={[columnClass(columns[i]), own, active === i && 'active'].filter(Boolean).join(' ')}
            aria-colindex={i + 1}
            {...(title !== undefined && { title })}
            // half of a narrow column is the name's
            {...(indent && {
              style: {
                paddingInlineStart: `min(${8 + Math.min(row.level, MOST_INDENTS) * INDENT_PX}px, 50%)`,
              },
            })}
          >
            {indent && (
              <span class={`twistie${row.open === null ? ' none' : ''}`}>
                <Icon name="chevron" />
              </span>
            )}
            {'content' in cell
              ? content
              : cell.map((part) => (typeof part === 'string' ? visible(part) : part))}
          </div>
        );
      })}
    </div>
  );
}
