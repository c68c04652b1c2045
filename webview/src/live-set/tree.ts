// The set of allocations as a tree whose branches are fetched when they are opened: groups, and at last allocations.

import type {
  AllocationSummary,
  Branch,
  Group,
  GroupsAnswer,
  GroupsParams,
  MembersAnswer,
  MembersParams,
} from '../../../extension/shared/protocol.gen';
import { sentencesOf, type Pending } from '../base/request';
import { turned } from '../base/latest';
import { LazyRows, type LazyAnswer, type LazyRow, type NodeRow } from '../widgets/lazy-rows';

export type GroupKind = Branch['by'][number];
export type GroupOrder = GroupsParams['order'];
export type MemberOrder = MembersParams['order'];

/** Rows of a branch are fetched by so many. */
export const PAGE = 500;

export interface GroupNode {
  readonly kind: 'group';
  readonly group: Group;
  readonly path: readonly number[];
}

export interface AllocationNode {
  readonly kind: 'allocation';
  readonly allocation: AllocationSummary;
}

export type LiveNode = GroupNode | AllocationNode;
export type LiveRow = LazyRow<LiveNode, LazyAnswer<LiveNode>>;
export type LiveNodeRow = NodeRow<LiveNode>;

export interface LiveSource {
  groups(path: readonly number[], offset: number, limit: number): Pending<GroupsAnswer>;
  members(path: readonly number[], offset: number, limit: number): Pending<MembersAnswer>;
  /** Whether there are single allocations to list in the last groups: a profile has none. */
  readonly hasAllocations: boolean;
}

/** Sums of the whole set as it is narrowed; `count` is null where it isn't known, `groups` for a plain list. */
export interface TreeTotals {
  readonly bytes: number;
  readonly count: number | null;
  readonly groups: number | null;
}

export class LiveTree extends LazyRows<LiveNode, LazyAnswer<LiveNode>> {
  totals: TreeTotals | null = null;
  private depth = 0;

  constructor(private readonly source: LiveSource) {
    super(
      {
        ask: (node, offset, limit) => this.ask(node?.kind === 'group' ? node.path : [], offset, limit),
        hasChildren: (node) => node.kind === 'group' && !this.isLast(node),
        failed: () => undefined, // it is shown in place of the rows
      },
      { page: PAGE, key: idOf, message: sentencesOf },
    );
  }

  /** Another set, order or filter; with another `depth` (levels of groups) nothing stays open. */
  override reset(depth = this.depth): void {
    if (depth !== this.depth) this.forget();
    this.depth = depth;
    this.totals = null;
    super.reset();
  }

  /** Other groups: what was open means nothing any more. */
  regroup(depth: number): void {
    this.forget();
    this.reset(depth);
  }

  /** Whether nothing can be listed in a group. */
  private isLast({ path }: GroupNode): boolean {
    return !this.source.hasAllocations && path.length >= this.depth;
  }

  private ask(path: readonly number[], offset: number, limit: number): Pending<LazyAnswer<LiveNode>> {
    const isWhole = path.length === 0;
    if (path.length < this.depth) {
      const asked = this.source.groups(path, offset, limit);
      return turned(asked, ({ rows, bytes, count, groups }) => {
        if (isWhole) this.totals = { bytes, count, groups };
        return {
          offset,
          children: groups,
          rows: rows.map((group) => ({ kind: 'group', group, path: [...path, group.key] })),
        };
      });
    }
    const asked = this.source.members(path, offset, limit);
    return turned(asked, ({ rows, bytes, count }) => {
      if (isWhole) this.totals = { bytes, count, groups: null };
      return {
        offset,
        children: count,
        rows: rows.map((allocation) => ({ kind: 'allocation', allocation })),
      };
    });
  }
}

/** What a row is known by, whatever else there is. */
export function idOf(node: LiveNode): string {
  return node.kind === 'group' ? node.path.join('/') : `allocation:${node.allocation.allocation}`;
}
