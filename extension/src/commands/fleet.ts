import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { openDialog, showError, ask, withProgress } from '../base/window';
import { FLEET_VIEW_TYPE } from '../editor/fleet';
import { pythonEnvironment } from '../python/environment';
import { findInterpreter, type Interpreter } from '../python/interpreter';

const DATABASE = 'memlens-fleet.db';
const NEEDED = 'import dask, distributed, fsspec, pyarrow';
const CHECK_LIMIT_MS = 60_000;

/** "Open Folder as Fleet": opens a folder's summaries, which are made first where there are none. */
export function registerFleetCommands(context: vscode.ExtensionContext, log: Logger): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.openFleet', async (resource?: unknown) => {
    const uri = resource instanceof vscode.Uri ? resource : await askForFolder();
    if (uri === undefined) return;
    try {
      const database = summariesOf(uri.fsPath);
      if (database === undefined) await summarise(uri.fsPath, context, log);
      else await show(database);
    } catch (error) {
      log.error(`fleet: ${messageOf(error)}`);
      void showError(messageOf(error));
    }
  });
}

async function show(database: string): Promise<void> {
  await vscode.commands.executeCommand('vscode.openWith', vscode.Uri.file(database), FLEET_VIEW_TYPE);
}

async function askForFolder(): Promise<vscode.Uri | undefined> {
  const chosen = await openDialog({
    ...{ title: vscode.l10n.t('Open Folder as Fleet'), openLabel: vscode.l10n.t('Open as Fleet') },
    ...{ canSelectFiles: false, canSelectFolders: true },
  });
  return chosen?.[0];
}

/** The summaries in a folder or, as `memlens fleet` writes them, beside it. */
export function summariesOf(folder: string): string | undefined {
  return [path.join(folder, DATABASE), path.join(`${folder}.fleet`, DATABASE)].find((each) =>
    existsSync(each),
  );
}

/** Make the summaries of a folder, and show them from the first one on, if the user agrees. Throws what went wrong. */
async function summarise(folder: string, context: vscode.ExtensionContext, log: Logger): Promise<void> {
  const { extensionPath, globalStorageUri } = context;
  const python = await findInterpreter({ extensionPath, storagePath: globalStorageUri.fsPath }, log);
  const name = path.basename(folder);
  if (!(await hasEngine(python, extensionPath)))
    throw new Error(
      vscode.l10n.t(
        "{0} has no summaries of a fleet, and the Python of Memlens lacks the packages to make them. Install them: {1} -m pip install 'memlens[fleet]'. Or run memlens fleet elsewhere and open the folder of its summaries.",
        name,
        [python.command, ...python.args].join(' '),
      ),
    );
  const out = `${folder}.fleet`;
  const read = vscode.l10n.t('Read All');
  const detail = vscode.l10n.t(
    'One process per core reads every snapshot below it; the summaries are written to {0}.',
    out,
  );
  const question = vscode.l10n.t('{0} has no summaries yet. Read all of its snapshots?', name);
  if ((await ask(question, detail, read)) !== read) return;
  const options = {
    location: vscode.ProgressLocation.Notification,
    title: vscode.l10n.t('Reading the snapshots of {0}', name),
    cancellable: true,
  };
  await withProgress(options, async (progress, token) => {
    const database = path.join(out, DATABASE);
    let shown: Promise<void> | undefined;
    const args = [
      ...python.args,
      '-m',
      'memlens',
      'fleet',
      'run',
      folder,
      '--out',
      out,
      '--progress',
      'json',
    ];
    const child = spawn(python.command, args, {
      ...{ cwd: extensionPath, env: pythonEnvironment(extensionPath), windowsHide: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    // Interrupted like this it keeps what is finished, and the next run continues from there.
    token.onCancellationRequested(() => child.kill('SIGINT'));
    const read = new FleetProgress();
    createInterface(child.stdout).on('line', (line) => {
      const step = read.on(line);
      if (step === null) return;
      progress.report(step);
      // From now on the map follows what is written.
      if (step.increment !== undefined && existsSync(database)) shown ??= show(database);
    });
    let errors = '';
    child.stderr.on('data', (data: Buffer) => {
      errors = `${errors}${data.toString()}`.slice(-10_000);
    });
    const status = await ended(child);
    await shown;
    if (errors !== '') log.info(`memlens fleet: ${errors.trim()}`);
    if (token.isCancellationRequested) return;
    if (status !== 0)
      throw new Error(
        errors === ''
          ? `memlens fleet ended with status ${String(status)}`
          : errors.trim().split('\n').at(-1),
      );
    if (shown === undefined) await show(database);
  });
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

function hasEngine(python: Interpreter, extensionPath: string): Promise<boolean> {
  const env = pythonEnvironment(extensionPath);
  return new Promise((resolve) => {
    execFile(
      python.command,
      [...python.args, '-c', NEEDED],
      { cwd: extensionPath, env, timeout: CHECK_LIMIT_MS, windowsHide: true },
      (error) => resolve(error === null),
    );
  });
}

/** What `memlens fleet --progress json` prints, as VS Code's progress. */
export class FleetProgress {
  #files = 0;

  /** The step of a line, null where it is none. */
  on(line: string): { message: string; increment?: number } | null {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return null;
    }
    if (typeof message !== 'object' || message === null || !('type' in message)) return null;
    const { type, files, known, done, name } = message as Record<string, unknown>;
    if (type === 'listed' && typeof files === 'number' && typeof known === 'number') {
      this.#files = files - known;
      return { message: `0 of ${this.#files.toLocaleString('en-US')}` };
    }
    if (type === 'file' && typeof done === 'number' && typeof name === 'string') {
      const of = `${done.toLocaleString('en-US')} of ${this.#files.toLocaleString('en-US')}`;
      return { message: `${of}: ${name}`, increment: 100 / Math.max(this.#files, 1) };
    }
    return null;
  }
}
