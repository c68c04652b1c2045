// The call tree as a table whose rows open: the form of the flame graph for keyboards and screen readers.

import type { FlameChildrenAnswer, FlameNode } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import type { KeptAttribution } from '../shell/attribution';
import { element, setLabel } from '../widgets/dom';
import { figure } from '../base/figure';
import { count } from '../base/format';
import type { MenuEntry } from '../widgets/menu';
import { LazyRows, type NodeRow } from '../widgets/lazy-rows';
import { TreeGrid, type GridColumn, type GridRow } from '../widgets/tree-grid';
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

const column = (name: string, title: string, width: string, number = true): GridColumn => ({
  ...{ name, title, width, number },
  sort: null,
});
const COLUMNS: readonly GridColumn[] = [
  column('Function', '', 'minmax(110px, 1fr)', false),
  column('Inclusive', 'With all that it calls', '84px'),
  column('Share', 'Inclusive share of the whole', '112px'),
  column('Self', 'What is charged to it', '84px'),
  column('Allocations', 'Inclusive', '84px'),
];
const OF_FUNCTION = 'Inclusive share of all that goes through the function';
const COMPARED: readonly GridColumn[] = [
  column('Function', '', 'minmax(110px, 1fr)', false),
  column('Difference', 'With all that it calls', '140px'),
  column('Before', 'Inclusive', '96px'),
  column('After', 'Inclusive', '96px'),
  column('Self', 'The difference of what is charged to it', '140px'),
];
/** Of the tree beside a table there is room for so many. */
const FEW = 3;

export class FlameTree {
  readonly root: HTMLElement;
  private readonly grid: TreeGrid;
  private readonly rows: LazyRows<FlameNode, FlameChildrenAnswer>;
  /** What the first column of a narrow one is called. */
  private readonly narrow: string | null;
  private chosen: NodeRow<FlameNode> | null = null;
  private isCount = false;

  /** What its rows have two sides of; null where they have one. */
  private readonly sided: () => Sided | null;
  /** By which rule rows have something of their own, where a column shows it. */
  private readonly attribution: Pick<KeptAttribution, 'rule'> | null;

  /** `narrow`: with a few columns, the first of which says what the tree is. */
  constructor(
    label: string,
    private readonly events: FlameTreeEvents,
    private readonly places: Places,
    {
      narrow = false,
      sided = () => null,
      attribution = null,
    }: {
      narrow?: boolean;
      sided?: () => Sided | null;
      attribution?: Pick<KeptAttribution, 'rule'> | null;
    } = {},
  ) {
    this.sided = sided;
    this.attribution = attribution;
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
    this.narrow = narrow ? label : null;
    this.updateColumns();
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
    this.updateColumns();
    this.chosen = null;
    this.rows.reset();
  }

  private updateColumns(): void {
    const rule = this.attribution?.rule;
    const sided = this.sided();
    const sides: Readonly<Record<string, string>> = sided ? { Before: sided.before, After: sided.after } : {};
    this.grid.setColumns(
      this.some(sided ? COMPARED : COLUMNS).map((each, i) => ({
        ...each,
        name: (i === 0 ? this.narrow : null) ?? sides[each.name] ?? each.name,
        title:
          this.narrow !== null && !sided && i === FEW - 1
            ? OF_FUNCTION
            : each.name === 'Self' && rule
              ? `${each.title}. ${rule}`
              : each.title,
      })),
    );
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
    const sided = this.sided();
    if (row.kind === 'rest') {
      const cells = [
        [element('span', { class: 'link' }, `${count(row.left)} more…`)],
        sided ? [] : [figure(row.answer.rest_bytes)],
        [],
      ];
      return {
        ...{ id: `rest:${row.parent?.node.node ?? 0}`, level, open: null, place: 1, of: 1, selected: false },
        ...{ cells: this.some([...cells, [], sided ? [] : [count(row.answer.rest_count)]]), class: 'more' },
      };
    }
    const { node, open, place, of } = row;
    const { isCount } = this;
    const { total_count: totalCount = 0, total_bytes: totalBytes = 0 } = this.rows.latest ?? {};
    const total = isCount ? totalCount : totalBytes;
    return {
      ...{ id: String(node.node), level, open, place, of, class: '' },
      selected: row === this.chosen,
      cells: this.some(
        sided
          ? comparedCells(node, this.places, sided)
          : [
              nameCell(node.name, this.places, isCharged(node.self_bytes, node.self_sides)),
              [sizeCell(node.bytes)],
              shareCell(isCount ? node.count : node.bytes, total),
              [sizeCell(node.self_bytes)],
              [count(node.count)],
            ],
      ),
    };
  }

  /** Those that there is room for. */
  private some<T>(cells: readonly T[]): readonly T[] {
    return this.narrow === null ? cells : cells.slice(0, FEW);
  }
}
