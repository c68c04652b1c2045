// The live set: what is in the set, as a tree of groups down to single allocations, or as a plain list.

import type { ViewParams, ViewResult } from '../../../extension/shared/messages';
import type { AllocationSummary, Branch, Frame } from '../../../extension/shared/protocol.gen';
import { RequestError, type Pending } from '../api';
import type { Attribution } from '../shell/attribution';
import type { Change, ViewContext } from '../shell/context';
import { copyItems, type CopiedCell, type CopiedTable } from '../widgets/copy';
import { allBut, both } from '../shell/filter-terms';
import { categoriesOf, MODELS } from '../shell/model';
import { css, type Rgb } from '../canvas/colour';
import type { Choice } from '../widgets/choice';
import { element, iconButton } from '../widgets/dom';
import { countedFigure, countsTitle, exactFigure, figure, figureHead, isCount } from '../base/figure';
import {
  bytes,
  categoryName,
  codeClass,
  count,
  counted,
  hasSource,
  nameOf,
  share,
  stateName,
  time,
} from '../base/format';
import type { MenuEntry } from '../widgets/menu';
import { shorten } from '../base/text';
import { TreeGrid, type GridColumn, type GridRow } from '../widgets/tree-grid';
import type { Pane } from '../shell/pane';
import { groupColumns, NAME, type Column } from './columns';
import { Controls, kindsFor } from './controls';
import { restoreSettings } from './settings';
import {
  parentOf,
  Tree,
  type AllocationRow,
  type GroupKind,
  type GroupOrder,
  type GroupRow,
  type MemberOrder,
  type MoreRow,
  type Row,
} from './tree';

const PLAIN: readonly Column<MemberOrder>[] = [
  { name: 'Line of code', title: 'Sort by when it was allocated', width: NAME, order: 'start' },
  { name: 'Size', title: 'Requested bytes', width: '92px', order: 'size' },
  { name: 'Share', title: 'Share of the set’s bytes', width: 'minmax(96px, 180px)', order: null },
  { name: 'Lifetime', title: 'How long it was held, as far as the file says', width: '92px', order: 'life' },
  { name: 'Address', title: 'Sort by address', width: '130px', order: 'address' },
  { name: 'State', title: 'What became of it', width: '190px', order: null },
];
const CATEGORY: Column<MemberOrder> = { name: 'Category', title: '', width: '120px', order: null };

class LiveSet {
  readonly root: HTMLElement;
  private readonly controls: Controls;
  private readonly attribution: Choice<Attribution>;
  private readonly grid: TreeGrid;
  private readonly tree: Tree;
  private by: readonly GroupKind[];
  private narrow = '';
  private groupOrder: GroupOrder;
  private memberOrder: MemberOrder;
  private descending: boolean;
  private pending: Pending<unknown>[] = [];
  /** The row whose allocations are lit in the picture. */
  private lit: { readonly id: string; readonly branch: Branch } | null = null;

