// The rows of a tree whose branches are fetched when they are opened: what they are, and nothing of their looks.

import type { Pending } from '../api';

export const TREE_PAGE = 100;
/** Opening a row opens its only child too, and so on: a chain says nothing until it branches. */
const MOST_OPENED = 64;

/** A page of a node's children, of which there are `children` in all. */
export interface LazyAnswer<N> {
  readonly rows: readonly N[];
  readonly offset: number;
  readonly children: number;
}

export interface NodeRow<N> {
  readonly kind: 'node';
  readonly node: N;
  readonly parent: NodeRow<N> | null;
  readonly level: number;
  /** Its place among its siblings from 1, and how many these are. */
  readonly place: number;
  readonly of: number;
  /** Null without children. */
  open: boolean | null;
}

/** Stands for the children that are not here yet. */
export interface RestRow<N, A> {
  readonly kind: 'rest';
  readonly parent: NodeRow<N> | null;
  readonly level: number;
  readonly offset: number;
  readonly left: number;
  /** The page before it. */
  readonly answer: A;
}

export type LazyRow<N, A> = NodeRow<N> | RestRow<N, A>;

export interface LazyRowsEvents<N, A> {
  /** The children of a node; null for the rows of the first level. */
  ask(node: N | null, offset: number, limit: number): Pending<A>;
  hasChildren(node: N): boolean;
  /** `active` is where the row stands now that stood at `was` before, if it is still there. */
  changed(moved: (was: number) => number): void;
  failed(error: unknown): void;
}

export class LazyRows<N, A extends LazyAnswer<N>> {
  rows: LazyRow<N, A>[] = [];
  /** The latest answer. */
  latest: A | null = null;
  private readonly pending = new Set<Pending<A>>();

  constructor(private readonly events: LazyRowsEvents<N, A>) {}

  reset(): void {
    this.cancel();
    this.change([]);
    void this.fill(null, null);
  }

  cancel(): void {
    for (const each of this.pending) each.cancel();
    this.pending.clear();
  }

  toggle(row: NodeRow<N>, open: boolean): void {
    if (row.open === null || row.open === open) return;
    row.open = open;
    if (open) {
      this.change(this.rows);
      void this.fill(row, null);
      return;
    }
    const from = this.rows.indexOf(row) + 1;
    const to = this.rows.findIndex((each, at) => at >= from && each.level <= row.level);
    const end = to < 0 ? this.rows.length : to;
    this.change([...this.rows.slice(0, from), ...this.rows.slice(end)], row);
  }

  more(row: RestRow<N, A>): void {
    void this.fill(row.parent, row);
  }

  parentOf(index: number): number {
    const parent = this.rows[index]?.parent;
    return parent ? this.rows.indexOf(parent) : -1;
  }

  private async fill(parent: NodeRow<N> | null, rest: RestRow<N, A> | null): Promise<void> {
    const offset = rest?.offset ?? 0;
    const asked = this.events.ask(parent?.node ?? null, offset, TREE_PAGE);
    this.pending.add(asked);
    try {
      const answer = await asked.answer;
      if (this.pending.delete(asked)) this.take(answer, parent, rest);
    } catch (error) {
      this.pending.delete(asked);
      this.events.failed(error);
    }
  }

  /** Puts a page where its rows belong, unless that was closed meanwhile. */
  private take(answer: A, parent: NodeRow<N> | null, rest: RestRow<N, A> | null): void {
    const hook = rest ?? parent;
    const found = hook ? this.rows.indexOf(hook) : 0;
    if (found < 0 || parent?.open === false) return;
    const at = parent && !rest ? found + 1 : found;
    // Closed and opened again before the first answer came.
    if (!rest && this.rows[at]?.parent === parent && this.rows.length > at) return;
    this.latest = answer;
    const level = parent ? parent.level + 1 : 0;
    const { offset, children } = answer;
    const made: LazyRow<N, A>[] = answer.rows.map((node, i) => ({
      kind: 'node',
      ...{ node, parent, level, place: offset + i + 1, of: children },
      open: this.events.hasChildren(node) ? false : null,
    }));
    const end = offset + answer.rows.length;
    if (end < children)
      made.push({
        kind: 'rest',
        ...{ parent, level, offset: end, left: children - end },
        answer,
      });
    this.change([...this.rows.slice(0, at), ...made, ...this.rows.slice(at + (rest ? 1 : 0))], made[0]);
    const [only] = made;
    if (offset === 0 && children === 1 && only?.kind === 'node' && level < MOST_OPENED)
      this.toggle(only, true);
  }

  /** Other rows; who stood on one that is gone stands on `instead`. */
  private change(rows: LazyRow<N, A>[], instead?: LazyRow<N, A>): void {
    const before = this.rows;
    this.rows = rows;
    this.events.changed((was) => {
      const row = before[was];
      const now = row ? rows.indexOf(row) : -1;
      return now >= 0 ? now : Math.max(instead ? rows.indexOf(instead) : 0, 0);
    });
  }
}
