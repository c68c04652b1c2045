// A table whose rows open, of whatever a heap dump has: packages, types, objects, steps of paths.

import type { Pending } from '../api';
import type { MenuEntry } from '../widgets/menu';
import { element, setLabel, setText } from '../widgets/dom';
import { count } from '../base/format';
import { LazyRows, type LazyAnswer } from '../widgets/lazy-rows';
import { TreeGrid, type GridColumn, type GridRow } from '../widgets/tree-grid';
import type { Cell } from './words';

export interface HeapTreeEvents<N> {
  ask(node: N | null, offset: number, limit: number): Pending<LazyAnswer<N>>;
  hasChildren(node: N): boolean;
  id(node: N): string;
  cells(node: N): readonly Cell[];
  isSelected(node: N): boolean;
  /** A click or the keys; `opened` with Enter, on a place or with Ctrl. */
  pick(node: N, opened: boolean, beside: boolean): void;
  menu(node: N): readonly MenuEntry[];
  sort(column: number): void;
  /** What is said where there are no rows. */
  empty(): string;
  failed(error: unknown): void;
}

export class HeapTree<N> {
  readonly root: HTMLElement;
  private readonly grid: TreeGrid;
  private readonly rows: LazyRows<N, LazyAnswer<N>>;
  private readonly none = element('p', { class: 'muted heap-none', hidden: true, role: 'status' });
  private columns = 0;

  constructor(
    label: string,
    private readonly events: HeapTreeEvents<N>,
  ) {
    this.rows = new LazyRows({
      ask: (node, offset, limit) => events.ask(node, offset, limit),
      hasChildren: (node) => events.hasChildren(node),
      changed: (moved) => {
        this.grid.update(moved(this.grid.activeIndex));
        const none =
          this.rows.latest !== null && this.rows.rows.length === 0 && this.rows.latest.children === 0;
        this.none.hidden = !none;
        if (none) setText(this.none, events.empty());
      },
      failed: (error) => {
        events.failed(error);
      },
    });
    const nodeAt = (index: number): N | null => {
      const row = this.rows.rows[index];
      return row?.kind === 'node' ? row.node : null;
    };
    this.grid = new TreeGrid(label, {
      count: () => this.rows.rows.length,
      row: (index) => this.rowAt(index),
      sort: (column) => {
        events.sort(column);
      },
      pick: (index, opened, beside) => {
        const row = this.rows.rows[index];
        if (row?.kind === 'rest') this.rows.more(row);
        else if (row) events.pick(row.node, opened, beside);
      },
      toggle: (index, open) => {
        const row = this.rows.rows[index];
        if (row?.kind === 'node') this.rows.toggle(row, open);
      },
      parent: (index) => this.rows.parentOf(index),
      menu: (index) => {
        const node = nodeAt(index);
        return node === null ? [] : events.menu(node);
      },
      key: () => false,
    });
    this.root = element('div', { class: 'heap-tree' }, this.grid.root, this.none);
  }

  show(label: string, columns: readonly GridColumn[]): void {
    setLabel(this.grid.root, label);
    this.columns = columns.length;
    this.grid.setColumns(columns);
    this.rows.latest = null;
    this.none.hidden = true;
    this.rows.reset();
  }

  redraw(): void {
    this.grid.update();
  }

  focus(): void {
    this.grid.root.focus();
  }

  /** What is shown, as lines of tab-separated values. */
  text(): string {
    return this.rows.rows
      .flatMap((row) =>
        row.kind === 'node'
          ? [
              this.events
                .cells(row.node)
                .map((cell) => cell.map(textOf).join('').trim())
                .join('\t'),
            ]
          : [],
      )
      .join('\n');
  }

  dispose(): void {
    this.rows.cancel();
  }

  private rowAt(index: number): GridRow {
    const row = this.rows.rows[index];
    if (!row) throw new RangeError(`The table has no row ${index}`);
    const { level } = row;
    if (row.kind === 'rest') {
      const more: Cell = [element('span', { class: 'link' }, `${count(row.left)} more…`)];
      return {
        ...{ id: `rest:${index}`, level, open: null, place: 1, of: 1, selected: false, class: 'more' },
        cells: [more, ...Array.from({ length: this.columns - 1 }, (): Cell => [])],
      };
    }
    const { node, open, place, of } = row;
    return {
      ...{ id: this.events.id(node), level, open, place, of, class: '' },
      selected: this.events.isSelected(node),
      cells: this.events.cells(node),
    };
  }
}

function textOf(part: Node | string): string {
  return typeof part === 'string' ? part : (part.textContent ?? '');
}
