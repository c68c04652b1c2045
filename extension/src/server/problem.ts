import { LSPErrorCodes, ResponseError } from 'vscode-languageclient/node';
import type { Problem } from '../../shared/protocol.gen';
import { messageOf } from '../base/logger';

export const CANCELLED = 'cancelled';
export const NO_SERVER = 'no-server';

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
  if (error instanceof ResponseError) {
    if (isProblem(error.data)) return error.data;
    if (error.code === LSPErrorCodes.RequestCancelled) return problem(CANCELLED, 'Reading was cancelled', '');
  }
  return problem(
    NO_SERVER,
    `The Memlens server could not answer (${messageOf(error)})`,
    'It is started again by itself; "Memlens: Show Log" has the details.',
  );
}

function isProblem(data: unknown): data is Problem {
  if (typeof data !== 'object' || data === null) return false;
  return (
    'code' in data && typeof data.code === 'string' && 'message' in data && typeof data.message === 'string'
  );
}
