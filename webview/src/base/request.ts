// A request to the server, as those that ask see it.

import type { ReadonlySignal } from '@preact/signals';
import type { Problem } from '../../../extension/shared/protocol.gen';
import { messageOf } from './text';

/** A request that the server answered with a Problem. */
export class RequestError extends Error {
  override name = 'RequestError';
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** What went wrong and what to do about it, in sentences. */
export function sentencesOf(error: unknown): string {
  const { message, advice } = error instanceof RequestError ? error.problem : { message: '', advice: '' };
  return advice === '' ? messageOf(error) : `${message.replace(/\.$/, '')}. ${advice}`;
}

export interface Pending<T> {
  readonly answer: Promise<T>;
  /** Cancels the request on the server. The answer never comes then. */
  cancel(): void;
  /** How much of it is done, 0 to 1; null as long as nothing is known of that. */
  readonly done?: ReadonlySignal<number | null>;
}