  constructor(private readonly context: ViewContext) {
    const kept = restoreSettings(context.api.saved()?.kept?.liveSet);
    const kinds = kindsFor(context.info);
    this.by = kept.by.filter((kind) => kinds.includes(kind));
    if (!MODELS[context.info.model].hasAllocations && this.by.length === 0) this.by = ['line'];
    this.groupOrder = kept.groupOrder;
    this.memberOrder = kept.memberOrder;
    this.descending = kept.descending;
    this.tree = new Tree({
      groups: (path, offset, limit) =>
        this.ask('memlens/groups', {
          branch: this.branch(path),
          order: this.groupOrder,
          descending: this.descending,
          offset,
          limit,
        }),
      members: async (path, offset, limit) => {
        const answer = await this.ask('memlens/members', {
          branch: this.branch(path),
          order: this.by.length === 0 ? this.memberOrder : 'size',
          descending: this.by.length === 0 ? this.descending : true,
          offset,
          limit,
        });
        context.names.learn(answer.rows);
        return answer;
      },
      changed: () => {
        this.draw();
      },
    });
    this.attribution = context.attribution.choice();
    this.controls = new Controls(kinds, this.by, this.attribution, {
      grouped: (by) => {
        this.by = by;
        this.groupOrder = 'bytes';
        this.memberOrder = 'size';
        this.descending = true;
        this.keep();
        this.updateColumns();
        this.drop();
        this.tree.regroup(by.length);
      },
      narrowed: (filter) => {
        if (filter === this.narrow) return;
        this.narrow = filter;
        this.reload();
      },
    });
    this.by = this.controls.by;
    this.grid = new TreeGrid('The live set', {
      count: () => this.tree.rows().length,
      row: (index) => this.rowAt(index),
      sort: (column) => {
        this.sort(column);
      },
      pick: (index, opened) => {
        this.pick(index, opened);
      },
      toggle: (index, open) => {
        const row = this.tree.rows()[index];
        if (row?.kind === 'group') this.tree.setOpen(row, open);
      },
      parent: (index) => parentOf(this.tree.rows(), index),
      menu: (index) => this.menu(index),
      pointed: (index) => {
        const row = index === null ? undefined : this.tree.rows()[index];
        this.context.pointAt(row?.kind === 'group' ? this.branch(row.path) : null);
      },
      key: (event, index) => this.key(event, index),
    });
    this.updateColumns();
    this.root = element('section', { class: 'live-set' }, this.grid.root);
  }

  get bar(): HTMLElement {
    return this.controls.root;
  }

  groupBy(kind: GroupKind): void {
    this.controls.set(kind);
  }

  /** What is measured may be another value, or a stretch of the run; the heads say so. */
  renew(): void {
    this.attribution.set(this.context.attribution.value);
    this.updateColumns();
    this.reload();
  }

  reload(): void {
    // What is lit up is of the set as it was.
    if (this.isLit) this.context.lightStacks(new Set());
    this.drop();
    this.tree.reset(this.by.length);
  }

  draw(): void {
    if (!this.isLit) this.lit = null;
    const { totals } = this.tree;
    const [first] = this.tree.rows();
    const failed = first?.kind === 'more' ? first.message : '';
    this.controls.showStatus(failed === '' ? this.summary(totals) : '', failed);
    this.grid.update();
  }

  dispose(): void {
    this.drop();
  }

  /** Whether the picture shows what was lit up here, and nothing else since. */
  private get isLit(): boolean {
    const { highlight } = this.context;
    return this.lit !== null && highlight.kind === 'group' && highlight.branch === this.lit.branch;
  }

  private summary(totals: Tree['totals']): string {
    if (!totals) return 'Fetching…';
    const what = countedAnd(totals.count, totals.bytes);
    const groups = totals.groups === null ? '' : ` in ${counted(totals.groups, this.groupNoun)}`;
    const rule = this.controls.chargesPlaces ? `, by ${this.context.attribution.name}` : '';
    return `${this.context.filter === '' ? '' : 'Filtered: '}${what}${groups}${rule}`;
  }

  /** What a row is. */
  private get groupNoun(): string {
    const [kind] = this.by;
    return kind === 'category' ? 'group' : (kind ?? 'group');
  }

  private branch(path: readonly number[]): Branch {
    return {
      ...{ of: this.context.set, by: [...this.by], path: [...path], narrow: this.narrow },
      attribution: this.context.attribution.value,
    };
  }

  private async ask<M extends 'memlens/groups' | 'memlens/members'>(
    method: M,
    params: ViewParams<M>,
  ): Promise<ViewResult<M>> {
    const pending = this.context.api.request(method, params);
    this.pending.push(pending);
    try {
      return await pending.answer;
    } catch (error) {
      if (error instanceof RequestError) throw new Error(sentence(error), { cause: error });
      throw error;
    } finally {
      this.pending = this.pending.filter((each) => each !== pending);
    }
  }

  private drop(): void {
    for (const pending of this.pending) pending.cancel();
    this.pending = [];
  }

  // --- columns and rows --------------------------------------------------------------------------------------------

  private get traits(): (typeof MODELS)['timeline'] {
    return MODELS[this.context.info.model];
  }

