// The functions of the whole set, the hot spots: what each allocated itself, and with all that it called.

import type { FlameFunction, FlameFunctionsAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewParams } from '../../../extension/shared/messages';
import type { Pending } from '../api';
import type { KeptAttribution } from '../shell/attribution';
import { Latest } from '../base/latest';
import { count } from '../base/format';
import { t } from '../base/l10n';
import { element, setLabel } from '../widgets/dom';
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
/** Where the columns stand that there is room for beside the trees of a function: name, self and inclusive. */
const FEW_COLUMNS = [0, 1, 3];

interface Column {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly order: FunctionOrder | null;
}

export class FlameFunctions {
  readonly root: HTMLElement;
  private readonly grid: TreeGrid;
  private rows: FlameFunction[] = [];
  private found: FlameFunctionsAnswer | null = null;
  private readonly latest = new Latest();
  /** Only a few of the columns are shown. */
  private few = false;
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
    this.grid = new TreeGrid(t('Functions'), {
      count: () => this.rows.length + (this.left > 0 ? 1 : 0),
      row: (index) => this.rowAt(index),
      sort: (column) => {
        const order = this.some(this.columns())[column]?.order ?? null;
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
    const few = name !== null;
    if (few !== this.few) {
      this.few = few;
      this.root.classList.toggle('few', few);
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

  private columns(): readonly Column[] {
    // a change has an arrow and a sign before its figure
    const figureWidth = this.sided() ? '128px' : '84px';
    return [
      { name: t('Function'), title: t('Sort by name'), width: 'minmax(140px, 1fr)', order: 'name' },
      {
        ...{ name: t('Self'), width: figureWidth, order: 'self' },
        title: `${t('What is charged to it')}. ${this.attribution.rule}`,
      },
      { name: t('Share'), title: t('Own share of the whole'), width: '112px', order: null },
      {
        ...{ name: t('Inclusive'), width: figureWidth, order: 'inclusive' },
        title: t('With all that it calls; recursion counts once'),
      },
      { name: t('Share'), title: t('Inclusive share of the whole'), width: '112px', order: null },
      { name: t('Allocations'), title: t('Inclusive'), width: '128px', order: null },
    ];
  }

  private updateColumns(): void {
    this.grid.setColumns(
      this.some(this.columns()).map(({ order, ...column }, i) => {
        // Figures come largest first, names from A on.
        const way = (order !== 'name') !== this.reverse ? 'descending' : 'ascending';
        return { ...column, number: i > 0, sort: order && (order === this.order ? way : 'none') };
      }),
    );
  }

  private some<T>(columns: readonly T[]): T[] {
    return columns.filter((_, i) => !this.few || FEW_COLUMNS.includes(i));
  }

  private rowAt(index: number): GridRow {
    const row = this.rows[index];
    const of = this.found?.functions ?? 0;
    const same = { level: 0, open: null, place: index + 1, of };
    if (!row) {
      const more = [<span class="link">{t('{0} more…', count(this.left))}</span>];
      return {
        ...same,
        id: 'more',
        selected: false,
        class: 'more',
        cells: this.some(this.columns()).map((_, i) => (i === 0 ? more : [])),
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
