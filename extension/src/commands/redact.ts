import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import type { RedactResult } from '../../shared/protocol.gen';
import { ShownTexts } from '../base/shownTexts';
import { pick, saveDialog, showInformation } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { showWork } from '../server/work';

/** "Save Without Values…": writes the active heap dump anew, for others' eyes. */
export function registerRedactCommand(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  const staying = new ShownTexts('memlens-staying');
  const command = vscode.commands.registerCommand('memlens.redact', async () => {
    const source = editors.active?.uri;
    if (source === undefined) return;
    const name = path.posix.basename(source.path);
    const renames = editors.active?.hasValues === true ? await askForNames(name) : false;
    if (renames === undefined) return;
    const target = await saveDialog({
      title: vscode.l10n.t('Save {0} Without Values', name),
      defaultUri: vscode.Uri.joinPath(source, '..', nameWithoutValues(name)),
    });
    if (target === undefined) return;
    const leadsBack = renames ? await askForMapping(target) : null;
    if (leadsBack === undefined) return;
    const mapping = leadsBack?.fsPath ?? '';
    try {
      const title = vscode.l10n.t('Writing {0}', path.posix.basename(target.path));
      const done = await showWork(server, title, (view, token) =>
        server.request('memlens/redact', { path: source.fsPath, out: target.fsPath, mapping, view }, token),
      );
      if (done === undefined) return;
      // what is about to be sent is read before it is offered
      const texts = vscode.l10n.t('Texts in {0}', path.posix.basename(target.path));
      await vscode.window.showTextDocument(staying.add(texts, done.staying), { preview: false });
      await offer(editors, target, done);
    } catch (error) {
      showProblem(error);
    }
  });
  return vscode.Disposable.from(command, staying);
}

/** Whether a heap dump also gets other names; undefined if the user changed their mind. */
async function askForNames(name: string): Promise<boolean | undefined> {
  const items = [
    {
      label: vscode.l10n.t('Keep Names'),
      detail: vscode.l10n.t('Classes, fields, methods, threads and files keep their names.'),
      rename: false,
    },
    {
      label: vscode.l10n.t('Replace Names'),
      detail: vscode.l10n.t('Your own names are replaced; a mapping file, for you alone, restores them.'),
      rename: true,
    },
  ];
  const title = vscode.l10n.t('Save {0} Without Values', name);
  return (await pick(items, { title }))?.rename;
}

/** Where the mapping goes: the home folder is proposed, since the copy that is sent may be anywhere else. */
function askForMapping(target: vscode.Uri): Thenable<vscode.Uri | undefined> {
  const name = `${path.posix.basename(target.path).split('.')[0]}.mapping.txt`;
  return saveDialog({
    title: vscode.l10n.t('Save the Mapping to the Original Names'),
    defaultUri: vscode.Uri.file(path.join(os.homedir(), name)),
  });
}

async function offer(
  editors: SnapshotEditorProvider,
  target: vscode.Uri,
  { note, mapping }: RedactResult,
): Promise<void> {
  const open = vscode.l10n.t('Open');
  const reveal = vscode.l10n.t('Show in Folder');
  const said =
    mapping === ''
      ? vscode.l10n.t(
          'The dump was saved without its values. Names of classes, fields, functions, threads and files are still in it.',
        )
      : vscode.l10n.t(
          'The dump was saved without its values and names. {0} restores the names: keep it private.',
          path.basename(mapping),
        );
  const chosen = await showInformation(`${said} ${note}`.trim(), open, reveal);
  if (chosen === open) await editors.open(target);
  if (chosen === reveal) await vscode.commands.executeCommand('revealFileInOS', target);
}

/** `heap-without-values.hprof.gz` for `heap.hprof.gz` */
export function nameWithoutValues(name: string): string {
  const ending = /(?:\.[^.]+)?(?:\.(?:gz|zst))?$/.exec(name)?.[0] ?? '';
  return `${name.slice(0, name.length - ending.length)}-without-values${ending}`;
}