  private get plainColumns(): readonly Column<MemberOrder>[] {
    return categoriesOf(this.context.info).length > 0 ? [...PLAIN, CATEGORY] : PLAIN;
  }

  private get groupColumns(): readonly Column<GroupOrder>[] {
    const { info, setName, attribution } = this.context;
    return groupColumns(info, setName, attribution.rule);
  }

  private updateColumns(): void {
    const grouped = this.by.length > 0;
    const columns: readonly Column<string>[] = grouped ? this.groupColumns : this.plainColumns;
    const current = grouped ? this.groupOrder : this.memberOrder;
    this.grid.setColumns(
      columns.map(({ name, title, width, order }, i): GridColumn => {
        const way = this.descending ? 'descending' : 'ascending';
        const sort = order === null ? null : order === current ? way : 'none';
        return { name, title, width, number: i > 0 && name !== 'State' && name !== 'Category', sort };
      }),
    );
  }

  private sort(column: number): void {
    if (this.by.length > 0) {
      const order = this.groupColumns[column]?.order ?? null;
      if (order === null) return;
      this.descending = order === this.groupOrder ? !this.descending : order !== 'name';
      this.groupOrder = order;
    } else {
      const order = this.plainColumns[column]?.order ?? null;
      if (order === null) return;
      this.descending = order === this.memberOrder ? !this.descending : order === 'size' || order === 'life';
      this.memberOrder = order;
    }
    this.keep();
    this.updateColumns();
    this.reload();
  }

  private keep(): void {
    const { by, groupOrder, memberOrder, descending } = this;
    this.context.api.keep({ liveSet: { by, groupOrder, memberOrder, descending } });
  }

  private rowAt(index: number): GridRow {
    const row = this.tree.rows()[index];
    if (!row) throw new RangeError(`The tree has no row ${index}`);
    const { id, level } = row;
    if (row.kind === 'more') return { ...this.moreRow(row), id, level };
    const { place, of } = row;
    if (row.kind === 'allocation') {
      const selected = row.allocation.allocation === this.context.selected;
      const cells = this.by.length > 0 ? this.leafCells(row) : this.plainCells(row.allocation);
      return { id, level, place, of, selected, open: null, cells, class: 'leaf' };
    }
    const cells = this.groupCells(row);
    return {
      id,
      level,
      place,
      of,
      selected: this.lit?.id === id,
      open: this.isLast(row) ? null : row.open,
      cells,
      class: 'group',
    };
  }

  /** Whether nothing can be listed in a group: a profile has no single allocations. */
  private isLast(row: GroupRow): boolean {
    return !this.traits.hasAllocations && row.path.length >= this.by.length;
  }

  private moreRow(row: MoreRow): Omit<GridRow, 'id' | 'level'> {
    const text =
      row.message !== ''
        ? row.message
        : row.waiting
          ? 'Fetching…'
          : `Show more (${count(row.left ?? 0)} left)`;
    const cell = row.message === '' && !row.waiting ? element('span', { class: 'link' }, text) : text;
    return { place: 1, of: 1, selected: false, open: null, cells: [[cell]], class: 'more' };
  }

  /** The colour that the picture has for a group; nothing where it isn't grouped by the same. */
  private groupSwatch({ group, level }: GroupRow): HTMLElement[] {
    const [kind] = this.by;
    const colour = level === 0 && kind ? this.context.colourOfGroup(group, kind) : null;
    return colour ? [swatchOf(colour)] : [];
  }

  private groupCells(row: GroupRow): GridRow['cells'] {
    const { group, id } = row;
    const label = shorten(group.name, 90);
    const name = hasSource(group.place)
      ? element(
          'bdi',
          { class: 'code place-link', title: `Open ${shorten(group.place.file, 300)}:${group.place.line}` },
          label,
        )
      : element('bdi', { class: group.place === null ? '' : 'code' }, label);
    const detail = group.detail === '' ? '' : element('bdi', { class: 'muted' }, shorten(group.detail, 90));
    return [
      [...this.groupSwatch(row), name, detail, ...this.filterButton(group.filter, id)],
      [sized(group.bytes)],
      this.shareCell(group.bytes),
      [group.count === null ? '–' : count(group.count)],
      [group.largest_bytes === null ? '–' : sized(group.largest_bytes)],
    ];
  }

