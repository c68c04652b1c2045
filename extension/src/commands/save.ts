import path from 'node:path';
import * as vscode from 'vscode';
import type { SavedForm } from '../../shared/messages';
import { messageOf } from '../base/logger';
import { saveDialog, showError, showInformation } from '../base/window';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';

/** The ending of a saved file, and the end of its name; neither is translated. */
const FORMS: Record<SavedForm, { ending: string; what: string }> = {
  csv: { ending: 'csv', what: 'query' },
  json: { ending: 'json', what: 'query' },
  svg: { ending: 'svg', what: 'picture' },
  png: { ending: 'png', what: 'picture' },
  html: { ending: 'html', what: 'report' },
  bookmarks: { ending: 'json', what: 'bookmarks' },
};

/** The title of the dialog that asks where. */
function titleOf(form: SavedForm): string {
  switch (form) {
    case 'csv':
      return vscode.l10n.t('Save Rows as CSV');
    case 'json':
      return vscode.l10n.t('Save Rows as JSON');
    case 'svg':
      return vscode.l10n.t('Save Picture as SVG');
    case 'png':
      return vscode.l10n.t('Save Picture as PNG');
    case 'html':
      return vscode.l10n.t('Save Report as HTML');
    case 'bookmarks':
      return vscode.l10n.t('Save Bookmarks as JSON');
  }
}

/** Lets the user choose a file, and writes what a view has made to it, such as the rows of a query. */
export async function saveText(
  server: Server,
  view: SnapshotView,
  form: SavedForm,
  text: string,
): Promise<void> {
  const { ending, what } = FORMS[form];
  const folder = vscode.Uri.joinPath(view.uri, '..');
  const base = path.posix.basename(view.uri.path).replace(/\.[^.]*$/, '');
  const target = await saveDialog({
    title: titleOf(form),
    defaultUri: vscode.Uri.joinPath(folder, `${base}-${what}.${ending}`),
    filters: { [ending.toUpperCase()]: [ending] },
  });
  if (target === undefined) return;
  const encoding = form === 'png' ? 'base64' : 'utf8';
  try {
    if (target.scheme === 'file')
      await server.request('memlens/save', {
        source: view.uri.fsPath,
        path: target.fsPath,
        text,
        form: encoding,
      });
    else await writeElsewhere(target, Buffer.from(text, encoding));
  } catch (error) {
    if (target.scheme === 'file') showProblem(error);
    else await showError(vscode.l10n.t('{0} could not be written: {1}', target.fsPath, messageOf(error)));
    return;
  }
  if (form !== 'html') return;
  const open = await showInformation(
    vscode.l10n.t('The report was saved.'),
    vscode.l10n.t('Open in Browser'),
  );
  if (open !== undefined) await vscode.env.openExternal(target);
}

/** Writes to what is no disk of this machine, and so can't be a snapshot that is open: beside the file, then renamed. */
async function writeElsewhere(target: vscode.Uri, data: Uint8Array): Promise<void> {
  const partial = target.with({ path: `${target.path}.partial-${process.pid}` });
  /* oxlint-disable memlens/writes-by-save -- the server writes to disks of this machine alone */
  try {
    await vscode.workspace.fs.writeFile(partial, data);
    await vscode.workspace.fs.rename(partial, target, { overwrite: true });
  } catch (error) {
    await vscode.workspace.fs.delete(partial).then(undefined, () => undefined);
    throw error;
  }
  /* oxlint-enable memlens/writes-by-save */
}
