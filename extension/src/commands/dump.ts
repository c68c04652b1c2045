import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { bytes } from '../../shared/bytes';
import type { PageRow, ProcessRow, RecordingRow } from '../../shared/protocol.gen';
import { pick, saveDialog, showInformation } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { showWork } from '../server/work';

/** What is dumped or recorded: a process, or a page of a browser. */
export interface Program {
  /** Its name in requests. */
  readonly program: string;
  readonly name: string;
  /** What names of its dumps end in. */
  readonly ending: string;
}

/** "Take Heap Dump…": of a running process of this user, or of a page, on the machine of the workspace. */
export function registerDumpCommand(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.takeDump', async () => {
    try {
      const items = await programs(server);
      if (items.length === 0) {
        void showInformation(
          vscode.l10n.t(
            'You have no process that can be dumped: none runs Java, Node.js, .NET, or Python 3.14 or later, and there is no browser with --remote-debugging-port.',
          ),
        );
        return;
      }
      const chosen = await pick(items, {
        title: vscode.l10n.t('Take Heap Dump'),
        placeHolder: vscode.l10n.t(
          'It pauses meanwhile; Node.js and pages also need several times their heap.',
        ),
        matchOnDescription: true,
        matchOnDetail: true,
      });
      if (chosen === undefined) return;
      const { program, name } = chosen.program;
      const target = await saveDialog({
        title: vscode.l10n.t('Save the Heap Dump of {0}', name),
        saveLabel: vscode.l10n.t('Take Dump'),
        defaultUri: vscode.Uri.joinPath(folder(), nameOfDump(chosen.program, new Date())),
      });
      if (target === undefined) return;
      const title = vscode.l10n.t('{0} pauses while its heap dump is written', name);
      const done = await showWork(server, title, (view, token) =>
        server.request('memlens/dump', { program, out: target.fsPath, view }, token),
      );
      if (done !== undefined) await editors.open(target);
    } catch (error) {
      showProblem(error);
    }
  });
}

/** The rows of those processes that can be asked, and of all pages. */
export async function programs(
  server: Server,
  canBeAsked: (process: ProcessRow) => boolean = () => true,
): Promise<ProgramItem[]> {
  const { processes, pages } = await server.request('memlens/processes', {});
  return [...processes.filter(canBeAsked).map(processItem), ...pages.map(pageItem)];
}

/** A row of a program, with how its allocations can be recorded. */
export interface ProgramItem extends vscode.QuickPickItem {
  readonly program: Program;
  readonly recordings: readonly RecordingRow[];
}

function processItem(row: ProcessRow): ProgramItem {
  const { pid, name, ending, runtime, resident_bytes, command, recordings } = row;
  return {
    label: name,
    description: vscode.l10n.t('{0} · {1} · process {2}', runtime, bytes(resident_bytes), `${pid}`),
    detail: command,
    program: { program: `${pid}`, name, ending },
    recordings,
  };
}

function pageItem({ program, type, name, url, browser, ending, recordings }: PageRow): ProgramItem {
  return {
    label: name,
    description: vscode.l10n.t('{0} · browser at {1}', kindOf(type), browser),
    detail: url,
    program: { program, name, ending },
    recordings,
  };
}

function kindOf(type: PageRow['type']): string {
  switch (type) {
    case 'page':
      return vscode.l10n.t('Page');
    case 'iframe':
      return vscode.l10n.t('Frame');
    case 'webview':
      return vscode.l10n.t('Webview');
    case 'worker':
      return vscode.l10n.t('Worker');
    case 'shared_worker':
      return vscode.l10n.t('Shared worker');
    case 'service_worker':
      return vscode.l10n.t('Service worker');
  }
}

/** Where files are written, unless the user says otherwise. */
export function folder(): vscode.Uri {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  return first?.uri ?? vscode.Uri.file(os.homedir());
}

/** `server-20261124-020359.heapsnapshot` for `server.js`: those of one program stand together, in order. */
export function nameOfDump({ name, ending }: Pick<Program, 'name' | 'ending'>, now: Date): string {
  const base = path
    .parse(name)
    .name.replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[-.]+|-+$/g, '');
  const two = (number: number): string => String(number).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `${base === '' ? 'heap' : base}-${date}-${time}${ending}`;
}
