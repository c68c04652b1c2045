// The tree table of heap dumps: packages, types, objects, steps of paths.

import { signal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import type { PaneId } from '../../../extension/shared/commands';
import type { Pending } from '../base/request';
import { t } from '../base/l10n';
import { Bar } from '../widgets/bar';
import type { BarRoom, Pane, PaneRoom } from '../shell/pane';
import { copyItems, copyTable, type CopiedTable, type CopiedPlace } from '../widgets/copy';
import { IconButton } from '../widgets/icon-button';
import { LazyRows, type LazyAnswer, type LazyRowsEvents, type LazyRowsOptions } from '../widgets/lazy-rows';
import { LazyTree } from '../widgets/lazy-tree';
import type { MenuEntry } from '../widgets/menu';
import type { GridColumn } from '../widgets/grid';
import type { GraphSession } from './session';
import { GivenUp, Waiting } from './waiting';
import type { Cell } from './words';

export interface HeapTreeEvents<N> extends Omit<LazyRowsEvents<N, LazyAnswer<N>>, 'failed'> {
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
  /** The pane whose open rows are kept with the view's state; none for rows of answers that pass. */
  readonly keptFor?: PaneId;
}

export class HeapTree<N> {
  private readonly tree: LazyTree<N, LazyAnswer<N>>;
  private readonly rows: LazyRows<N, LazyAnswer<N>>;
  /** What is shown in place of the rows. */
  private readonly none = signal('');
  /** Whether the first rows are under way, or were given up. */
  private readonly first = signal<'asked' | 'here' | 'cancelled'>('here');
  /** A node to open once it is here. */
  private wanted: string | null = null;
  private columns: readonly GridColumn[] = [];
  private asked: Pending<LazyAnswer<N>> | null = null;

  constructor(
    label: string,
    private readonly context: GraphSession,
    private readonly events: HeapTreeEvents<N>,
  ) {
    this.rows = new LazyRows(
      {
        ...events,
        ask: (node, offset, limit) => {
          const asked = events.ask(node, offset, limit);
          return node === null && offset === 0 ? this.watched(asked) : asked;
        },
        failed: (error) => context.failed(error),
      },
      this.remembering(),
    );
    this.tree = new LazyTree(label, this.rows, {
      ...events,
      cells: ({ node }) => events.cells(node).map(({ parts }) => parts),
      isSelected: ({ node }) => events.isSelected(node),
      pick: ({ node }, opened, beside) => events.pick(node, opened, beside),
      menu: ({ node }) => this.menu(node),
      changed: () => {
        const { latest, rows } = this.rows;
        this.none.value = latest?.children === 0 && rows.length === 0 ? events.empty() : '';
        if (this.wanted !== null && rows.length > 0) this.reveal(this.wanted);
      },
    });
  }

  /** The table on the screen. */
  readonly View = ({ hidden = false }: { readonly hidden?: boolean }): VNode => (
    <div class="heap-tree" hidden={hidden}>
      <this.tree.View />
      <p class="muted heap-none" role="status" hidden={this.none.value === ''}>
        {this.none}
      </p>
      {this.first.value === 'asked' && (
        <Waiting
          text={t('Working…')}
          done={this.asked?.done?.value ?? null}
          cancel={() => {
            this.rows.cancel();
            this.first.value = 'cancelled';
          }}
        />
      )}
      {this.first.value === 'cancelled' && <GivenUp again={() => this.rows.reset()} />}
    </div>
  );

  show(label: string, columns: readonly GridColumn[]): void {
    this.columns = columns;
    this.tree.show(columns, label);
    this.rows.latest = null;
    this.none.value = '';
    this.rows.reset();
  }

  /** Opens a node of the first level, now or once its rows are here. */
  reveal(id: string): void {
    this.wanted = null;
    if (!this.tree.reveal(id)) this.wanted = id;
  }

  redraw(): void {
    this.tree.redraw();
  }

  /** The button that copies what is shown. */
  readonly CopyButton = ({ hidden = false }: { readonly hidden?: boolean }): VNode | null =>
    hidden ? null : (
      <IconButton
        icon="copy"
        label={t('Copy Table')}
        press={() => this.context.copy(copyTable(this.copied(this.tree.nodes)))}
      />
    );

  dispose(): void {
    this.rows.cancel();
    this.first.value = 'here';
  }

  /** Rows that were open open again: after other rows were asked for, and in another session. */
  private remembering(): LazyRowsOptions<N> {
    const { context, events } = this;
    const { keptFor: pane } = events;
    if (pane === undefined) return {};
    return {
      key: (node) => events.id(node),
      chains: true,
      kept: {
        opened: context.state.opened[pane] ?? [],
        keep: (opened) => context.keep({ opened: { ...context.state.opened, [pane]: opened } }),
      },
    };
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

  private copied(nodes: readonly N[]): CopiedTable {
    return {
      heads: this.columns.map(({ name }) => name),
      rows: nodes.map((node) => this.events.cells(node).map(({ copied }) => copied)),
    };
  }

  private menu(node: N): readonly MenuEntry[] {
    const own = this.events.menu(node);
    const copy = copyItems(this.context.api, this.events.copied(node), {
      one: () => this.copied([node]),
      all: () => this.copied(this.tree.nodes),
    });
    // nothing stands above the line that these begin with
    return own.length > 0 ? [...own, ...copy] : copy.slice(1);
  }
}

/** A pane of one table, with its controls before the button that copies it. */
export function treePane<N>(
  { title, update }: Pick<Pane, 'update'> & { readonly title: string },
  tree: HeapTree<N>,
  Controls: ComponentType = () => null,
): Pane {
  return {
    update,
    View: (room: PaneRoom) => (
      <section {...room} class="pane">
        <tree.View />
      </section>
    ),
    Bar: ({ hidden }: BarRoom) => (
      <Bar class="heap-bar" label={title} hidden={hidden}>
        <Controls />
        <tree.CopyButton />
      </Bar>
    ),
    dispose: () => tree.dispose(),
  };
}
