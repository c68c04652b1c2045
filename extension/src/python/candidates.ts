// Where Pythons may be. Nothing here runs one.

import { existsSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';

const WINDOWS = process.platform === 'win32';
const PROGRAM = WINDOWS ? 'python.exe' : path.join('bin', 'python3');
/** The versions that have libraries in an installed extension, the preferred ones first. */
const VERSIONS = ['3.13', '3.14', '3.12', '3.11'];

export interface Candidate {
  command: string;
  args: string[];
  /** Where it was found, for the log. */
  from: string;
}

/** The environment of a checkout. */
export function ownVenv(extensionPath: string): Candidate[] {
  const program = WINDOWS ? ['Scripts', 'python.exe'] : ['bin', 'python'];
  return existing([path.join(extensionPath, '.venv', ...program)], "the extension's own environment");
}

/** What "Memlens: Install Python" installed. */
export function privatePythons(storagePath: string): Candidate[] {
  return existing(within(path.join(storagePath, 'python'), PROGRAM), 'installed by Memlens');
}

export function onPath(): Candidate[] {
  const from = 'the PATH';
  const names = WINDOWS
    ? ['python3', 'python']
    : ['python3', ...VERSIONS.map((version) => `python${version}`), 'python'];
  const plain = names.map((command) => ({ command, args: [], from }));
  return WINDOWS ? [...plain, { command: 'py', args: ['-3'], from }] : plain;
}

/** Where installers, package managers and version managers put Pythons. */
export function inUsualFolders(): Candidate[] {
  return existing(WINDOWS ? usualOnWindows() : usualElsewhere(), 'a usual folder');
}

function usualOnWindows(): string[] {
  const local = process.env['LOCALAPPDATA'] ?? path.join(os.homedir(), 'AppData', 'Local');
  const roaming = process.env['APPDATA'] ?? path.join(os.homedir(), 'AppData', 'Roaming');
  const short = VERSIONS.map((version) => version.replace('.', ''));
  const installed = [
    path.join(local, 'Programs', 'Python'),
    process.env['ProgramFiles'] ?? 'C:\\Program Files',
    'C:\\',
  ];
  return [
    ...installed.flatMap((folder) => short.map((version) => path.join(folder, `Python${version}`, PROGRAM))),
    ...within(path.join(roaming, 'uv', 'python'), PROGRAM),
    ...condas().map((folder) => path.join(folder, PROGRAM)),
  ];
}

function usualElsewhere(): string[] {
  const home = os.homedir();
  const folders = ['/usr/local/bin', '/opt/homebrew/bin', '/usr/bin', path.join(home, '.local', 'bin')];
  return [
    ...folders.flatMap((folder) => VERSIONS.map((version) => path.join(folder, `python${version}`))),
    ...VERSIONS.map(
      (version) => `/Library/Frameworks/Python.framework/Versions/${version}/bin/python${version}`,
    ),
    ...within(path.join(home, '.local', 'share', 'uv', 'python'), PROGRAM),
    ...within(path.join(home, '.pyenv', 'versions'), PROGRAM),
    ...condas().map((folder) => path.join(folder, PROGRAM)),
  ];
}

function condas(): string[] {
  const names = ['miniforge3', 'miniconda3', 'anaconda3'];
  return [...names.map((name) => path.join(os.homedir(), name)), ...(WINDOWS ? [] : ['/opt/conda'])];
}

/** A program in each folder of a folder, the highest version first. */
function within(folder: string, program: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return []; // there is none
  }
  const newestFirst = names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return newestFirst.map((name) => path.join(folder, name, program));
}

function existing(commands: string[], from: string): Candidate[] {
  return commands.filter((command) => existsSync(command)).map((command) => ({ command, args: [], from }));
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

/** Likewise of the extension Python Environments. */
interface EnvironmentsExtension {
  getEnvironment?: (scope?: vscode.Uri) => Promise<
    | {
        execInfo?: { run?: { executable?: string; args?: string[] } };
      }
    | undefined
  >;
}

/** The interpreters that other extensions have for the workspace. They may lie in it: ask only if it is trusted. */
export async function fromEditors(log: Logger): Promise<Candidate[]> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const found: Candidate[] = [];
  await ask('ms-python.vscode-python-envs', log, async (api) => {
    const run = (await (api as EnvironmentsExtension).getEnvironment?.(folder))?.execInfo?.run;
    if (run?.executable !== undefined)
      found.push({
        command: run.executable,
        args: run.args ?? [],
        from: 'the Python Environments extension',
      });
  });
  await ask('ms-python.python', log, async (api) => {
    const { environments } = api as PythonExtension;
    const active = environments?.getActiveEnvironmentPath?.(folder);
    if (active === undefined) return;
    const resolved = await environments?.resolveEnvironment?.(active);
    const command = resolved?.executable?.uri?.fsPath ?? active.path;
    found.push({ command, args: [], from: 'the Python extension' });
  });
  return found;
}

/** Asks another extension's interface, if that extension is installed. */
async function ask(name: string, log: Logger, question: (api: object) => Promise<void>): Promise<void> {
  const extension = vscode.extensions.getExtension<object | undefined>(name);
  if (extension === undefined) return;
  try {
    const api = await extension.activate();
    if (api !== undefined) await question(api);
  } catch (error) {
    log.warn(`${name} did not return the active interpreter: ${messageOf(error)}`);
  }
}
