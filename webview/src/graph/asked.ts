// A question that a part of the page asks at a press, and may give up.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { isCancelled } from '../base/latest';
import type { Pending } from '../base/request';
import type { GraphSession } from './session';

interface Asked<T> {
  readonly found: T | null;
  readonly isPending: boolean;
  /** How much of the answer is done, 0 to 1; null where that isn't known. */
  readonly done: number | null;
  readonly ask: () => void;
  /** Gives the question up, or forgets its answer. */
  readonly drop: () => void;
}

/** It is given up with the part of the page. */
export function useAsked<T>(context: GraphSession, make: () => Pending<T>, known: T | null = null): Asked<T> {
  const found = useSignal<T | null>(known);
  const pending = useSignal<Pending<T> | null>(null);
  useEffect(() => () => pending.peek()?.cancel(), [pending]);
  return {
    found: found.value,
    isPending: pending.value !== null,
    done: pending.value?.done?.value ?? null,
    ask: () => {
      pending.peek()?.cancel();
      const asked = make();
      pending.value = asked;
      asked.answer.then(
        (answer) => {
          if (pending.value !== asked) return;
          pending.value = null;
          found.value = answer;
        },
        (error: unknown) => {
          if (pending.value === asked) pending.value = null;
          if (!isCancelled(error)) context.failed(error);
        },
      );
    },
    drop: () => {
      pending.peek()?.cancel();
      pending.value = null;
      found.value = null;
    },
  };
}
