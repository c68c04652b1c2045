import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { bytes } from '../../shared/bytes';
import type { ProcessRow } from '../../shared/protocol.gen';
import { withoutIcons } from '../base/texts';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { showWork } from '../server/work';

/** "Take Heap Dump…": of a running process of this user, on the machine of the workspace. */
export function registerDumpCommand(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.takeDump', async () => {
    try {
      const process = await chooseProcess(server, {
        title: vscode.l10n.t('Take Heap Dump'),
        placeHolder: vscode.l10n.t(
          'The process pauses meanwhile; Node.js also needs several times its heap.',
        ),
        none: vscode.l10n.t(
          'None of your processes can be dumped: none runs Java, Node.js, .NET, or Python 3.14 or later.',
        ),
      });
      if (process === undefined) return;
      const target = await vscode.window.showSaveDialog({
        title: vscode.l10n.t('Save the Heap Dump of {0}', process.name),
        saveLabel: vscode.l10n.t('Take Dump'),
        defaultUri: vscode.Uri.joinPath(folder(), nameOfDump(process, new Date())),
      });
      if (target === undefined) return;
      const title = vscode.l10n.t('{0} pauses while its heap dump is written', process.name);
      const done = await showWork(server, title, (view, token) =>
        server.request('memlens/dump', { pid: process.pid, out: target.fsPath, view }, token),
      );
      if (done !== undefined) await editors.open(target);
    } catch (error) {
      showProblem(error);
    }
  });
}

/** Let the user choose one of those processes that can be asked; a message says so if there is none. */
export async function chooseProcess(
  server: Server,
  { none, ...words }: Pick<vscode.QuickPickOptions, 'title' | 'placeHolder'> & { readonly none: string },
  canBeAsked: (process: ProcessRow) => boolean = () => true,
): Promise<ProcessRow | undefined> {
  const { processes: all } = await server.request('memlens/processes', {});
  const processes = all.filter(canBeAsked);
  if (processes.length === 0) {
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  const chosen = await vscode.window.showQuickPick(
    processes.map((process) => ({
      label: withoutIcons(process.name),
      description: vscode.l10n.t(
        '{0} · {1} · process {2}',
        process.runtime,
        bytes(process.resident_bytes),
        `${process.pid}`,
      ),
      detail: withoutIcons(process.command),
      process,
    })),
    { ...words, matchOnDescription: true, matchOnDetail: true },
  );
  return chosen?.process;
}

/** Where files are written, unless the user says otherwise. */
export function folder(): vscode.Uri {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  return first?.uri ?? vscode.Uri.file(os.homedir());
}

/** `server-20261124-020359.heapsnapshot` for `server.js`: those of one program stand together, in order. */
export function nameOfDump({ name, ending }: Pick<ProcessRow, 'name' | 'ending'>, now: Date): string {
  const base = path
    .parse(name)
    .name.replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^[-.]+|-+$/g, '');
  const two = (number: number): string => String(number).padStart(2, '0');
  const date = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  const time = `${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
  return `${base === '' ? 'heap' : base}-${date}-${time}${ending}`;
}
