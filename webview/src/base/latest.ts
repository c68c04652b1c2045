// Questions of which only the latest matters.

import { RequestError, type Pending } from '../api';

export function isCancelled(error: unknown): boolean {
  return error instanceof RequestError && error.problem.code === 'cancelled';
}

/** Keeps the answer to the latest question: those before it are cancelled, and what becomes of them isn't reported. */
export class Latest {
  private pending: Pending<unknown> | null = null;

  get asking(): boolean {
    return this.pending !== null;
  }

  ask<T>(pending: Pending<T>, use: (answer: T) => void, failed: (error: unknown) => void): void {
    this.cancel();
    this.pending = pending;
    const isLatest = (): boolean => {
      if (this.pending !== pending) return false;
      this.pending = null;
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
    this.pending?.cancel();
    this.pending = null;
  }
}

/** A question whose answer is something made of what comes. */
export function turned<A, B>(pending: Pending<A>, turn: (answer: A) => B): Pending<B> {
  return {
    answer: pending.answer.then(turn),
    cancel: () => {
      pending.cancel();
    },
  };
}
