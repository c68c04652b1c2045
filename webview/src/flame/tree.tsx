// The call tree as a table whose rows open: the form of the flame graph for keyboards and screen readers.

import type { FlameChildrenAnswer, FlameNode } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { figure } from '../base/figure';
import { count } from '../base/format';
import { t } from '../base/l10n';
import type { KeptAttribution } from '../shell/attribution';
import { element, setLabel } from '../widgets/dom';
import type { MenuEntry } from '../widgets/menu';
import { LazyRows, type NodeRow } from '../widgets/lazy-rows';
import { TreeGrid, type GridCell, type GridColumn, type GridRow } from '../widgets/tree-grid';
import { comparedCells, isCharged, nameCell, shareCell, sizeCell } from './cells';
import type { Sided } from './difference';
import type { Places } from './words';

export interface FlameTreeEvents {
  ask(node: number, offset: number, limit: number): Pending<FlameChildrenAnswer>;
  selected(node: FlameNode): void;
  open(node: FlameNode, beside: boolean): void;
  menu(node: FlameNode): readonly MenuEntry[];
  /** A key that is not the table's own; true when it was taken. */
  key(event: KeyboardEvent): boolean;
  failed(error: unknown): void;
}

export interface FlameTreeOptions {
  /** With a few columns, the first of which says what the tree is. */
  readonly narrow?: boolean;
  /** What its rows have two sides of; null where they have one. */
  readonly sided?: () => Sided | null;
  /** By which rule rows have something of their own, where a column shows it. */
  readonly attribution?: Pick<KeptAttribution, 'rule'> | null;
}

const NAME = 'minmax(110px, 1fr)';
/** Of the tree beside a table there is room for so many. */
const FEW = 3;

export class FlameTree {
  readonly root: HTMLElement;
  private readonly grid: TreeGrid;
  private readonly rows: LazyRows<FlameNode, FlameChildrenAnswer>;
  private chosen: NodeRow<FlameNode> | null = null;
  private isCount = false;

  constructor(
    private readonly label: string,
    private readonly events: FlameTreeEvents,
    private readonly places: Places,
    private readonly options: FlameTreeOptions = {},
  ) {
    this.rows = new LazyRows({
      ask: (node, offset, limit) => events.ask(node?.node ?? 0, offset, limit),
      hasChildren: ({ children }) => children > 0,
      changed: (moved) => {
        this.grid.update(moved(this.grid.activeIndex));
      },
      failed: (error) => {
        events.failed(error);
      },
    });
    this.grid = new TreeGrid(label, {
      count: () => this.rows.rows.length,
      row: (index) => this.rowAt(index),
      sort: () => undefined,
      moved: (index) => {
        this.choose(index);
      },
      pick: (index, opened, beside) => {
        const row = this.rows.rows[index];
        if (row?.kind === 'rest') this.rows.more(row);
        else this.choose(index);
        if (opened && row?.kind === 'node') events.open(row.node, beside);
      },
      toggle: (index, open) => {
        const row = this.rows.rows[index];
        if (row?.kind === 'node') this.rows.toggle(row, open);
      },
      parent: (index) => this.rows.parentOf(index),
      menu: (index) => {
        const row = this.rows.rows[index];
        return row?.kind === 'node' ? events.menu(row.node) : [];
      },
      key: (event) => events.key(event),
    });
    this.grid.setColumns(this.columns());
    this.root = element('div', { class: 'flame-tree', hidden: true }, this.grid.root);
  }

  dispose(): void {
    this.rows.cancel();
  }

  redraw(): void {
    this.grid.update();
  }

  show(title: string, isCount: boolean): void {
    setLabel(this.grid.root, title);
    this.isCount = isCount;
    this.grid.setColumns(this.columns());
    this.chosen = null;
    this.rows.reset();
  }

  private columns(): readonly GridColumn[] {
    const { narrow, attribution } = this.options;
    const sided = this.options.sided?.() ?? null;
    const column = (name: string, title: string, width: string, number = true): GridColumn => ({
      ...{ name, title, width, number },
      sort: null,
    });
    const ofItself = (text: string): string => (attribution ? `${text}. ${attribution.rule}` : text);
    const first = column(narrow ? this.label : t('Function'), '', NAME, false);
    if (sided)
      return this.some([
        first,
        column(t('Difference'), t('With all that it calls'), '140px'),
        column(sided.before, t('Inclusive'), '96px'),
        column(sided.after, t('Inclusive'), '96px'),
        column(t('Self'), ofItself(t('The difference of what is charged to it')), '140px'),
      ]);
    return this.some([
      first,
      column(t('Inclusive'), t('With all that it calls'), '84px'),
      column(
        t('Share'),
        narrow
          ? t('Inclusive share of all that goes through the function')
          : t('Inclusive share of the whole'),
        '112px',
      ),
      column(t('Self'), ofItself(t('What is charged to it')), '84px'),
      column(t('Allocations'), t('Inclusive'), '84px'),
    ]);
  }

  private choose(index: number): void {
    const row = this.rows.rows[index];
    if (row?.kind !== 'node' || row === this.chosen) return;
    this.chosen = row;
    this.grid.update();
    this.events.selected(row.node);
  }

  private rowAt(index: number): GridRow {
    const row = this.rows.rows[index];
    if (!row) throw new RangeError(`The tree has no row ${index}`);
    const { level } = row;
    const sided = this.options.sided?.() ?? null;
    if (row.kind === 'rest') {
      const more = <span class="link">{t('{0} more…', count(row.left))}</span>;
      const rest = sided ? null : row.answer;
      const cells = [
        [more],
        rest ? [figure(rest.rest_bytes)] : [],
        [],
        [],
        rest ? [count(rest.rest_count)] : [],
      ];
      return {
        ...{ id: `rest:${row.parent?.node.node ?? 0}`, level, open: null, place: 1, of: 1, selected: false },
        ...{ cells: this.some(cells), class: 'more' },
      };
    }
    const { node, open, place, of } = row;
    return {
      ...{ id: String(node.node), level, open, place, of, class: '' },
      selected: row === this.chosen,
      cells: this.some(sided ? comparedCells(node, this.places, sided) : this.cells(node)),
    };
  }

  private cells(node: FlameNode): readonly GridCell[] {
    const { isCount } = this;
    const { total_count: totalCount = 0, total_bytes: totalBytes = 0 } = this.rows.latest ?? {};
    return [
      nameCell(node.name, this.places, isCharged(node.self_bytes, node.self_sides)),
      [sizeCell(node.bytes)],
      shareCell(isCount ? node.count : node.bytes, isCount ? totalCount : totalBytes),
      [sizeCell(node.self_bytes)],
      [count(node.count)],
    ];
  }

  /** Those that there is room for. */
  private some<T>(cells: readonly T[]): readonly T[] {
    return this.options.narrow ? cells.slice(0, FEW) : cells;
  }
}
