// A request to the server, as those that ask see it.

import type { ReadonlySignal } from '@preact/signals';
import type { Problem } from '../../../extension/shared/protocol.gen';

/** A request that the server answered with a Problem. */
export class RequestError extends Error {
  override name = 'RequestError';
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

export interface Pending<T> {
  readonly answer: Promise<T>;
  /** Cancels the request on the server. The answer never comes then. */
  cancel(): void;
  /** How much of it is done, 0 to 1; null as long as nothing is known of that. */
  readonly done?: ReadonlySignal<number | null>;
}
