// What is known of allocations from the server's answers so far, so that bands can be named without asking again.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';

const MOST = 20_000;

export class Names {
  private readonly byAllocation = new Map<number, AllocationSummary>();
  private readonly byStack = new Map<number, AllocationSummary>();
  /** Grows whenever something was learnt. */
  version = 0;

  learn(summaries: readonly AllocationSummary[]): void {
    if (this.byAllocation.size > MOST) this.byAllocation.clear();
    if (this.byStack.size > MOST) this.byStack.clear();
    for (const summary of summaries) {
      this.byAllocation.set(summary.allocation, summary);
      // without a stack allocations differ in why, and what is inferred is of one allocation
      if (summary.label !== null && summary.label.source !== 'inferred')
        this.byStack.set(summary.stack, summary);
    }
    this.version++;
  }

  /** What was learnt no longer holds. */
  forget(): void {
    this.byAllocation.clear();
    this.byStack.clear();
    this.version++;
  }

  allocation(allocation: number): AllocationSummary | undefined {
    return this.byAllocation.get(allocation);
  }

  /** Any allocation of a stack whose label is the label of all of them. */
  stack(stack: number): AllocationSummary | undefined {
    return this.byStack.get(stack);
  }
}
