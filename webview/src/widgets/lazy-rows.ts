// The rows of a tree whose branches are fetched when they are opened: what they are, and nothing of their looks.

import type { Pending } from '../base/request';
import { isCancelled } from '../base/latest';

export const TREE_PAGE = 100;
/** Opening a row opens its only child too, and so on: a chain says nothing until it branches. */
const MOST_OPENED = 64;
/** How many open rows are reported, the latest ones. */
const MOST_KEPT = 50;

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

/** Stands for the children that are not here: left for another page, or asked for, or failed with a message. */
export interface RestRow<N, A> {
  readonly kind: 'rest';
  readonly parent: NodeRow<N> | null;
  readonly level: number;
  readonly offset: number;
  /** 0 while it isn't known. */
  readonly left: number;
  /** The page before it, if there is one. */
  readonly answer: A | null;
  readonly waiting: boolean;
  readonly message: string;
}

export type LazyRow<N, A> = NodeRow<N> | RestRow<N, A>;

export interface LazyRowsEvents<N, A> {
  /** The children of a node; null for the rows of the first level. */
  ask(node: N | null, offset: number, limit: number): Pending<A>;
  hasChildren(node: N): boolean;
  failed(error: unknown): void;
}

export interface LazyRowsOptions<N> {
  /** Children are fetched by so many. */
  readonly page?: number;
  /** A node's key when all rows are fetched again: what was open then opens again. */
  readonly key?: (node: N) => string;
  /** Whether opening a row opens its only child too; where nodes have keys, only if this is true. */
  readonly chains?: boolean;
  /** The keys of rows that were open in another session, and who hears of those that are open. */
  readonly kept?: { readonly opened: readonly string[]; readonly keep: (opened: string[]) => void };
  /** What is said of an error in the place of the rows; they also say that they are being fetched. */
  readonly message?: (error: unknown) => string;
}

/** The children of a row, as far as they were fetched. They stay when it is closed. */
interface Branch<N, A> {
  readonly parent: NodeRow<N> | null;
  readonly rows: NodeRow<N>[];
  children: number | null;
  answer: A | null;
  pending: Pending<A> | null;
  message: string;
  rest: RestRow<N, A> | null;
}

export class LazyRows<N, A extends LazyAnswer<N>> {
  rows: LazyRow<N, A>[] = [];
  /** The latest answer. */
  latest: A | null = null;
  /** Called with other rows: `moved` says where the row stands now that stood somewhere before, if it is still there. */
  changed: (moved: (was: number) => number) => void = () => undefined;
  private readonly branches = new Map<NodeRow<N> | null, Branch<N, A>>();
  private readonly opened: Set<string>;

  constructor(
    private readonly events: LazyRowsEvents<N, A>,
    private readonly options: LazyRowsOptions<N> = {},
  ) {
    this.opened = new Set(options.kept?.opened);
  }

  /** Fetches all rows again. */
  reset(): void {
    this.cancel();
    this.branches.clear();
    this.fetch(null);
  }

  /** Nothing opens again by itself. */
  forget(): void {
    this.opened.clear();
  }

  cancel(): void {
    for (const branch of this.branches.values()) {
      branch.pending?.cancel();
      branch.pending = null;
    }
  }

  toggle(row: NodeRow<N>, open: boolean): void {
    if (row.open === null || row.open === open) return;
    const key = this.options.key?.(row.node);
    if (key !== undefined && open) this.opened.add(key);
    else if (key !== undefined) this.opened.delete(key);
    this.options.kept?.keep([...this.opened].slice(-MOST_KEPT));
    this.turn(row, open);
  }

  private turn(row: NodeRow<N>, open: boolean): void {
    row.open = open;
    const branch = this.branches.get(row);
    if (open && !branch?.pending && (branch?.children ?? null) === null) this.fetch(row);
    else this.change(row);
  }

  more(row: RestRow<N, A>): void {
    if (!this.branches.get(row.parent)?.pending) this.fetch(row.parent);
  }

  parentOf(index: number): number {
    const parent = this.rows[index]?.parent;
    return parent ? this.rows.indexOf(parent) : -1;
  }

  /** Fetches the next page of a row's children. */
  private fetch(parent: NodeRow<N> | null): void {
    const branch = this.branches.get(parent) ?? {
      parent,
      rows: [],
      children: null,
      answer: null,
      pending: null,
      message: '',
      rest: null,
    };
    this.branches.set(parent, branch);
    const pending = this.events.ask(parent?.node ?? null, branch.rows.length, this.options.page ?? TREE_PAGE);
    branch.pending = pending;
    branch.message = '';
    const isWanted = (): boolean => {
      if (branch.pending !== pending) return false;
      branch.pending = null;
      return true;
    };
    pending.answer.then(
      (answer) => {
        if (isWanted()) this.take(answer, branch);
      },
      (error: unknown) => {
        if (!isWanted() || isCancelled(error)) return;
        const { message } = this.options;
        if (message) branch.message = message(error);
        this.change();
        if (!message) this.events.failed(error);
      },
    );
    this.change(parent ?? undefined);
  }

  private take(answer: A, branch: Branch<N, A>): void {
    const { parent, rows } = branch;
    const { children } = answer;
    const first = rows.length;
    this.latest = answer;
    branch.answer = answer;
    branch.children = children;
    const level = parent ? parent.level + 1 : 0;
    for (const node of answer.rows) {
      const key = this.options.key?.(node);
      const open = this.events.hasChildren(node) ? key !== undefined && this.opened.has(key) : null;
      rows.push({ kind: 'node', node, parent, level, place: rows.length + 1, of: children, open });
    }
    this.change(rows[first]);
    for (const row of rows.slice(first)) if (row.open) this.fetch(row);
    const [only] = rows;
    const { key, chains = key === undefined } = this.options;
    // what opens by itself isn't open again beside other rows
    if (first === 0 && children === 1 && only?.open === false && chains && level < MOST_OPENED)
      this.turn(only, true);
  }

  /** The rows as they are now; who stood on one that is gone stands on `instead`. */
  private change(instead?: NodeRow<N>): void {
    const before = this.rows;
    const rows: LazyRow<N, A>[] = [];
    this.add(rows, this.branches.get(null));
    this.rows = rows;
    this.changed((was) => {
      const row = before[was];
      const now = row ? rows.indexOf(row) : -1;
      return now >= 0 ? now : Math.max(instead ? rows.indexOf(instead) : 0, 0);
    });
  }

  private add(to: LazyRow<N, A>[], branch: Branch<N, A> | undefined): void {
    if (!branch) return;
    for (const row of branch.rows) {
      to.push(row);
      if (row.open) this.add(to, this.branches.get(row));
    }
    const rest = this.restOf(branch);
    if (rest) to.push(rest);
  }

  private restOf(branch: Branch<N, A>): RestRow<N, A> | null {
    const { parent, rows, children, answer, message } = branch;
    const left = (children ?? rows.length) - rows.length;
    const waiting = this.options.message !== undefined && branch.pending !== null;
    if (left === 0 && !waiting && message === '') return null;
    const { rest } = branch;
    // who stands on it goes on standing there
    if (rest?.offset !== rows.length || rest.waiting !== waiting || rest.message !== message)
      branch.rest = {
        kind: 'rest',
        parent,
        level: parent ? parent.level + 1 : 0,
        offset: rows.length,
        left,
        answer,
        waiting,
        message,
      };
    return branch.rest;
  }
}
