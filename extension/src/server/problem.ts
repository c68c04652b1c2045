import * as vscode from 'vscode';
import type { Problem } from '../../shared/protocol.gen';
import { messageOf } from '../base/logger';
import { showError } from '../base/window';

export const CANCELLED = 'cancelled';
export const NO_SERVER = 'no-server';
/** There is no Python that can run the server. */
export const NO_PYTHON = 'no-python';
/** In a checkout: no Python has Memlens's libraries. */
export const NO_LIBRARIES = 'no-libraries';
/** Failures that are over once the server runs. */
export const WITHOUT_SERVER: ReadonlySet<string> = new Set([NO_SERVER, NO_PYTHON, NO_LIBRARIES]);

/** LSP's error code for a request that was cancelled. */
const REQUEST_CANCELLED = -32800;

/** An error with a message for users. */
export class ProblemError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

export function problem(code: string, message: string, advice: string, retry = true): Problem {
  return { code, message, advice, offset: null, retry };
}

/** Returns the problem of a failed request, whether the server reported it or did not run. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (isResponseError(error)) {
    if (isProblem(error.data)) return error.data;
    if (error.code === REQUEST_CANCELLED)
      return problem(CANCELLED, vscode.l10n.t('Reading was cancelled'), '');
  }
  return problem(
    NO_SERVER,
    vscode.l10n.t('The Memlens server could not answer ({0})', messageOf(error)),
    vscode.l10n.t('It is restarted automatically. Run "Memlens: Show Log" for details.'),
  );
}

/** Tells the user what went wrong, and what to do. */
export function showProblem(error: unknown): void {
  const { message, advice } = problemOf(error);
  void showError(`${message.replace(/\.$/, '')}. ${advice}`.trim());
}

/** Whether an error is that of a JSON-RPC response, by its shape; `data` comes from the server's handler. */
function isResponseError(error: unknown): error is Error & { code: number; data: unknown } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'data' in error;
}

function isProblem(data: unknown): data is Problem {
  if (typeof data !== 'object' || data === null) return false;
  return (
    'code' in data && typeof data.code === 'string' && 'message' in data && typeof data.message === 'string'
  );
}
