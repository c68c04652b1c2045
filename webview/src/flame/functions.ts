// The functions of the whole set, the hot spots: what each allocated itself, and with all that it called.

import type { FlameFunction, FlameFunctionsAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewParams } from '../../../extension/shared/messages';
import type { Pending } from '../api';
import type { KeptAttribution } from '../shell/attribution';
import { Latest } from '../base/latest';
import { element, setLabel } from '../widgets/dom';
import { count } from '../base/format';
import type { MenuEntry } from '../widgets/menu';
import { TreeGrid, type GridRow } from '../widgets/tree-grid';
import { changeCell, isCharged, nameCell, shareCell, sizeCell } from './cells';
import { countText, type Sided } from './difference';
import type { Places } from './words';

export type FunctionOrder = ViewParams<'memlens/flameFunctions'>['order'];

export interface FunctionsEvents {
  ask(order: FunctionOrder, reverse: boolean, offset: number, limit: number): Pending<FlameFunctionsAnswer>;
  chosen(row: FlameFunction, opening: { beside: boolean } | null): void;
  menu(row: FlameFunction): readonly MenuEntry[];
  key(event: KeyboardEvent): boolean;
  failed(error: unknown): void;
}

const PAGE = 200;
const COLUMNS: readonly { name: string; title: string; width: string; order: FunctionOrder | null }[] = [
  { name: 'Function', title: 'Sort by name', width: 'minmax(140px, 1fr)', order: 'name' },
  { name: 'Self', title: 'What is charged to it', width: '84px', order: 'self' },
  { name: 'Share', title: 'Own share of the whole', width: '112px', order: null },
  {
    name: 'Inclusive',
    title: 'With all that it calls; recursion counts once',
    width: '84px',
    order: 'inclusive',
  },
  { name: 'Share', title: 'Inclusive share of the whole', width: '112px', order: null },
  { name: 'Allocations', title: 'Inclusive', width: '128px', order: null },
];

const ALL_COLUMNS = COLUMNS.map((_, i) => i);
/** Beside the trees of a function there is room for name, self and inclusive. */
const FEW_COLUMNS = [0, 1, 3];

export class FlameFunctions {
  readonly root: HTMLElement;
  private readonly grid: TreeGrid;
  private rows: FlameFunction[] = [];
  private found: FlameFunctionsAnswer | null = null;
  private readonly latest = new Latest();
  /** Which of the columns are shown. */
  private shown = ALL_COLUMNS;
  private order: FunctionOrder = 'self';
  private reverse = false;
  private isCount = false;
  private chosen: number | null = null;

  constructor(
    private readonly events: FunctionsEvents,
    private readonly places: Places,
    private readonly attribution: Pick<KeptAttribution, 'rule'>,
    private readonly sided: () => Sided | null,
  ) {
    this.grid = new TreeGrid('Functions', {
      count: () => this.rows.length + (this.left > 0 ? 1 : 0),
      row: (index) => this.rowAt(index),
      sort: (column) => {
        const order = COLUMNS[this.shown[column] ?? 0]?.order ?? null;
        if (order === null) return;
        this.reverse = order === this.order && !this.reverse;
        this.order = order;
        this.updateColumns();
        this.fetch(0);
      },
      pick: (index, opened, beside) => {
        const row = this.rows[index];
        if (row) events.chosen(row, opened ? { beside } : null);
        else this.fetch(this.rows.length);
      },
      toggle: () => undefined,
      parent: () => -1,
      menu: (index) => {
        const row = this.rows[index];
        return row ? events.menu(row) : [];
      },
      key: (event, index) => {
        const row = this.rows[index];
        if (event.key === 'w' && row) {
          events.chosen(row, null);
          return true;
        }
        return events.key(event);
      },
    });
    this.updateColumns();
    this.root = element('div', { class: 'flame-functions' }, this.grid.root);
  }

  show(title: string, isCount: boolean): void {
    setLabel(this.grid.root, title);
    this.isCount = isCount;
    this.updateColumns();
    this.rows = [];
    this.found = null;
    this.fetch(0);
  }

  /** Which function the trees beside are about, by the number of its name. */
  choose(name: number | null): void {
    this.chosen = name;
    const shown = name === null ? ALL_COLUMNS : FEW_COLUMNS;
    if (shown !== this.shown) {
      this.shown = shown;
      this.root.classList.toggle('few', shown === FEW_COLUMNS);
      this.updateColumns();
    }
    this.grid.update();
  }

  redraw(): void {
    this.grid.update();
  }

  dispose(): void {
    this.latest.cancel();
  }

  private get left(): number {
    return (this.found?.functions ?? 0) - this.rows.length;
  }

  private fetch(offset: number): void {
    this.latest.ask(
      this.events.ask(this.order, this.reverse, offset, PAGE),
      (answer) => {
        this.found = answer;
        this.rows = offset === 0 ? answer.rows : [...this.rows, ...answer.rows];
        this.grid.update(offset);
      },
      (error) => {
        this.events.failed(error);
      },
    );
  }

  private updateColumns(): void {
    this.grid.setColumns(
      this.some(COLUMNS).map(({ name, title, width, order }, i) => {
        // Figures come largest first, names from A on.
        const way = (order !== 'name') !== this.reverse ? 'descending' : 'ascending';
        const whole = name === 'Self' ? `${title}. ${this.attribution.rule}` : title;
        return {
          name,
          title: whole,
          // a change has an arrow and a sign before its figure
          width: this.sided() && (order === 'self' || order === 'inclusive') ? '128px' : width,
          number: i > 0,
          sort: order && (order === this.order ? way : 'none'),
        };
      }),
    );
  }

  private some<T>(columns: readonly T[]): T[] {
    return columns.filter((_, i) => this.shown.includes(i));
  }

  private rowAt(index: number): GridRow {
    const row = this.rows[index];
    const of = this.found?.functions ?? 0;
    const same = { level: 0, open: null, place: index + 1, of };
    if (!row) {
      const more = element('span', { class: 'link' }, `${count(this.left)} more…`);
      return {
        ...same,
        id: 'more',
        selected: false,
        class: 'more',
        cells: this.shown.map((i) => (i === 0 ? [more] : [])),
      };
    }
    const { isCount } = this;
    const sided = this.sided();
    const total = (isCount ? this.found?.total_count : this.found?.total_bytes) ?? 0;
    return {
      ...{ ...same, id: String(row.name.name), class: '' },
      selected: row.name.name === this.chosen,
      cells: this.some<GridRow['cells'][number]>([
        nameCell(row.name, this.places, isCharged(row.self_bytes, row.self_sides)),
        sided ? changeCell(row.self_sides, sided) : [sizeCell(row.self_bytes)],
        shareCell(isCount ? row.self_count : row.self_bytes, total),
        sided ? changeCell(row.sides, sided) : [sizeCell(row.bytes)],
        shareCell(isCount ? row.count : row.bytes, total),
        [countText(row.count, sided ? row.sides : null)],
      ]),
    };
  }
}
