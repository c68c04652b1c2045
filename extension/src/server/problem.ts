import type { Problem } from '../../shared/protocol.gen';
import { messageOf } from '../base/logger';

export const CANCELLED = 'cancelled';
export const NO_SERVER = 'no-server';

/** LSP's error code for a request that was cancelled. */
const REQUEST_CANCELLED = -32800;

/** An error that already is a sentence for people. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

export function problem(code: string, message: string, advice: string, retry = true): Problem {
  return { code, message, advice, offset: null, retry };
}

/** What went wrong with a request, whether the server says so or there was none to ask. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (isResponseError(error)) {
    if (isProblem(error.data)) return error.data;
    if (error.code === REQUEST_CANCELLED) return problem(CANCELLED, 'Reading was cancelled', '');
  }
  return problem(
    NO_SERVER,
    `The Memlens server could not answer (${messageOf(error)})`,
    'It is started again by itself; "Memlens: Show Log" has the details.',
  );
}

/** The error of a JSON-RPC response, known by its shape: `data` is what the server's handler gave. */
function isResponseError(error: unknown): error is Error & { code: number; data: unknown } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'data' in error;
}

function isProblem(data: unknown): data is Problem {
  if (typeof data !== 'object' || data === null) return false;
  return (
    'code' in data && typeof data.code === 'string' && 'message' in data && typeof data.message === 'string'
  );
}