  private leafCells({ allocation }: AllocationRow): GridRow['cells'] {
    const life = allocation.lifetime_us === null ? '' : `held ${time(allocation.lifetime_us)}, `;
    const detail = element('span', { class: 'muted' }, life + stateOf(allocation));
    return [
      [this.swatch(allocation), `Allocation ${count(allocation.allocation)}`, detail],
      [sized(allocation.size_bytes)],
      this.shareCell(allocation.size_bytes),
      [],
      [],
    ];
  }

  private plainCells(allocation: AllocationSummary): GridRow['cells'] {
    const { title, place } = nameOf(allocation);
    const cells: (readonly (Node | string)[])[] = [
      [
        this.swatch(allocation),
        element('bdi', { class: codeClass(allocation) }, shorten(title, 70)),
        place === null
          ? ''
          : element(
              'bdi',
              { class: 'place place-link', title: `Open ${shorten(place, 300)}` },
              shorten(place, 60),
            ),
      ],
      [sized(allocation.size_bytes)],
      this.shareCell(allocation.size_bytes),
      [allocation.lifetime_us === null ? '–' : time(allocation.lifetime_us)],
      [element('span', { class: 'code' }, allocation.address)],
      [stateOf(allocation)],
    ];
    if (categoriesOf(this.context.info).length > 0)
      cells.push([allocation.category === null ? '–' : shorten(categoryName(allocation.category), 40)]);
    return cells;
  }

  private swatch(allocation: AllocationSummary): HTMLElement {
    return swatchOf(this.context.colourOf(allocation));
  }

  private shareCell(part: number): readonly (Node | string)[] {
    const whole = this.tree.totals?.bytes ?? 0;
    const bar = element('span', { class: 'share-bar', attributes: { 'aria-hidden': 'true' } });
    bar.style.setProperty('--share', whole > 0 ? String(part / whole) : '0');
    return [bar, share(part, whole)];
  }

  private filterButton(filter: string, id: string): HTMLElement[] {
    if (filter === '') return [];
    const button = iconButton(
      'filter',
      'Filter to this',
      () => {
        this.filterTo(filter);
      },
      'f',
    );
    // Reached by its key; thousands of stops for Tab would help nobody.
    button.tabIndex = -1;
    button.dataset['of'] = id;
    button.addEventListener('click', (event) => {
      event.stopPropagation();
    });
    return [button];
  }

  // --- what rows do ------------------------------------------------------------------------------------------------

  private pick(index: number, opened: boolean): void {
    const row = this.tree.rows()[index];
    if (row?.kind === 'more') this.tree.more(row);
    else if (row?.kind === 'allocation') this.select(row.allocation, opened);
    else if (row) this.light(row, opened);
  }

  private menu(index: number): MenuEntry[] {
    const row = this.tree.rows()[index];
    if (!row || row.kind === 'more') return [];
    const place = row.kind === 'group' ? row.group.place : row.allocation.label;
    const items: MenuEntry[] = [];
    const item = (text: string, key: string, run: () => void): void => {
      items.push({ text, key, run });
    };
    const what = row.kind === 'group' ? 'Highlight' : 'Select';
    if (this.traits.hasAllocations)
      item(what, 'Space', () => {
        this.pick(index, false);
      });
    if (hasSource(place))
      item('Open Line', 'Enter', () => {
        this.pick(index, true);
      });
    if (row.kind === 'group' && row.group.filter !== '') {
      item('Filter to This', 'F', () => {
        this.filterTo(row.group.filter);
      });
      const others = allBut(row.group.filter);
      if (others !== null)
        item('Hide This', '', () => {
          this.filterTo(others);
        });
    }
    if (row.kind === 'group' && !this.isLast(row))
      item(row.open ? 'Collapse' : 'Expand', row.open ? '←' : '→', () => {
        this.tree.setOpen(row, !row.open);
      });
    const name = row.kind === 'group' ? row.group.name : nameOf(row.allocation).title;
    const table = {
      one: () => this.copied([row]),
      all: () => this.copied(this.tree.rows()),
    };
    return [...items, ...copyItems(this.context.api, { name, place }, table)];
  }

