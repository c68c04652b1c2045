// The functions of the whole set, the hot spots: what each allocated itself, and with all that it called.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FlameFunction, FlameFunctionsAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewParams } from '../../../extension/shared/messages';
import { turned } from '../base/latest';
import { t } from '../base/l10n';
import { LazyRows, type LazyAnswer } from '../widgets/lazy-rows';
import { LazyTree } from '../widgets/lazy-tree';
import type { GridCell } from '../widgets/grid';
import { changeCell, isCharged, nameCell, shareCell, sizeCell } from './cells';
import { countText } from './difference';
import type { FlameGraph, Opening } from './graph';

type Functions = FlameFunctionsAnswer & LazyAnswer<FlameFunction>;

export type FunctionOrder = ViewParams<'memlens/flameFunctions'>['order'];

const PAGE = 200;
/** Where the columns stand that there is room for beside the trees of a function: name, self and inclusive. */
const FEW_COLUMNS = [0, 1, 3];

interface Column {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly order: FunctionOrder | null;
}

export class FlameFunctions {
  private readonly tree: LazyTree<FlameFunction, Functions>;
  private readonly rows: LazyRows<FlameFunction, Functions>;
  /** Only a few of the columns are shown. */
  private readonly few = signal(false);
  private order: FunctionOrder = 'self';
  private reverse = false;
  private isCount = false;
  private chosen: number | null = null;

  constructor(private readonly graph: FlameGraph) {
    this.rows = new LazyRows<FlameFunction, Functions>(
      {
        ask: (_, offset, limit) => {
          const { order, reverse } = this;
          const { params } = graph.question;
          const asked = graph.source.functions(
            // from the bottom up the outermost caller would be what has a value of its own
            { ...params, options: { ...params.options, direction: 'top_down' } },
            { order, reverse, offset, limit },
          );
          return turned(asked, (answer) => ({ ...answer, offset, children: answer.functions }));
        },
        hasChildren: () => false,
        failed: (error) => graph.failed(error),
      },
      { page: PAGE },
    );
    const turn = ({ name }: FlameFunction, opening: Opening): void =>
      graph.selection.turnSandwich(name, opening);
    this.tree = new LazyTree(t('Functions'), this.rows, {
      id: ({ name }) => String(name.name),
      cells: ({ node }) => this.some(this.cells(node)),
      isSelected: ({ node }) => node.name.name === this.chosen,
      sort: (column) => {
        const order = this.some(this.columns())[column]?.order ?? null;
        if (order === null) return;
        this.reverse = order === this.order && !this.reverse;
        this.order = order;
        this.updateColumns();
        this.rows.reset();
      },
      pick: ({ node }, opened, beside) => turn(node, opened ? { beside } : null),
      menu: ({ node }) => graph.commands.menu(node.name, () => turn(node, { beside: false })),
      key: (event, node) => {
        if (event.key === 'w' && node) {
          turn(node, null);
          return true;
        }
        return graph.commands.take(event);
      },
    });
    this.updateColumns();
  }

  readonly View = (): VNode => (
    <div class={this.few.value ? 'flame-functions few' : 'flame-functions'}>
      <this.tree.View />
    </div>
  );

  show(title: string, isCount: boolean): void {
    this.isCount = isCount;
    this.updateColumns(title);
    this.rows.reset();
  }

  /** Which function the trees beside are about, by the number of its name. */
  choose(name: number | null): void {
    this.chosen = name;
    const few = name !== null;
    if (few !== this.few.value) {
      this.few.value = few;
      this.updateColumns();
    }
    this.tree.redraw();
  }

  redraw(): void {
    this.tree.redraw();
  }

  dispose(): void {
    this.rows.cancel();
  }

  private columns(): readonly Column[] {
    // a change has an arrow and a sign before its figure
    const figureWidth = this.graph.question.sided() ? '128px' : '84px';
    return [
      { name: t('Function'), title: t('Sort by name'), width: 'minmax(140px, 1fr)', order: 'name' },
      {
        name: t('Self'),
        width: figureWidth,
        order: 'self',
        title: `${t('What is charged to it')}. ${this.graph.context.attribution.rule}`,
      },
      { name: t('Share'), title: t('Own share of the whole'), width: '112px', order: null },
      {
        name: t('Inclusive'),
        width: figureWidth,
        order: 'inclusive',
        title: t('Including all that it calls; recursion counts once'),
      },
      { name: t('Share'), title: t('Inclusive share of the whole'), width: '112px', order: null },
      { name: t('Allocations'), title: t('Inclusive'), width: '128px', order: null },
    ];
  }

  private updateColumns(title?: string): void {
    this.tree.show(
      this.some(this.columns()).map(({ order, ...column }, i) => {
        // Figures come largest first, names from A on.
        const way = (order !== 'name') !== this.reverse ? 'descending' : 'ascending';
        return { ...column, number: i > 0, sort: order && (order === this.order ? way : 'none') };
      }),
      title,
    );
  }

  private some<T>(columns: readonly T[]): T[] {
    return columns.filter((_, i) => !this.few.value || FEW_COLUMNS.includes(i));
  }

  private cells(row: FlameFunction): readonly GridCell[] {
    const { isCount } = this;
    const sided = this.graph.question.sided();
    const total = (isCount ? this.rows.latest?.total_count : this.rows.latest?.total_bytes) ?? 0;
    return [
      nameCell(row.name, this.graph.places, isCharged(row.self_bytes, row.self_sides)),
      sided ? changeCell(row.self_sides, sided) : [sizeCell(row.self_bytes)],
      shareCell(isCount ? row.self_count : row.self_bytes, total),
      sided ? changeCell(row.sides, sided) : [sizeCell(row.bytes)],
      shareCell(isCount ? row.count : row.bytes, total),
      [countText(row.count, sided ? row.sides : null)],
    ];
  }
}
