import { execFile } from 'node:child_process';
import path from 'node:path';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { showError, ask, withProgress } from '../base/window';

/** The version that is installed: the one that most libraries have been run with. */
const VERSION = '3.13';
const LIMIT_MS = 10 * 60_000;

interface Installer {
  /** The program that has to be there. */
  program: string;
  args: string[];
  /** What it does, for the question. */
  effect: string;
}

/** The programs that can install a Python without an administrator, the least intrusive first. */
export function installers(storagePath: string, platform: NodeJS.Platform = process.platform): Installer[] {
  const folder = path.join(storagePath, 'python');
  const uv = {
    program: 'uv',
    args: ['python', 'install', VERSION, '--install-dir', folder, '--no-bin'],
    effect: vscode.l10n.t('uv downloads Python {0} into a folder that only Memlens uses', VERSION),
  };
  const brew = {
    program: 'brew',
    args: ['install', `python@${VERSION}`],
    effect: vscode.l10n.t('Homebrew installs Python {0} for all of its users', VERSION),
  };
  const winget = {
    program: 'winget',
    args: ['install', '--exact', '--id', `Python.Python.${VERSION}`, '--scope', 'user', '--silent'],
    effect: vscode.l10n.t('winget installs Python {0} for your account', VERSION),
  };
  if (platform === 'darwin') return [uv, brew];
  return platform === 'win32' ? [uv, winget] : [uv];
}

/** Installs a Python, if the user agrees. Returns whether there is a new one. */
export async function installPython(storagePath: string, log: Logger): Promise<boolean> {
  const able = await firstThatRuns(installers(storagePath));
  if (able === undefined) {
    const advice =
      process.platform === 'linux'
        ? vscode.l10n.t('Install python3 (3.11 to 3.14) with your system’s package manager')
        : vscode.l10n.t('Install Python 3.11 to 3.14 from python.org');
    void showError(
      vscode.l10n.t(
        'No program that could install a Python was found. {0}, then run "Memlens: Restart Server".',
        advice,
      ),
    );
    return false;
  }
  const install = vscode.l10n.t('Install');
  const detail = vscode.l10n.t(
    '{0}. This needs the network. It runs: {1}',
    able.effect,
    [able.program, ...able.args].join(' '),
  );
  const question = vscode.l10n.t('Install a Python for Memlens?');
  const choice = await ask(question, detail, install);
  if (choice !== install) return false;
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t('Installing Python {0}', VERSION),
  };
  try {
    await withProgress(options, () => run(able.program, able.args));
    return true;
  } catch (error) {
    log.error(`${able.program}: ${messageOf(error)}`);
    void showError(
      vscode.l10n.t('{0} could not install Python: {1}', able.program, messageOf(error).split('\n')[0] ?? ''),
    );
    return false;
  }
}

async function firstThatRuns(all: Installer[]): Promise<Installer | undefined> {
  for (const each of all) {
    try {
      await run(each.program, ['--version']);
      return each;
    } catch {
      // it is not there
    }
  }
  return undefined;
}

/** Runs a program of PATH. Rejects if it isn't there, or fails. */
export function run(program: string, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // Not in the folder that the editor was started in: Windows, and a relative entry of PATH, look for programs there.
    const cwd = path.dirname(process.execPath);
    execFile(program, args, { cwd, timeout: LIMIT_MS, windowsHide: true }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.trim() || error.message));
    });
  });
}
