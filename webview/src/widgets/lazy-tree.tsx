// The one tree of rows that are fetched when they are opened, or asked for, in columns: what it shows and what its rows do.

import type { VNode } from 'preact';
import { count, t } from '../base/l10n';
import type { LazyAnswer, LazyRows, NodeRow, RestRow } from './lazy-rows';
import type { MenuEntry } from './menu';
import { Grid, type GridCell, type GridColumn, type GridRow } from './grid';

export interface LazyTreeEvents<N, A> {
  /** What a node is known by. */
  id(node: N): string;
  /** One for each column. */
  cells(row: NodeRow<N>): readonly GridCell[];
  isSelected(row: NodeRow<N>): boolean;
  class?(node: N): string;
  /** What the children that are not here come to, one for each column after the first. */
  rest?(row: RestRow<N, A>): readonly GridCell[];
  sort?(column: number): void;
  /** A press or the space bar; `opened` with Enter, on a place or with Ctrl or Cmd. */
  pick(row: NodeRow<N>, opened: boolean, beside: boolean): void;
  /** The keys went to another row. */
  moved?(row: NodeRow<N>): void;
  /** The pointer is over another row; null for none. */
  pointed?(node: N | null): void;
  menu(row: NodeRow<N>): readonly MenuEntry[];
  /** A key that the tree has no use for; true when it was taken. */
  key?(event: KeyboardEvent, node: N | null): boolean;
  /** Rows came or went. */
  changed?(): void;
}

export class LazyTree<N, A extends LazyAnswer<N>> {
  private readonly grid: Grid;
  private columns: readonly GridColumn[] = [];

  constructor(
    label: string,
    private readonly rows: LazyRows<N, A>,
    private readonly events: LazyTreeEvents<N, A>,
  ) {
    this.grid = new Grid(label, {
      count: () => rows.rows.length,
      row: (index) => this.rowAt(index),
      sort: (column) => {
        events.sort?.(column);
      },
      pick: (index, opened, beside) => {
        const row = rows.rows[index];
        if (row?.kind === 'rest') rows.more(row);
        else if (row) events.pick(row, opened, beside);
      },
      moved: (index) => {
        const row = this.nodeAt(index);
        if (row) events.moved?.(row);
      },
      pointed: (index) => {
        events.pointed?.((index === null ? null : this.nodeAt(index)?.node) ?? null);
      },
      toggle: (index, open) => {
        const row = this.nodeAt(index);
        if (row) rows.toggle(row, open);
      },
      parent: (index) => rows.parentOf(index),
      menu: (index) => {
        const row = this.nodeAt(index);
        return row ? events.menu(row) : [];
      },
      key: (event, index) => events.key?.(event, this.nodeAt(index)?.node ?? null) ?? false,
    });
    rows.changed = (moved) => {
      events.changed?.();
      this.grid.update(moved(this.grid.activeIndex));
    };
  }

  get View(): Grid['View'] {
    return this.grid.View;
  }

  /** The nodes that are here, as they are shown. */
  get nodes(): readonly N[] {
    return this.rows.rows.flatMap((row) => (row.kind === 'node' ? [row.node] : []));
  }

  /** Its columns, and what it is called by now. */
  show(columns: readonly GridColumn[], label?: string): void {
    if (label !== undefined) this.grid.setLabel(label);
    this.columns = columns;
    this.grid.setColumns(columns);
  }

  /** Opens a node that is here, and puts the keys on it; false if there is no such node yet. */
  reveal(id: string): boolean {
    const at = this.rows.rows.findIndex((row) => row.kind === 'node' && this.events.id(row.node) === id);
    const row = this.nodeAt(at);
    if (!row) return false;
    this.grid.setActive(at);
    this.rows.toggle(row, true);
    return true;
  }

  /** Rows look different. */
  redraw(): void {
    this.grid.update();
  }

  private nodeAt(index: number): NodeRow<N> | null {
    const row = this.rows.rows[index];
    return row?.kind === 'node' ? row : null;
  }

  private rowAt(index: number): GridRow {
    const row = this.rows.rows[index];
    if (!row) throw new RangeError(`The tree has no row ${index}`);
    const { level } = row;
    if (row.kind === 'rest') {
      const rest = this.events.rest?.(row) ?? [];
      return {
        id: `rest:${index}`,
        level,
        open: null,
        place: 1,
        of: 1,
        selected: false,
        class: 'more',
        cells: this.columns.map((_, column) => (column === 0 ? [restText(row)] : (rest[column - 1] ?? []))),
      };
    }
    const { node, open, place, of } = row;
    return {
      id: this.events.id(node),
      level,
      open,
      place,
      of,
      class: this.events.class?.(node) ?? '',
      selected: this.events.isSelected(row),
      cells: this.events.cells(row),
    };
  }
}

function restText<N, A>({ message, waiting, left }: RestRow<N, A>): VNode | string {
  if (message !== '') return message;
  return waiting ? t('Fetching…') : <span class="link">{t('{0} more…', count(left))}</span>;
}
