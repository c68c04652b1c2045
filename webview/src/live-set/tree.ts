// The set of allocations as a tree whose branches are fetched when they are opened: what its rows are, and nothing of
// how they look.

import type {
  AllocationSummary,
  Branch,
  Group,
  GroupsAnswer,
  GroupsParams,
  MembersAnswer,
  MembersParams,
} from '../../../extension/shared/protocol.gen';

export type GroupKind = Branch['by'][number];
export type GroupOrder = GroupsParams['order'];
export type MemberOrder = MembersParams['order'];

/** Rows of a branch are fetched by so many. */
export const PAGE = 500;

export interface GroupRow {
  readonly kind: 'group';
  readonly id: string;
  readonly level: number;
  readonly group: Group;
  readonly path: readonly number[];
  readonly place: number;
  readonly of: number;
  open: boolean;
}

export interface AllocationRow {
  readonly kind: 'allocation';
  readonly id: string;
  readonly level: number;
  readonly allocation: AllocationSummary;
  readonly place: number;
  readonly of: number;
}

/** Stands for what of a branch is not here: asked for, or failed with a message. */
export interface MoreRow {
  readonly kind: 'more';
  readonly id: string;
  readonly level: number;
  readonly path: readonly number[];
  readonly left: number | null;
  readonly waiting: boolean;
  readonly message: string;
}

export type Row = GroupRow | AllocationRow | MoreRow;

export interface TreeSource {
  groups(path: readonly number[], offset: number, limit: number): Promise<GroupsAnswer>;
  members(path: readonly number[], offset: number, limit: number): Promise<MembersAnswer>;
  changed(): void;
}

/** Sums of the whole set as it is narrowed; `count` is null where it isn't known, `groups` for a plain list. */
export interface TreeTotals {
  readonly bytes: number;
  readonly count: number | null;
  readonly groups: number | null;
}

interface Level {
  readonly path: readonly number[];
  rows: (GroupRow | AllocationRow)[];
  total: number | null;
  waiting: boolean;
  message: string;
}

export class Tree {
  totals: TreeTotals | null = null;
  private depth = 0;
  private levels = new Map<string, Level>();
  /** Branches that the user opened; they are opened again when the set has changed. */
  private readonly opened = new Set<string>();
  private flat: Row[] | null = null;
  /** Answers to what was asked before the last reset come too late. */
  private generation = 0;

  constructor(private readonly source: TreeSource) {}

  /** Another set, order or filter; with another `depth` (levels of groups) nothing stays open. */
  reset(depth: number): void {
    if (depth !== this.depth) this.opened.clear();
    this.depth = depth;
    this.restart();
  }

  /** Other groups: what was open means nothing any more. */
  regroup(depth: number): void {
    this.opened.clear();
    this.depth = depth;
    this.restart();
  }

  rows(): readonly Row[] {
    if (!this.flat) {
      this.flat = [];
      this.add(this.flat, []);
    }
    return this.flat;
  }

  setOpen(row: GroupRow, open: boolean): void {
    if (row.open === open) return;
    row.open = open;
    const key = keyOf(row.path);
    if (open) this.opened.add(key);
    else this.opened.delete(key);
    this.flat = null;
    if (open && !this.levels.has(key)) this.fetch(row.path);
    else this.source.changed();
  }

  /** Fetches what comes after the rows of a branch. */
  more(row: MoreRow): void {
    this.fetch(row.path);
  }

  private restart(): void {
    this.generation++;
    this.levels.clear();
    this.totals = null;
    this.flat = null;
    this.fetch([]);
  }

  private add(to: Row[], path: readonly number[]): void {
    const level = this.levels.get(keyOf(path));
    if (!level) return;
    for (const row of level.rows) {
      to.push(row);
      if (row.kind === 'group' && row.open) this.add(to, row.path);
    }
    const left = level.total === null ? null : level.total - level.rows.length;
    if (left === 0 && level.message === '') return;
    const { waiting, message } = level;
    to.push({ kind: 'more', id: `more:${keyOf(path)}`, level: path.length, path, left, waiting, message });
  }

  private fetch(path: readonly number[]): void {
    const key = keyOf(path);
    const level: Level = this.levels.get(key) ?? { path, rows: [], total: null, waiting: false, message: '' };
    if (level.waiting) return;
    this.levels.set(key, level);
    level.waiting = true;
    level.message = '';
    this.flat = null;
    const { generation } = this;
    const offset = level.rows.length;
    const use = (take: () => void): void => {
      if (generation !== this.generation) return;
      level.waiting = false;
      take();
      this.flat = null;
      this.source.changed();
    };
    const failed = (error: unknown): void => {
      use(() => {
        level.message = error instanceof Error ? error.message : String(error);
      });
    };
    if (path.length < this.depth) {
      this.source.groups(path, offset, PAGE).then((answer) => {
        use(() => {
          this.takeGroups(level, answer);
        });
      }, failed);
    } else {
      this.source.members(path, offset, PAGE).then((answer) => {
        use(() => {
          this.takeMembers(level, answer);
        });
      }, failed);
    }
    this.source.changed();
  }

  private takeGroups(level: Level, answer: GroupsAnswer): void {
    level.total = answer.groups;
    if (level.path.length === 0)
      this.totals = { bytes: answer.bytes, count: answer.count, groups: answer.groups };
    for (const group of answer.rows) {
      const path = [...level.path, group.key];
      const key = keyOf(path);
      const open = this.opened.has(key);
      const place = level.rows.length + 1;
      const of = answer.groups;
      level.rows.push({ kind: 'group', id: key, level: level.path.length, group, path, place, of, open });
      if (open) this.fetch(path);
    }
  }

  private takeMembers(level: Level, answer: MembersAnswer): void {
    level.total = answer.count;
    if (level.path.length === 0) this.totals = { bytes: answer.bytes, count: answer.count, groups: null };
    for (const allocation of answer.rows) {
      level.rows.push({
        kind: 'allocation',
        id: `allocation:${allocation.allocation}`,
        level: level.path.length,
        allocation,
        place: level.rows.length + 1,
        of: answer.count,
      });
    }
  }
}

function keyOf(path: readonly number[]): string {
  return path.join('/');
}

/** Where the row that a row hangs on stands, -1 for none. */
export function parentOf(rows: readonly Row[], index: number): number {
  const level = rows[index]?.level ?? 0;
  for (let at = index - 1; at >= 0; at--) if ((rows[at]?.level ?? 0) < level) return at;
  return -1;
}
