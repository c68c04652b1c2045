// The node that is chosen: what is known of it, and what waits until it is known.

import type { FlameName, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { Latest } from '../base/latest';
import type { TreeParams } from './settings';

/** Whether its line is to be opened, too, and where. */
export type Opening = { readonly beside: boolean } | null;

export interface ChosenEvents {
  ask(params: TreeParams, node: number): Pending<FlameNodeAnswer>;
  shown(answer: FlameNodeAnswer, opening: Opening): void;
  /** `of` is the key of what was asked. */
  failed(error: unknown, of: string): void;
}

export function keyOf(params: TreeParams, node: number): string {
  return JSON.stringify([params, node]);
}

export class FlameChosen {
  /** Null while nothing is chosen. */
  answer: FlameNodeAnswer | null = null;
  /** Which tree and node the answer is of. */
  of = '';
  private readonly latest = new Latest();
  private waiting: ((name: FlameName) => void) | null = null;

  constructor(private readonly events: ChosenEvents) {}

  choose(params: TreeParams, node: number, opening: Opening): void {
    this.cancel();
    const of = keyOf(params, node);
    if (this.answer && this.of === of) {
      this.events.shown(this.answer, opening);
      return;
    }
    this.latest.ask(
      this.events.ask(params, node),
      (answer) => {
        this.answer = answer;
        this.of = of;
        this.events.shown(answer, opening);
        const { waiting } = this;
        this.waiting = null;
        if (waiting) this.withName(waiting);
      },
      (error) => {
        this.waiting = null;
        this.events.failed(error, of);
      },
    );
  }

  /** Does something to the function, once its name is known; false when none is chosen. */
  withName(run: (name: FlameName) => void): boolean {
    if (this.latest.asking) {
      this.waiting = run;
      return true;
    }
    const { answer } = this;
    if (!answer || answer.node.node === 0 || answer.node.name.kind === 'none') return false;
    run(answer.node.name);
    return true;
  }

  /** Nothing is chosen any more. */
  forget(): void {
    this.cancel();
    this.answer = null;
  }

  cancel(): void {
    this.latest.cancel();
    this.waiting = null;
  }
}
