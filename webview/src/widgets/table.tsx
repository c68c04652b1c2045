// A table of any number of rows, of which only those in view are made: sorted by its heads, gone through by keyboard,
// loaded page by page, and copied.

import { useSignal, type ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, RefObject, VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { Frame } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { t } from '../base/l10n';
import { visible } from '../base/text';
import { copyItems, copyRow, type CopiedCell } from './copy';
import { Icon } from './icon';
import { openMenu } from './menu';
import { useResized } from './resized';

const ROW_PX = 22;
const SPARE_ROWS = 24;
const PAGE_ROWS = 15;
/** With fewer rows below those in view the next page is asked for. */
const LEAST_AHEAD = 40;

export interface TableCell {
  readonly content: ComponentChildren;
  /** In full, or exactly. */
  readonly title?: string;
  readonly class?: string;
}

export interface TableColumn<R> {
  readonly key: string;
  readonly name: string;
  /** Figures stand at the end, and come largest first. */
  readonly number: boolean;
  /** A track of a CSS grid. All rows have the same, so it doesn't depend on what is in them. */
  readonly width: string;
  cell(row: R): TableCell;
  copied(row: R): CopiedCell;
}

export interface TableSort {
  readonly column: string;
  readonly descending: boolean;
}

export interface TableRows<R> {
  readonly columns: readonly TableColumn<R>[];
  readonly rows: readonly R[];
  /** How many there are, loaded or not. */
  readonly total: number;
  readonly sort: TableSort | null;
  /** Another one begins at the top, with nothing selected. */
  readonly answer: unknown;
}

export interface TableActions<R> {
  /** A row was selected, by a click or the space bar. */
  pick(row: R): void;
  /** A row is to be opened: Enter, a double click, or a click with Control. */
  open(row: R, beside: boolean): void;
  sort(sort: TableSort): void;
  /** The rows after those that are loaded; null where they are loaded otherwise. */
  readonly more: ((offset: number) => void) | null;
  readonly post: Api['post'];
}

interface TableProps<R> {
  /** Its classes begin with it: `compare-table`, `compare-grid`, `compare-head`, `compare-body`, `compare-row`. */
  readonly name: string;
  readonly label: string;
  readonly shown: ReadonlySignal<TableRows<R>>;
  readonly actions: TableActions<R>;
  /** What has the focus and scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>;
  /** More classes and attributes of a row. */
  readonly about?: (row: R) => {
    readonly class?: string;
    readonly place?: Pick<Frame, 'file' | 'line'> | null;
  };
}

interface Place {
  readonly row: number;
  readonly column: number;
}

const START: Place = { row: 0, column: 0 };

export function Table<R>({ name, label, shown, actions, scroller, about }: TableProps<R>): VNode {
  const { columns, rows, total, sort, answer } = shown.value;
  const view = useSignal({ first: 0, last: SPARE_ROWS });
  const at = useSignal<Place>(START);
  const picked = useSignal<number | null>(null);
  const measure = (): void => {
    const root = scroller.current;
    if (!root) return;
    const first = Math.max(Math.floor(root.scrollTop / ROW_PX) - SPARE_ROWS, 0);
    const last = Math.ceil((root.scrollTop + root.clientHeight) / ROW_PX) + SPARE_ROWS;
    const { first: was, last: until } = view.value;
    if (first !== was || last !== until) view.value = { first, last };
    const { rows: loaded, total: all } = shown.value;
    if (loaded.length < all && last + LEAST_AHEAD > loaded.length + SPARE_ROWS) actions.more?.(loaded.length);
  };
  useResized(scroller, measure);
  useLayoutEffect(() => {
    at.value = { row: 0, column: Math.min(at.value.column, Math.max(columns.length - 1, 0)) };
    picked.value = null;
    if (scroller.current) scroller.current.scrollTop = 0;
  }, [answer]);
  useLayoutEffect(measure);

  const goTo = (row: number, column: number): void => {
    const to = {
      row: Math.min(Math.max(row, 0), Math.max(rows.length - 1, 0)),
      column: Math.min(Math.max(column, 0), Math.max(columns.length - 1, 0)),
    };
    at.value = to;
    const root = scroller.current;
    if (!root) return;
    scrollToRow(root, to.row);
    measure();
    scrollToCell(root, to);
  };
  const pick = (): void => {
    const row = rows[at.value.row];
    if (row === undefined) return;
    picked.value = at.value.row;
    actions.pick(row);
  };
  const open = (beside: boolean): void => {
    const row = rows[at.value.row];
    if (row === undefined) return;
    picked.value = at.value.row;
    actions.open(row, beside);
  };
  const sortBy = (column: TableColumn<R> | undefined): void => {
    if (!column) return;
    const descending = sort?.column === column.key ? !sort.descending : column.number;
    actions.sort({ column: column.key, descending });
  };
  const rowCopied = (row: R): CopiedCell[] => columns.map((column) => column.copied(row));
  const onKeyDown = (event: KeyboardEvent): void => {
    const { row, column } = at.value;
    const mod = event.ctrlKey || event.metaKey;
    const to = {
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      ArrowRight: [row, column + 1],
      ArrowLeft: [row, column - 1],
      PageDown: [row + PAGE_ROWS, column],
      PageUp: [row - PAGE_ROWS, column],
      Home: [mod ? 0 : row, 0],
      End: [mod ? rows.length - 1 : row, columns.length - 1],
    }[event.key];
    // Alt with an arrow goes back and forward
    if (to && event.altKey) return;
    if (to) goTo(to[0] ?? 0, to[1] ?? 0);
    else if (event.key === ' ') pick();
    else if (event.key === 'Enter') open(mod);
    else if (event.key === 's' && !mod) sortBy(columns[column]);
    else if (event.key === 'c' && mod && document.getSelection()?.isCollapsed !== false) {
      const copied = rows[row];
      if (copied !== undefined) actions.post({ type: 'copy', text: copyRow(rowCopied(copied)) });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const rowOf = (event: MouseEvent): number | null => {
    const row = event.target instanceof Element ? event.target.closest('[data-row]') : null;
    return row ? Number(row.getAttribute('data-row')) : null;
  };
  const onClick = (event: MouseEvent): void => {
    const row = rowOf(event);
    if (row === null) return;
    const cell = event.target instanceof Element ? event.target.closest('[data-column]') : null;
    goTo(row, Number(cell?.getAttribute('data-column') ?? 0));
    if (event.ctrlKey || event.metaKey || event.detail === 2) open(event.ctrlKey || event.metaKey);
    else pick();
  };
  const onContextMenu = (event: MouseEvent): void => {
    const index = rowOf(event);
    const row = index === null ? undefined : rows[index];
    if (index === null || row === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    goTo(index, at.value.column);
    const cells = rowCopied(row);
    const [first = ''] = cells;
    const heads = columns.map((column) => column.name);
    const items = copyItems(
      actions,
      { name: typeof first === 'string' ? first : first.shown, place: about?.(row).place ?? null },
      { one: () => ({ heads, rows: [cells] }), all: () => ({ heads, rows: rows.map(rowCopied) }) },
    );
    // nothing stands above the line that they begin with
    openMenu(items.slice(1), event.clientX, event.clientY);
  };

  const { first, last } = view.value;
  const tracks = `${columns.map(({ width }) => width).join(' ')} minmax(0, 1fr)`;
  const cellId = ({ row, column }: Place): string => `${name}-${row}-${column}`;
  return (
    <div
      ref={scroller}
      class={`data-grid ${name}-grid`}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-readonly
      aria-rowcount={total + 1}
      aria-colcount={columns.length}
      {...(rows.length > 0 && { 'aria-activedescendant': cellId(at.value) })}
      style={{ '--columns': tracks }}
      onScroll={measure}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onContextMenu={onContextMenu}
    >
      <table class={`${name}-table`} role="presentation">
        <thead role="rowgroup">
          {/* a row without cells is none */}
          <tr class={`data-row ${name}-head`} role={columns.length > 0 ? 'row' : 'presentation'}>
            {columns.map((column, i) => (
              <Head key={column.key} {...{ column, index: i, sort }} press={() => sortBy(column)} />
            ))}
          </tr>
        </thead>
        <tbody
          class={`data-body ${name}-body`}
          role="rowgroup"
          style={{ height: `${rows.length * ROW_PX}px` }}
        >
          {rows.slice(first, last).map((row, offset) => {
            const index = first + offset;
            const more = about?.(row);
            return (
              <tr
                key={index}
                class={['data-row', `${name}-row`, index % 2 === 1 && 'odd', more?.class]
                  .filter(Boolean)
                  .join(' ')}
                role="row"
                aria-rowindex={index + 2}
                {...(picked.value === index && { 'aria-selected': true })}
                data-row={index}
                style={{ top: `${index * ROW_PX}px` }}
              >
                {columns.map((column, i) => {
                  const { content, title, class: classes } = column.cell(row);
                  const active = at.value.row === index && at.value.column === i;
                  return (
                    <td
                      key={column.key}
                      class={[column.number && 'number', classes, active && 'active']
                        .filter(Boolean)
                        .join(' ')}
                      role="gridcell"
                      {...(title !== undefined && { title })}
                      id={cellId({ row: index, column: i })}
                      aria-colindex={i + 1}
                      data-column={i}
                    >
                      {content}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Head<R>({
  column,
  index,
  sort,
  press,
}: {
  readonly column: TableColumn<R>;
  readonly index: number;
  readonly sort: TableSort | null;
  readonly press: () => void;
}): VNode {
  const sorted = sort?.column === column.key ? (sort.descending ? 'descending' : 'ascending') : 'none';
  return (
    <th
      class={column.number ? 'number' : ''}
      role="columnheader"
      title={t('Sort by {0} (S)', visible(column.name))}
      aria-sort={sorted}
      aria-colindex={index + 1}
      data-order={column.key}
      onClick={press}
    >
      <bdi>{visible(column.name)}</bdi>
      {sorted !== 'none' && <Icon name={sorted === 'descending' ? 'down' : 'up'} />}
    </th>
  );
}

/** The head stands over the first row in view. */
function scrollToRow(root: HTMLElement, row: number): void {
  const top = row * ROW_PX;
  if (top < root.scrollTop) root.scrollTop = top;
  else if (top + 2 * ROW_PX > root.scrollTop + root.clientHeight)
    root.scrollTop = top + 2 * ROW_PX - root.clientHeight;
}

function scrollToCell(root: HTMLElement, { row, column }: Place): void {
  const cell = root.querySelector<HTMLElement>(`[data-row="${row}"] > [data-column="${column}"]`);
  if (!cell) return;
  const { scrollLeft, clientWidth } = root;
  const { offsetLeft: left, offsetWidth: width } = cell;
  if (left < scrollLeft) root.scrollLeft = left;
  else if (left + width > scrollLeft + clientWidth)
    root.scrollLeft = Math.min(left, left + width - clientWidth);
}
