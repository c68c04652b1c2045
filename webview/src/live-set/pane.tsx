// The live set: what is in the set, as a tree of groups down to single allocations, or as a plain list.

import type { ComponentType, VNode } from 'preact';
import type { AllocationSummary, Branch, Frame } from '../../../extension/shared/protocol.gen';
import { countedFigure, figure, isCount } from '../base/figure';
import { bytes, hasSource } from '../base/format';
import { follow } from '../base/follow';
import { turned } from '../base/latest';
import { plural, said, t } from '../base/l10n';
import type { ViewContext } from '../shell/context';
import { addTerm } from '../shell/filter-terms';
import { MODELS } from '../shell/model';
import type { BarRoom, Pane, PaneOf, PaneRoom } from '../shell/pane';
import type { LazyAnswer } from '../widgets/lazy-rows';
import { LazyTree } from '../widgets/lazy-tree';
import type { GridColumn } from '../widgets/grid';
import { LiveCells } from './cells';
import { groupColumns, memberColumns, type Column } from './columns';
import { Controls } from './controls';
import { groupsOf, kindsFor } from './kinds';
import { rowMenu } from './menu';
import { LINES, restoreSettings } from './settings';
import {
  idOf,
  LiveTree,
  type GroupKind,
  type GroupNode,
  type GroupOrder,
  type LiveNode,
  type LiveNodeRow,
  type MemberOrder,
} from './tree';

class LiveSet {
  private readonly controls: Controls;
  private readonly grid: LazyTree<LiveNode, LazyAnswer<LiveNode>>;
  private readonly tree: LiveTree;
  private readonly cells: LiveCells;
  private readonly stop: () => void;
  private groupOrder: GroupOrder;
  private memberOrder: MemberOrder;
  private descending: boolean;
  /** The row whose allocations are highlighted in the picture. */
  private wanted: string | null = null;
  private highlighted: { readonly id: string; readonly branch: Branch } | null = null;

  constructor(private readonly context: ViewContext) {
    const kept = restoreSettings(context.api.saved()?.kept?.liveSet);
    const kinds = kindsFor(context.info);
    const { hasAllocations } = MODELS[context.info.model];
    const first = kept.by.filter((kind) => kinds.includes(kind));
    const isPlain = hasAllocations && first.length === 0;
    this.controls = new Controls(kinds, isPlain || first.length > 0 ? first : LINES, context.attribution);
    this.groupOrder = kept.groupOrder;
    this.memberOrder = kept.memberOrder;
    this.descending = kept.descending;
    this.cells = new LiveCells(context);
    this.tree = new LiveTree({
      hasAllocations,
      groups: (path, offset, limit) =>
        context.api.request('memlens/groups', {
          branch: this.branch(path),
          order: this.groupOrder,
          descending: this.descending,
          offset,
          limit,
        }),
      members: (path, offset, limit) => {
        const isPlain = this.by.length === 0;
        const asked = context.api.request('memlens/members', {
          branch: this.branch(path),
          order: isPlain ? this.memberOrder : 'size',
          descending: !isPlain || this.descending,
          offset,
          limit,
        });
        return turned(asked, (answer) => {
          context.timeline?.names.learn(answer.rows);
          return answer;
        });
      },
    });
    this.grid = this.makeGrid();
    this.updateColumns();
    const { by, narrow } = this.controls;
    this.stop = follow({ by: () => by.value, narrow: () => narrow.value }, (changes) => {
      if (changes.has('by')) this.regroup();
      else this.reload();
    });
  }

  readonly View = (room: PaneRoom): VNode => (
    <section {...room} class="live-set pane">
      <this.grid.View />
    </section>
  );

  get Bar(): ComponentType<BarRoom> {
    return this.controls.View;
  }

  /** Selects the row of a filter once it is there; where no row has that filter, it narrows everything. */
  select(filter: string): void {
    this.wanted = filter;
    this.selectWanted();
  }

