// A table on the one grid: rows without children, sorted by their columns, loaded page by page, and copied.

import type { VNode } from 'preact';
import type { Api } from '../api';
import { copyItems, copyRow, type CopiedCell, type CopiedPlace } from './copy';
import { Grid, type TableCell } from './grid';

/** With fewer rows below those that are elements the next page is asked for. */
const LEAST_AHEAD = 16;

export interface TableColumn<R> {
  readonly key: string;
  readonly name: string;
  /** Figures stand at the end, and come largest first. */
  readonly number: boolean;
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

/** What a table is called, and what its rows do. */
interface TableOf<R> {
  /** Its classes begin with it. */
  readonly name: string;
  readonly label: string;
  /** A row was selected, by a click or the space bar. */
  pick(row: R): void;
  /** A row is to be opened: Enter, a double click, or a click with Control. */
  open(row: R, beside: boolean): void;
  sort(sort: TableSort): void;
  /** Fetches the rows after those that are loaded. */
  more?(offset: number): void;
  readonly post: Api['post'];
  placeOf(row: R): CopiedPlace;
}

export class Table<R> {
  readonly View: () => VNode;
  private shown: TableRows<R> = { columns: [], rows: [], total: 0, sort: null, answer: null };
  private selected: number | null = null;
  private readonly grid: Grid;

  constructor(private readonly of: TableOf<R>) {
    this.grid = new Grid(
      of.label,
      {
        count: () => this.shown.rows.length,
        total: () => this.shown.total,
        row: (index) => ({
          id: String(index),
          level: 0,
          open: null,
          place: index + 1,
          of: this.shown.total,
          class: '',
          selected: index === this.selected,
          cells: this.shown.columns.map((column) => column.cell(this.at(index))),
        }),
        sort: (index) => this.sortBy(index),
        pick: (index, opened, beside) => {
          this.selected = index;
          this.grid.update();
          if (opened) of.open(this.at(index), beside);
          else of.pick(this.at(index));
        },
        reached: (last) => {
          const { rows, total } = this.shown;
          if (rows.length < total && last + LEAST_AHEAD > rows.length) of.more?.(rows.length);
        },
        menu: (index) => {
          const row = this.at(index);
          const cells = this.copied(row);
          const [first = ''] = cells;
          const heads = this.shown.columns.map(({ name }) => name);
          const items = copyItems(
            of,
            { name: typeof first === 'string' ? first : first.shown, place: of.placeOf(row) },
            {
              one: () => ({ heads, rows: [cells] }),
              all: () => ({ heads, rows: this.shown.rows.map((each) => this.copied(each)) }),
            },
          );
          // nothing stands above the line that they begin with
          return items.slice(1);
        },
        key: ({ key, ctrlKey, metaKey }, index) => {
          if (key !== 'c' || !(ctrlKey || metaKey) || document.getSelection()?.isCollapsed === false)
            return false;
          of.post({ type: 'copy', text: copyRow(this.copied(this.at(index))) });
          return true;
        },
      },
      of.name,
    );
    this.View = this.grid.View;
  }

  get now(): TableRows<R> {
    return this.shown;
  }

  show(shown: TableRows<R>): void {
    const isOther = shown.answer !== this.shown.answer;
    this.shown = shown;
    this.grid.setColumns(
      shown.columns.map(({ key, name, width, number }) => {
        const way = shown.sort?.descending ? 'descending' : 'ascending';
        return { name, title: '', width, number, sort: shown.sort?.column === key ? way : 'none' };
      }),
    );
    if (isOther) {
      this.selected = null;
      this.grid.restart();
    } else this.grid.update();
  }

  focus(): void {
    this.grid.focus();
  }

  private at(index: number): R {
    const row = this.shown.rows[index];
    if (row === undefined) throw new RangeError(`The table has no row ${index}`);
    return row;
  }

  private copied(row: R): CopiedCell[] {
    return this.shown.columns.map((column) => column.copied(row));
  }

  private sortBy(index: number): void {
    const { columns, sort } = this.shown;
    const column = columns[index];
    if (!column) return;
    const descending = sort?.column === column.key ? !sort.descending : column.number;
    this.of.sort({ column: column.key, descending });
  }
}