  /** Rows as they are copied: those that were fetched, in their order. */
  private copied(rows: readonly Row[]): CopiedTable {
    const whole = this.tree.totals?.bytes ?? 0;
    const of = (bytes: number): CopiedCell => ({ shown: figure(bytes), exact: bytes });
    const number = (value: number): CopiedCell => ({ shown: count(value), exact: value });
    return {
      heads: ['Name', 'Detail', figureHead(), 'Share', countsTitle()],
      rows: rows.flatMap((row): CopiedCell[][] => {
        if (row.kind === 'more') return [];
        if (row.kind === 'group') {
          const { name, detail, bytes: size, count: many } = row.group;
          return [[name, detail, of(size), share(size, whole), many === null ? '' : number(many)]];
        }
        const { allocation } = row;
        const { title, place } = nameOf(allocation);
        const size = allocation.size_bytes;
        return [[title, place ?? '', of(size), share(size, whole), number(1)]];
      }),
    };
  }

  private filterTo(filter: string): void {
    this.context.setFilter(both(this.context.filter, filter));
  }

  private select(allocation: AllocationSummary, opened: boolean): void {
    const { set, device } = this.context;
    const moment = set.to_moment === null ? (set.from_moment ?? device.peak_moment) : null;
    this.context.select(allocation.allocation, moment);
    if (opened) this.openPlace(allocation.label);
  }

  private light(row: GroupRow, opened: boolean): void {
    if (opened) this.openPlace(row.group.place);
    this.lit = { id: row.id, branch: this.branch(row.path) };
    this.context.lightGroup(this.lit.branch);
    const { name, count: many, bytes: size } = row.group;
    const figures = this.traits.hasAllocations
      ? `${counted(many ?? 0, 'allocation')}, ${bytes(size)} highlighted`
      : countedAnd(many, size);
    this.context.say(`${name}: ${figures}.`);
    this.draw();
  }

  private openPlace(place: Frame | null): void {
    if (hasSource(place)) this.context.openFrame(place, false);
  }

  private key(event: KeyboardEvent, index: number): boolean {
    const row = this.tree.rows()[index];
    if (event.key === 'f' && row?.kind === 'group' && row.group.filter !== '') {
      this.filterTo(row.group.filter);
      return true;
    }
    if (event.key === 'Escape' && this.lit !== null) {
      this.context.lightStacks(new Set());
      this.draw();
      return true;
    }
    return false;
  }
}

function swatchOf(colour: Rgb): HTMLElement {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = css(colour);
  return swatch;
}

function sized(value: number): HTMLElement {
  return element('span', { title: exactFigure(value) }, figure(value));
}

/** "3 allocations, 1.2 MiB"; the figure alone where it is a count, or where it isn't known of how many. */
function countedAnd(many: number | null, amount: number): string {
  return many === null || isCount() ? figure(amount) : `${countedFigure(many)}, ${figure(amount)}`;
}

function stateOf(allocation: AllocationSummary): string {
  const state = stateName(allocation.state);
  return allocation.before_trace ? `${state}, allocated before recording` : state;
}

function sentence({ problem }: RequestError): string {
  return problem.advice === '' ? problem.message : `${problem.message}. ${problem.advice}`;
}

const RENEWING: readonly Change[] = ['device', 'filter', 'cursors', 'attribution'];

export const liveSetPane = (context: ViewContext): Pane => {
  const live = new LiveSet(context);
  return {
    id: 'liveSet',
    title: MODELS[context.info.model].groups,
    usesSet: true,
    root: live.root,
    bar: live.bar,
    reveal: ({ by }) => {
      if (by) live.groupBy(by);
    },
    update: (changes) => {
      if (RENEWING.some((each) => changes.has(each))) live.renew();
      else if (changes.has('theme') || changes.has('selection')) live.draw();
    },
    dispose: () => {
      live.dispose();
    },
  };
};
