import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import type { Logger } from '../base/logger';
import { interpreterSetting } from '../settings';
import { type Candidate, fromEditors, inUsualFolders, onPath, ownVenv, privatePythons } from './candidates';
import { pythonEnvironment } from './environment';

const CHECK = 'import memlens.server.requirements';
const CHECK_LIMIT_MS = 20_000;

/** How a Python is started: `py -3` has an argument. */
export interface Interpreter {
  command: string;
  args: string[];
}

/** The Python that was found, and the others that were tried before it, each with why it was rejected. */
export interface Found extends Candidate {
  rejected: string[];
}

/** What `memlens.server.requirements` says of a Python of a version that Memlens isn't for. */
const OTHER_VERSION = /: is Python (?<version>\S+) at (?<place>.+); (?<needed>Memlens needs|this version)/;

/** A Python of a version that Memlens isn't for: where it is, and whether it is older or newer. */
export interface OtherVersion {
  version: string;
  place: string;
  isOld: boolean;
}

/** No Python that can run Memlens was found; `tried` lists the candidates and why each was rejected. */
export class NoInterpreterError extends Error {
  constructor(readonly tried: string[]) {
    super('No Python that can run Memlens was found');
  }

  /** The first that was rejected for its version; null if there was none. */
  get otherVersion(): OtherVersion | null {
    for (const text of this.tried) {
      const { version, place, needed } = OTHER_VERSION.exec(text)?.groups ?? {};
      if (version !== undefined && place !== undefined)
        return { version, place, isOld: needed === 'Memlens needs' };
    }
    return null;
  }
}

/** Where to look for a Python: the folder of the extension, and the one that it may store files in. */
export interface Places {
  extensionPath: string;
  storagePath: string;
}

/**
 * Finds the Python that runs the server, the first of these that can:
 *
 * 1. the setting `memlens.interpreter`; when it is set, nothing else is tried,
 * 2. a checkout's `.venv`, which `npm run setup` creates,
 * 3. the interpreters that the extensions Python and Python Environments have for the workspace, if these are installed
 *    and the workspace is trusted (an interpreter may lie in it),
 * 4. `python3`, `python`, `py` or a name with a version on the PATH,
 * 5. the folders in which installers, package managers and version managers put Pythons,
 * 6. the one that "Memlens: Install Python" installed.
 *
 * An installed extension contains all libraries, so that any CPython of a version that they are for will do; in a checkout
 * a Python needs to have them. Throws NoInterpreterError.
 */
export async function findInterpreter(
  places: Places,
  log: Logger,
  onLook: (where: string) => void = () => undefined,
): Promise<Found> {
  const setting = interpreterSetting();
  if (setting !== '') {
    const chosen = { command: withHome(setting), args: [], from: 'the setting memlens.interpreter' };
    onLook(vscode.l10n.t('Checking the Python of memlens.interpreter'));
    const failure = await check(chosen, places.extensionPath);
    if (failure === null) return { ...chosen, rejected: [] };
    throw new NoInterpreterError([`${chosen.command} (${chosen.from}): ${failure}`]);
  }
  const tried = new Map<string, string>();
  const searches: [where: string, find: () => Candidate[] | Promise<Candidate[]>][] = [
    [vscode.l10n.t('Looking for a Python'), () => ownVenv(places.extensionPath)],
    [
      vscode.l10n.t('Asking the Python extension for an interpreter'),
      () => (vscode.workspace.isTrusted ? fromEditors(log) : []),
    ],
    [vscode.l10n.t('Looking for a Python on the PATH'), onPath],
    [vscode.l10n.t('Looking for a Python in the usual folders'), inUsualFolders],
    [vscode.l10n.t('Looking for a Python'), () => privatePythons(places.storagePath)],
  ];
  for (const [where, find] of searches) {
    onLook(where);
    for (const candidate of await find()) {
      const name = [candidate.command, ...candidate.args].join(' ');
      if (tried.has(name)) continue;
      const failure = await check(candidate, places.extensionPath);
      if (failure === null) {
        log.info(`Python for the server: ${name} (${candidate.from})`);
        return { ...candidate, rejected: [...tried.values()] };
      }
      tried.set(name, `${name} (${candidate.from}): ${failure}`);
    }
  }
  throw new NoInterpreterError([...tried.values()]);
}

/** Returns why this Python can't run the server, null if it can. */
function check(candidate: Interpreter, extensionPath: string): Promise<string | null> {
  const env = pythonEnvironment(extensionPath);
  const options = { cwd: extensionPath, env, timeout: CHECK_LIMIT_MS, windowsHide: true };
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

/** A path of a setting, with the home folder that it may begin with. */
export function withHome(file: string): string {
  const home = process.env[process.platform === 'win32' ? 'USERPROFILE' : 'HOME'] ?? '~';
  return file.replace(/^~(?=[\\/])/, home).replace('${userHome}', home);
}
