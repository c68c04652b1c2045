import path from 'node:path';
import * as vscode from 'vscode';
import { messageOf, type Logger } from '../base/logger';
import { runTask } from '../base/tasks';
import { input } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import { fromEditors } from '../python/candidates';
import { ownFolders } from '../python/environment';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { folder, nameOfDump } from './dump';

/** Starts Memlens without variables of the environment, which are the program's. */
const START =
  'import os, sys; sys.path[:0] = sys.argv.pop(1).split(os.pathsep); from memlens.cli import main; sys.exit(main(sys.argv[1:]))';

/** "Run and Record…" of the file in the editor: `memlens run` in a terminal, whose file is opened when it ends. */
export function registerRunCommand(
  editors: SnapshotEditorProvider,
  server: Pick<Server, 'findInterpreter'>,
  extensionPath: string,
  log: Logger,
): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.runAndRecord', async () => {
    // the program is the workspace's
    if (!vscode.workspace.isTrusted) return;
    try {
      const document = vscode.window.activeTextEditor?.document;
      const program = await input({
        title: vscode.l10n.t('Run and Record'),
        prompt: vscode.l10n.t(
          'The command line of a Python, Node.js or Java program. Its memory is recorded, and the file is opened when it ends.',
        ),
        value: document === undefined ? '' : await commandLineOf(document, log),
        validateInput: (text) =>
          wordsOf(text).length === 0 ? vscode.l10n.t('Write a program, such as python train.py') : undefined,
      });
      if (program === undefined) return;
      await document?.save();
      const words = wordsOf(program);
      const cwd = rootOf(document);
      const files = vscode.Uri.joinPath(
        cwd,
        nameOfDump({ name: words.at(1) ?? words.at(0) ?? '', ending: '' }, new Date()),
      );
      const python = await server.findInterpreter();
      const start = [...python.args, '-I', '-c', START, ownFolders(extensionPath).join(path.delimiter)];
      const run = [...start, 'run', '-o', files.fsPath, '--', ...words];
      const task = new vscode.Task(
        { type: 'process' },
        vscode.TaskScope.Workspace,
        program,
        'Memlens',
        new vscode.ProcessExecution(python.command, run, { cwd: cwd.fsPath }),
      );
      // the command line has more than the program
      task.presentationOptions = { echo: false, showReuseMessage: false };
      await runTask(task);
      const found = await best(files);
      if (found !== undefined) await editors.open(found);
    } catch (error) {
      showProblem(error);
    }
  });
}

/** The folder in which a program runs: that of the workspace that its file is in. */
function rootOf(document: vscode.TextDocument | undefined): vscode.Uri {
  if (document === undefined || document.isUntitled) return folder();
  const root = vscode.workspace.getWorkspaceFolder(document.uri)?.uri;
  return root ?? vscode.Uri.joinPath(document.uri, '..');
}

async function commandLineOf(document: vscode.TextDocument, log: Logger): Promise<string> {
  if (document.uri.scheme !== 'file') return '';
  const file = quoted(path.relative(rootOf(document).fsPath, document.uri.fsPath));
  switch (document.languageId) {
    case 'python': {
      const [chosen] = await fromEditors(log).catch((error: unknown) => {
        log.warn(`no interpreter of the workspace: ${messageOf(error)}`);
        return [];
      });
      const standard = process.platform === 'win32' ? 'python' : 'python3';
      return `${quoted(chosen?.command ?? standard)} ${file}`;
    }
    case 'javascript':
      return `node ${file}`;
    case 'java':
      return `java ${file}`;
    default:
      return '';
  }
}

function quoted(word: string): string {
  return /[\s'"\\]/.test(word) ? `"${word.replaceAll(/["\\]/g, '\\$&')}"` : word;
}

/** The words of a command line: quotes keep blanks, and in double quotes a backslash keeps a quote or a backslash. */
export function wordsOf(line: string): string[] {
  const words = line.match(/(?:"(?:\\["\\]|[^"])*"|'[^']*'|[^\s"'])+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(
      /"((?:\\["\\]|[^"])*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) =>
        double === undefined ? (single ?? '') : double.replaceAll(/\\(["\\])/g, '$1'),
    ),
  );
}

/** Why files were written, the best first: what ran out tells more than what was there at the end. */
const REASONS = [
  'oom',
  'memory-error',
  'limit',
  'java_pid',
  'Heap',
  'error',
  'terminated',
  'run',
  'end',
  'step',
  'asked',
];
const SNAPSHOTS = /\.(?:pickle|tracemalloc|bin|heapsnapshot|hprof)$/;

/** The name of the file to open among those that a program left. */
export function bestOf(names: readonly string[]): string | undefined {
  const rank = (name: string): number => {
    const at = REASONS.findIndex((reason) => name.startsWith(reason));
    return at < 0 ? REASONS.length : at;
  };
  return names
    .filter((name) => SNAPSHOTS.test(name))
    .toSorted((a, b) => rank(a) - rank(b) || a.localeCompare(b, 'en', { numeric: true }))
    .at(0);
}

async function best(files: vscode.Uri): Promise<vscode.Uri | undefined> {
  try {
    const name = bestOf((await vscode.workspace.fs.readDirectory(files)).map(([each]) => each));
    return name === undefined ? undefined : vscode.Uri.joinPath(files, name);
  } catch (error) {
    // there is no folder: the terminal shows why
    if (error instanceof vscode.FileSystemError) return undefined;
    throw error;
  }
}
