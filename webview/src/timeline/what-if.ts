// What a trace is replayed without: chosen anywhere in its view, switched on and off in the pane.

import { signal } from '@preact/signals';

export interface LeftOut {
  /** The filter of its allocations. */
  readonly term: string;
  readonly name: string;
  /** Whether it is left out now. */
  readonly on: boolean;
}

export class WhatIf {
  private readonly list = signal<readonly LeftOut[]>([]);

  /** `changed`: a replay without others is to be shown. */
  constructor(private readonly changed: () => void) {}

  get leftOut(): readonly LeftOut[] {
    return this.list.value;
  }

  /** The filters of what is left out now. */
  get terms(): readonly string[] {
    return this.leftOut.flatMap(({ term, on }) => (on ? [term] : []));
  }

  add(term: string, name: string): void {
    const others = this.leftOut.filter((each) => each.term !== term);
    this.set([...others, { term, name, on: true }]);
  }

  turn(term: string, on: boolean): void {
    this.set(this.leftOut.map((each) => (each.term === term ? { ...each, on } : each)));
  }

  remove(term: string): void {
    this.set(this.leftOut.filter((each) => each.term !== term));
  }

  private set(leftOut: readonly LeftOut[]): void {
    this.list.value = leftOut;
    this.changed();
  }
}
