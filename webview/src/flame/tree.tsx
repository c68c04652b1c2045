// The call tree as a table whose rows open: the form of the flame graph for keyboards and screen readers.

import type { VNode } from 'preact';
import type { FlameChildrenAnswer, FlameNode } from '../../../extension/shared/protocol.gen';
import { figure } from '../base/figure';
import { count } from '../base/format';
import { t } from '../base/l10n';
import type { KeptAttribution } from '../shell/attribution';
import { LazyRows, type NodeRow } from '../widgets/lazy-rows';
import { LazyTree } from '../widgets/lazy-tree';
import type { GridCell, GridColumn } from '../widgets/grid';
import { comparedCells, isCharged, nameCell, shareCell, sizeCell } from './cells';
import type { FlameGraph, Opening } from './graph';
import type { TreeParams } from './settings';

export interface FlameTreeOptions {
  /** With a few columns, the first of which says what the tree is. */
  readonly narrow?: boolean;
  /** By which rule rows have something of their own, where a column shows it. */
  readonly attribution?: Pick<KeptAttribution, 'rule'> | null;
}

const NAME = 'minmax(110px, 1fr)';
/** Of the tree beside a table there is room for so many. */
const FEW = 3;

export class FlameTree {
  private readonly tree: LazyTree<FlameNode, FlameChildrenAnswer>;
  private readonly rows: LazyRows<FlameNode, FlameChildrenAnswer>;
  private chosen: NodeRow<FlameNode> | null = null;
  private isCount = false;

  constructor(
    private readonly label: string,
    private readonly graph: FlameGraph,
    /** Which tree it is. */
    params: () => TreeParams,
    private readonly options: FlameTreeOptions = {},
  ) {
    this.rows = new LazyRows({
      ask: (node, offset, limit) => graph.source.children(params(), node?.node ?? 0, offset, limit),
      hasChildren: ({ children }) => children > 0,
      failed: (error) => graph.failed(error),
    });
    const { sided } = graph.question;
    const fetch = ({ node }: FlameNode, opening: Opening): void =>
      graph.selection.fetch(node, opening, params());
    this.tree = new LazyTree(label, this.rows, {
      id: ({ node }) => String(node),
      cells: ({ node }) => {
        const of = sided();
        return this.some(of ? comparedCells(node, graph.places, of) : this.cells(node));
      },
      rest: ({ answer }) =>
        answer && !sided()
          ? this.some([[figure(answer.rest_bytes)], [], [], [count(answer.rest_count)]], 1)
          : [],
      isSelected: (row) => row === this.chosen,
      moved: (row) => this.choose(row, fetch),
      pick: (row, opened, beside) => {
        this.choose(row, fetch);
        if (opened) fetch(row.node, { beside });
      },
      menu: ({ node }) => graph.commands.menu(node.name, () => fetch(node, { beside: false })),
      key: (event) => graph.commands.take(event),
    });
    this.tree.show(this.columns());
  }

  readonly View = ({ hidden = false }: { readonly hidden?: boolean }): VNode => (
    <div class="flame-tree" hidden={hidden}>
      <this.tree.View />
    </div>
  );

  dispose(): void {
    this.rows.cancel();
  }

  redraw(): void {
    this.tree.redraw();
  }

  show(title: string, isCount: boolean): void {
    this.isCount = isCount;
    this.tree.show(this.columns(), title);
    this.chosen = null;
    this.rows.reset();
  }

  private columns(): readonly GridColumn[] {
    const { narrow, attribution } = this.options;
    const sided = this.graph.question.sided();
    const column = (name: string, title: string, width: string, number = true): GridColumn => ({
      name,
      title,
      width,
      number,
      sort: null,
    });
    const ofItself = (text: string): string => (attribution ? `${text}. ${attribution.rule}` : text);
    const first = column(narrow ? this.label : t('Function'), '', NAME, false);
    if (sided)
      return this.some([
        first,
        column(t('Difference'), t('Including all that it calls'), '140px'),
        column(sided.before, t('Inclusive'), '96px'),
        column(sided.after, t('Inclusive'), '96px'),
        column(t('Self'), ofItself(t('The difference of what is charged to it')), '140px'),
      ]);
    return this.some([
      first,
      column(t('Inclusive'), t('Including all that it calls'), '84px'),
      column(
        t('Share'),
        narrow
          ? t('Inclusive share of all that goes through the function')
          : t('Inclusive share of the whole'),
        '112px',
      ),
      column(t('Self'), ofItself(t('What is charged to it')), '84px'),
      column(t('Allocations'), t('Inclusive'), '128px'),
    ]);
  }

  private choose(row: NodeRow<FlameNode>, fetch: (node: FlameNode, opening: Opening) => void): void {
    if (row === this.chosen) return;
    this.chosen = row;
    this.tree.redraw();
    fetch(row.node, null);
  }

  private cells(node: FlameNode): readonly GridCell[] {
    const { isCount } = this;
    const { total_count: totalCount = 0, total_bytes: totalBytes = 0 } = this.rows.latest ?? {};
    return [
      nameCell(node.name, this.graph.places, isCharged(node.self_bytes, node.self_sides)),
      [sizeCell(node.bytes)],
      shareCell(isCount ? node.count : node.bytes, isCount ? totalCount : totalBytes),
      [sizeCell(node.self_bytes)],
      [count(node.count)],
    ];
  }

  /** Those that there is room for. */
  private some<T>(cells: readonly T[], from = 0): readonly T[] {
    return this.options.narrow ? cells.slice(0, FEW - from) : cells;
  }
}