  private selectWanted(): void {
    const { wanted, tree } = this;
    if (wanted === null || tree.totals === null) return;
    this.wanted = null;
    const row = tree.rows.find(
      (each) => each.kind === 'node' && each.node.kind === 'group' && each.node.group.filter === wanted,
    );
    if (row?.kind !== 'node' || row.node.kind !== 'group') {
      this.context.setFilter(wanted);
      return;
    }
    this.grid.reveal(idOf(row.node));
    this.highlight(row.node, false);
  }

  groupBy(kind: GroupKind): void {
    this.controls.set(kind);
  }

  /** What is measured may be another value, or a range of the run; the heads say so. */
  renew(): void {
    this.updateColumns();
    this.reload();
  }

  draw(): void {
    this.showStatus();
    this.grid.redraw();
  }

  private showStatus(): void {
    this.selectWanted();
    if (!this.isHighlighted) this.highlighted = null;
    const [first] = this.tree.rows;
    const failed = first?.kind === 'rest' ? first.message : '';
    this.controls.showStatus(failed === '' ? this.summary() : '', failed);
  }

  dispose(): void {
    this.stop();
    this.tree.cancel();
  }

  private makeGrid(): LiveSet['grid'] {
    const { tree, cells } = this;
    const whole = (): number => tree.totals?.bytes ?? 0;
    return new LazyTree(t('What’s in memory'), tree, {
      id: idOf,
      class: ({ kind }) => (kind === 'group' ? 'group' : 'leaf'),
      cells: ({ node, level }) => {
        if (node.kind === 'group')
          return cells.group(node, whole(), level === 0 ? (this.by[0] ?? null) : null);
        const { allocation } = node;
        return this.by.length > 0 ? cells.leaf(allocation, whole()) : cells.plain(allocation, whole());
      },
      isSelected: ({ node }) =>
        node.kind === 'group'
          ? this.highlighted?.id === idOf(node)
          : node.allocation.allocation === this.context.timeline?.selected,
      sort: (column) => this.sort(column),
      pick: (row, opened) => this.pick(row, opened),
      pointed: (node) =>
        this.context.timeline?.pointAt(node?.kind === 'group' ? this.branch(node.path) : null),
      menu: (row) => rowMenu(this.context, tree, row, (opened) => this.pick(row, opened)),
      key: (event, node) => this.key(event, node?.kind === 'group' ? node : null),
      changed: () => this.showStatus(),
    });
  }

  /** Other groups, the largest first. */
  private regroup(): void {
    this.groupOrder = 'bytes';
    this.memberOrder = 'size';
    this.descending = true;
    this.keep();
    this.updateColumns();
    this.tree.regroup(this.by.length);
  }

  private get by(): readonly GroupKind[] {
    return this.controls.by.value;
  }

  private reload(): void {
    // What is highlighted is of the set as it was.
    if (this.isHighlighted) this.context.timeline?.highlightStacks(new Set());
    this.tree.reset(this.by.length);
  }

  /** Whether the picture shows what was highlighted here, and nothing else since. */
  private get isHighlighted(): boolean {
    return this.highlighted !== null && this.context.timeline?.highlightedBranch === this.highlighted.branch;
  }

  private summary(): string {
    const { totals } = this.tree;
    if (!totals) return t('Fetching…');
    const what = countedAnd(totals.count, totals.bytes);
    const all = totals.groups === null ? what : t('{0} in {1}', what, groupsOf(totals.groups, this.by[0]));
    const charged = this.controls.chargesPlaces ? t('{0}, by {1}', all, this.context.attribution.name) : all;
    return this.context.filter === '' ? charged : t('Filtered: {0}', charged);
  }

  private branch(path: readonly number[]): Branch {
    return {
      of: this.context.set,
      by: [...this.by],
      path: [...path],
      narrow: this.controls.narrow.value,
      attribution: this.context.attribution.value,
    };
  }

