import * as vscode from 'vscode';
import type { Problem } from '../../shared/protocol.gen';
import { showError } from '../base/window';
import { bundledLibraries } from '../python/environment';
import type { NoInterpreterError } from '../python/interpreter';
import { NO_LIBRARIES, NO_PYTHON, problem } from './problem';

export interface MissingPython {
  /** For the page, which has buttons for it. */
  problem: Problem;
  /** What to run in a terminal, in a checkout. */
  command: string | undefined;
}

/** A checkout's set-up makes a Python with all libraries; an installed extension has them, and needs just a Python. */
export function missingPython(extensionPath: string, error: NoInterpreterError): MissingPython {
  if (bundledLibraries(extensionPath) === undefined) {
    const command = `npm --prefix "${extensionPath}" run setup`;
    const missing = vscode.l10n.t('A Python with the memlens package was not found');
    const advice = vscode.l10n.t('Run: {0} (or set memlens.interpreter to one).', command);
    return { problem: problem(NO_LIBRARIES, versionProblem(error) ?? missing, advice), command };
  }
  const missing = vscode.l10n.t('Memlens needs Python 3.11 to 3.14, which was not found');
  const advice = vscode.l10n.t(
    'Run "Memlens: Install Python…", or set memlens.interpreter to one. "Memlens: Show Log" lists those that were rejected, and why.',
  );
  return { problem: problem(NO_PYTHON, versionProblem(error) ?? missing, advice), command: undefined };
}

/** A sentence that names the Python that was found, if its version is why it can't be used. */
function versionProblem(error: NoInterpreterError): string | undefined {
  const other = error.otherVersion;
  if (other === null) return undefined;
  const { version, place, isOld } = other;
  return isOld
    ? vscode.l10n.t('Python {0} at {1} is too old: Memlens needs 3.11 or later', version, place)
    : vscode.l10n.t(
        'Python {0} at {1} is too new: this version of Memlens is for 3.11 to 3.14',
        version,
        place,
      );
}

/** Tells those who have no view open, too; the page's own buttons stay. */
export async function showMissingPython({ problem, command }: MissingPython): Promise<void> {
  const act = command === undefined ? vscode.l10n.t('Install Python') : vscode.l10n.t('Copy Command');
  const settings = vscode.l10n.t('Open Settings');
  const log = vscode.l10n.t('Show Log');
  const choice = await showError(`${problem.message}. ${problem.advice}`, act, settings, log);
  if (choice === log) await vscode.commands.executeCommand('memlens.showLog');
  if (choice === settings) await openPythonSetting();
  if (choice !== act) return;
  if (command === undefined) await vscode.commands.executeCommand('memlens.installPython');
  else await vscode.env.clipboard.writeText(command);
}

export async function openPythonSetting(): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openSettings', 'memlens.interpreter');
}
