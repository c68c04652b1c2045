// A table whose rows open, of whatever a heap dump has: packages, types, objects, steps of paths.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { Pending } from '../api';
import { count, t } from '../base/l10n';
import type { Pane } from '../shell/pane';
import { copyItems, copyTable, type CopiedTable, type CopiedPlace } from '../widgets/copy';
import { element, setLabel } from '../widgets/dom';
import { IconButton } from '../widgets/icon-button';
import { Island } from '../widgets/island';
import { LazyRows, type LazyAnswer } from '../widgets/lazy-rows';
import type { MenuEntry } from '../widgets/menu';
import { TreeGrid, type GridColumn, type GridRow } from '../widgets/tree-grid';
import type { GraphContext } from './context';
import { GivenUp, Waiting } from './waiting';
import type { Cell } from './words';

export interface HeapTreeEvents<N> {
  ask(node: N | null, offset: number, limit: number): Pending<LazyAnswer<N>>;
  hasChildren(node: N): boolean;
  id(node: N): string;
  cells(node: N): readonly Cell[];
  isSelected(node: N): boolean;
  /** A click or the keys; `opened` with Enter, on a place or with Ctrl. */
  pick(node: N, opened: boolean, beside: boolean): void;
  /** What its menu offers besides copying. */
  menu(node: N): readonly MenuEntry[];
  /** What is copied of it by itself. */
  copied(node: N): { readonly name: string; readonly place: CopiedPlace };
  sort?(column: number): void;
  /** What is said where there are no rows. */
  empty(): string;
}

export class HeapTree<N> {
  private readonly grid: TreeGrid;
  private readonly rows: LazyRows<N, LazyAnswer<N>>;
  /** What stands in the place of the rows. */
  private readonly none = signal('');
  /** Whether the first rows are under way, or were given up. */
  private readonly first = signal<'asked' | 'here' | 'cancelled'>('here');
  private columns: readonly GridColumn[] = [];
  private asked: Pending<LazyAnswer<N>> | null = null;

  constructor(
    label: string,
    private readonly context: GraphContext,
    private readonly events: HeapTreeEvents<N>,
  ) {
    this.rows = new LazyRows({
      ask: (node, offset, limit) => {
        const asked = events.ask(node, offset, limit);
        return node === null && offset === 0 ? this.watched(asked) : asked;
      },
      hasChildren: (node) => events.hasChildren(node),
      changed: (moved) => {
        this.grid.update(moved(this.grid.activeIndex));
        const { latest, rows } = this.rows;
        this.none.value = latest?.children === 0 && rows.length === 0 ? events.empty() : '';
      },
      failed: (error) => {
        context.failed(error);
      },
    });
    this.grid = new TreeGrid(label, {
      count: () => this.rows.rows.length,
      row: (index) => this.rowAt(index),
      sort: (column) => {
        events.sort?.(column);
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
      menu: (index) => this.menu(index),
      key: () => false,
    });
  }

  /** The table on the screen. */
  readonly View = ({ hidden = false }: { readonly hidden?: boolean }): VNode => (
    <div class="heap-tree" hidden={hidden}>
      <Island class="heap-grid" of={this.grid.root} />
      <p class="muted heap-none" role="status" hidden={this.none.value === ''}>
        {this.none}
      </p>
      {this.first.value === 'asked' && (
        <Waiting
          text={t('Working…')}
          cancel={() => {
            this.rows.cancel();
            this.first.value = 'cancelled';
          }}
        />
      )}
      {this.first.value === 'cancelled' && (
        <GivenUp
          again={() => {
            this.rows.reset();
          }}
        />
      )}
    </div>
  );

  show(label: string, columns: readonly GridColumn[]): void {
    setLabel(this.grid.root, label);
    this.columns = columns;
    this.grid.setColumns(columns);
    this.rows.latest = null;
    this.none.value = '';
    this.rows.reset();
  }

  redraw(): void {
    this.grid.update();
  }

  /** The button that copies what is shown. */
  readonly CopyButton = ({ hidden = false }: { readonly hidden?: boolean }): VNode | null =>
    hidden ? null : (
      <IconButton
        icon="copy"
        label={t('Copy Table')}
        press={() => {
          this.context.copy(copyTable(this.copied(this.nodes)));
        }}
      />
    );

  dispose(): void {
    this.rows.cancel();
    this.first.value = 'here';
  }

  private watched(asked: Pending<LazyAnswer<N>>): Pending<LazyAnswer<N>> {
    this.asked = asked;
    this.first.value = 'asked';
    const here = (): void => {
      if (this.asked === asked && this.first.value === 'asked') this.first.value = 'here';
    };
    asked.answer.then(here, here);
    return asked;
  }

  private get nodes(): readonly N[] {
    return this.rows.rows.flatMap((row) => (row.kind === 'node' ? [row.node] : []));
  }

  private copied(nodes: readonly N[]): CopiedTable {
    return {
      heads: this.columns.map(({ name }) => name),
      rows: nodes.map((node) => this.events.cells(node).map(({ copied }) => copied)),
    };
  }

  private menu(index: number): readonly MenuEntry[] {
    const row = this.rows.rows[index];
    if (row?.kind !== 'node') return [];
    const { node } = row;
    const own = this.events.menu(node);
    const copy = copyItems(this.context.api, this.events.copied(node), {
      one: () => this.copied([node]),
      all: () => this.copied(this.nodes),
    });
    // nothing stands above the line that these begin with
    return own.length > 0 ? [...own, ...copy] : copy.slice(1);
  }

  private rowAt(index: number): GridRow {
    const row = this.rows.rows[index];
    if (!row) throw new RangeError(`The table has no row ${index}`);
    const { level } = row;
    if (row.kind === 'rest') {
      const more = <span class="link">{t('{0} more…', count(row.left))}</span>;
      return {
        ...{ id: `rest:${index}`, level, open: null, place: 1, of: 1, selected: false, class: 'more' },
        cells: this.columns.map((_, column) => (column === 0 ? [more] : [])),
      };
    }
    const { node, open, place, of } = row;
    return {
      ...{ id: this.events.id(node), level, open, place, of, class: '' },
      selected: this.events.isSelected(node),
      cells: this.events.cells(node).map(({ parts }) => parts),
    };
  }
}

/** A pane of one table, with its controls before the button that copies it. */
export function treePane<N>(
  pane: Pick<Pane, 'id' | 'title' | 'update'>,
  tree: HeapTree<N>,
  Controls: () => VNode | null = () => null,
): Pane {
  const root = element('section');
  const bar = heapBar(pane.title);
  render(<tree.View />, root);
  render(
    <>
      <Controls />
      <tree.CopyButton />
    </>,
    bar,
  );
  return {
    ...pane,
    ...{ usesSet: false, root, bar },
    dispose: () => {
      tree.dispose();
      render(null, root);
      render(null, bar);
    },
  };
}

export function heapBar(label: string): HTMLElement {
  return element('div', { class: 'heap-bar', role: 'toolbar', attributes: { 'aria-label': label } });
}