  // --- columns and rows --------------------------------------------------------------------------------------------

  private get groupColumns(): readonly Column<GroupOrder>[] {
    const { info, setName, attribution } = this.context;
    return groupColumns(info, setName, attribution.rule);
  }

  private updateColumns(): void {
    const grouped = this.by.length > 0;
    const columns: readonly Column<string>[] = grouped ? this.groupColumns : memberColumns(this.context.info);
    const current = grouped ? this.groupOrder : this.memberOrder;
    this.grid.show(
      columns.map(({ name, title, width, order, text = false }, i): GridColumn => {
        const way = this.descending ? 'descending' : 'ascending';
        const sort = order === null ? null : order === current ? way : 'none';
        return { name, title, width, number: i > 0 && !text, sort };
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
      const order = memberColumns(this.context.info)[column]?.order ?? null;
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

  // --- what rows do ------------------------------------------------------------------------------------------------

  private pick({ node }: LiveNodeRow, opened: boolean): void {
    if (node.kind === 'allocation') this.selectAllocation(node.allocation, opened);
    else this.highlight(node, opened);
  }

  private selectAllocation(allocation: AllocationSummary, opened: boolean): void {
    const { set, timeline } = this.context;
    if (timeline) {
      const moment = set.to_moment === null ? (set.from_moment ?? timeline.device.peak_moment) : null;
      timeline.select(allocation.allocation, moment);
    }
    if (opened) this.openPlace(allocation.label);
  }

  private highlight(node: GroupNode, opened: boolean): void {
    const { group, path } = node;
    if (opened && group.declared !== '') this.context.openDeclaration(group.declared, false);
    else if (opened) this.openPlace(group.place);
    this.highlighted = { id: idOf(node), branch: this.branch(path) };
    this.context.timeline?.highlightGroup(this.highlighted.branch);
    const { count: many, bytes: size } = group;
    const name = said(group.name);
    this.context.say(
      MODELS[this.context.info.model].hasAllocations
        ? plural(
            many ?? 0,
            '{1}: {0} allocation, {2} highlighted.',
            '{1}: {0} allocations, {2} highlighted.',
            name,
            bytes(size),
          )
        : t('{0}: {1}.', name, countedAnd(many, size)),
    );
    this.draw();
  }

  private openPlace(place: Frame | null): void {
    if (hasSource(place)) this.context.openFrame(place, false);
  }

  private key(event: KeyboardEvent, node: GroupNode | null): boolean {
    const filter = node?.group.filter ?? '';
    if (event.key === 'f' && filter !== '') {
      addTerm(this.context, filter);
      return true;
    }
    if (event.key === 'Escape' && this.highlighted !== null) {
      this.context.timeline?.highlightStacks(new Set());
      this.draw();
      return true;
    }
    return false;
  }
}

/** "3 allocations, 1.2 MiB"; the figure alone where it is a count, or where it isn't known of how many. */
function countedAnd(many: number | null, amount: number): string {
  return many === null || isCount() ? figure(amount) : t('{0}, {1}', countedFigure(many), figure(amount));
}

export const liveSetPane = {
  id: 'liveSet',
  of: ['timeline', 'profile'],
  place: 10,
  title: ({ info }) => MODELS[info.model].groups,
  palette: 'Show What’s in Memory',
  usesSet: true,
  make: makePane,
} satisfies PaneOf;

function makePane(context: ViewContext): Pane {
  const live = new LiveSet(context);
  return {
    View: live.View,
    Bar: live.Bar,
    reveal: ({ by, row }) => {
      if (by) live.groupBy(by);
      if (row) live.select(row);
    },
    update: (changes) => {
      if (changes.has('set') || changes.has('attribution')) live.renew();
      else if (changes.has('theme') || changes.has('selection')) live.draw();
    },
    dispose: () => live.dispose(),
  };
}
