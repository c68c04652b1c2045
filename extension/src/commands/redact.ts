import path from 'node:path';
import * as vscode from 'vscode';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { showWork } from '../server/work';

/** "Save Without Values…": writes the active heap dump anew, for others' eyes. */
export function registerRedactCommand(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  return vscode.commands.registerCommand('memlens.redact', async () => {
    const source = editors.active?.uri;
    if (source === undefined) return;
    const name = path.posix.basename(source.path);
    const target = await vscode.window.showSaveDialog({
      title: vscode.l10n.t('Save {0} Without Values', name),
      defaultUri: vscode.Uri.joinPath(source, '..', nameWithoutValues(name)),
    });
    if (target === undefined) return;
    try {
      const title = vscode.l10n.t('Writing {0}', path.posix.basename(target.path));
      const done = await showWork(server, title, (view, token) =>
        server.request('memlens/redact', { path: source.fsPath, out: target.fsPath, view }, token),
      );
      if (done !== undefined) await offer(editors, target, done.note);
    } catch (error) {
      showProblem(error);
    }
  });
}

async function offer(editors: SnapshotEditorProvider, target: vscode.Uri, note: string): Promise<void> {
  const open = vscode.l10n.t('Open');
  const said = vscode.l10n.t(
    'The dump was saved without its values. Names of classes, fields, functions, threads and files are still in it.',
  );
  if ((await vscode.window.showInformationMessage(`${said} ${note}`.trim(), open)) === open)
    await editors.open(target);
}

/** `heap-without-values.hprof.gz` for `heap.hprof.gz` */
export function nameWithoutValues(name: string): string {
  const ending = /(?:\.[^.]+)?(?:\.(?:gz|zst))?$/.exec(name)?.[0] ?? '';
  return `${name.slice(0, name.length - ending.length)}-without-values${ending}`;
}
