import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { interpreterSetting } from '../settings';

const CHECK = 'import memlens.server.requirements';
const CHECK_LIMIT_MS = 20_000;
const WINDOWS = process.platform === 'win32';

/** How a Python is started: `py -3` has an argument. */
export interface Interpreter {
  command: string;
  args: string[];
}

interface Candidate extends Interpreter {
  from: string;
}

/** No Python with Memlens was found; `tried` lists the candidates and why each was rejected. */
export class NoInterpreterError extends Error {
  constructor(readonly tried: string[]) {
    super('No Python with the memlens package was found');
  }
}

/**
 * Finds the Python that runs the server, the first of these that has Memlens and its dependencies:
 *
 * 1. the setting `memlens.interpreter`; when it is set, nothing else is tried,
 * 2. the extension's `.venv`, which `npm run setup` creates,
 * 3. the interpreter that is active in the Python extension, if that is installed and the workspace is trusted
 *    (it may lie in the workspace),
 * 4. `python3`, `python` or `py` on the PATH.
 *
 * Throws NoInterpreterError.
 */
export async function findInterpreter(extensionPath: string, log: Logger): Promise<Interpreter> {
  const setting = interpreterSetting();
  if (setting !== '') {
    const chosen = { command: withHome(setting), args: [], from: 'the setting memlens.interpreter' };
    const failure = await check(chosen, extensionPath);
    if (failure === null) return chosen;
    throw new NoInterpreterError([`${chosen.command} (${chosen.from}): ${failure}`]);
  }
  const tried: string[] = [];
  for (const find of [ownVenv, pythonExtension, onPath]) {
    for (const candidate of await find(extensionPath, log)) {
      const failure = await check(candidate, extensionPath);
      if (failure === null) {
        log.info(`Python for the server: ${candidate.command} (${candidate.from})`);
        return candidate;
      }
      tried.push(`${candidate.command} (${candidate.from}): ${failure}`);
    }
  }
  throw new NoInterpreterError(tried);
}

/** The environment variables of Python, which must not import from the current folder: it may be untrusted. */
export function pythonEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: '1', PYTHONUTF8: '1', PYTHONUNBUFFERED: '1' };
}

function ownVenv(extensionPath: string): Candidate[] {
  const command = path.join(
    extensionPath,
    '.venv',
    ...(WINDOWS ? ['Scripts', 'python.exe'] : ['bin', 'python']),
  );
  return existsSync(command) ? [{ command, args: [], from: "the extension's own environment" }] : [];
}

/** The part of the Python extension's interface that is used, all of it optional. */
interface PythonExtension {
  environments?: {
    getActiveEnvironmentPath?: (resource?: vscode.Uri) => { path: string };
    resolveEnvironment?: (environment: {
      path: string;
    }) => Promise<{ executable?: { uri?: vscode.Uri } } | undefined>;
  };
}

async function pythonExtension(_extensionPath: string, log: Logger): Promise<Candidate[]> {
  const extension = vscode.extensions.getExtension<PythonExtension | undefined>('ms-python.python');
  if (extension === undefined || !vscode.workspace.isTrusted) return [];
  try {
    const environments = (await extension.activate())?.environments;
    const active = environments?.getActiveEnvironmentPath?.(vscode.workspace.workspaceFolders?.[0]?.uri);
    if (active === undefined) return [];
    const resolved = await environments?.resolveEnvironment?.(active);
    const command = resolved?.executable?.uri?.fsPath ?? active.path;
    return [{ command, args: [], from: 'the Python extension' }];
  } catch (error) {
    log.warn(`the Python extension did not return the active interpreter: ${messageOf(error)}`);
    return [];
  }
}

function onPath(): Candidate[] {
  const from = 'the PATH';
  const both = ['python3', 'python'].map((command) => ({ command, args: [], from }));
  return WINDOWS ? [...both, { command: 'py', args: ['-3'], from }] : both;
}

/** Returns why this Python can't run the server, null if it can. */
function check(candidate: Interpreter, cwd: string): Promise<string | null> {
  const options = { cwd, env: pythonEnvironment(), timeout: CHECK_LIMIT_MS, windowsHide: true };
  return new Promise((resolve) => {
    execFile(candidate.command, [...candidate.args, '-c', CHECK], options, (error, _stdout, stderr) => {
      if (error === null) resolve(null);
      else if (error.killed === true) resolve(`gave no answer within ${CHECK_LIMIT_MS / 1000} seconds`);
      else {
        // The last line of a traceback names what is missing; a missing program prints nothing.
        const lastLine = stderr.trim().split('\n').at(-1);
        resolve(lastLine === undefined || lastLine === '' ? error.message : lastLine);
      }
    });
  });
}

function withHome(file: string): string {
  const home = process.env[WINDOWS ? 'USERPROFILE' : 'HOME'] ?? '~';
  return file.replace(/^~(?=[\\/])/, home).replace('${userHome}', home);
}
