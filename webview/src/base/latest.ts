// Questions of which only the latest matters.

import { signal } from '@preact/signals';
import { RequestError, type Pending } from './request';

export function isCancelled(error: unknown): boolean {
  return error instanceof RequestError && error.problem.code === 'cancelled';
}

/** Keeps the answer to the latest question: those before it are cancelled, and what becomes of them isn't reported. */
export class Latest {
  private readonly pending = signal<Pending<unknown> | null>(null);

  /** Components and effects that read it follow it. */
  get asking(): boolean {
    return this.pending.value !== null;
  }

  /** How much of the latest is done; see `Pending`. */
  get done(): number | null {
    return this.pending.value?.done?.value ?? null;
  }

  ask<T>(pending: Pending<T>, use: (answer: T) => void, failed: (error: unknown) => void): void {
    this.pending.peek()?.cancel();
    this.pending.value = pending;
    const isLatest = (): boolean => {
      if (this.pending.peek() !== pending) return false;
      this.pending.value = null;
      return true;
    };
    pending.answer.then(
      (answer) => {
        if (isLatest()) use(answer);
      },
      (error: unknown) => {
        if (isLatest() && !isCancelled(error)) failed(error);
      },
    );
  }

  cancel(): void {
    this.pending.peek()?.cancel();
    this.pending.value = null;
  }
}

/** Questions of which each answer is of use: they are given up together. */
export class Questions {
  private readonly pending = new Set<Pending<unknown>>();

  constructor(private readonly failed: (error: unknown) => void) {}

  ask<T>(pending: Pending<T>, use: (answer: T) => void): void {
    this.pending.add(pending);
    pending.answer
      .finally(() => this.pending.delete(pending))
      .then(use, (error: unknown) => {
        if (!isCancelled(error)) this.failed(error);
      });
  }

  cancel(): void {
    for (const pending of this.pending) pending.cancel();
    this.pending.clear();
  }
}

/** A question whose answer is something made of what comes. */
export function turned<A, B>(pending: Pending<A>, turn: (answer: A) => B): Pending<B> {
  return {
    answer: pending.answer.then(turn),
    cancel: () => pending.cancel(),
    ...(pending.done ? { done: pending.done } : {}),
  };
}
