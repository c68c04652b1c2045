import path from 'node:path';
import * as vscode from 'vscode';
import type { SavedForm } from '../../shared/messages';
import { messageOf } from '../base/logger';
import { saveDialog, showError, showInformation } from '../base/window';
import type { SnapshotView } from '../editor/view';

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
export async function saveText(view: SnapshotView, form: SavedForm, text: string): Promise<void> {
  const { ending, what } = FORMS[form];
  const folder = vscode.Uri.joinPath(view.uri, '..');
  const base = path.posix.basename(view.uri.path).replace(/\.[^.]*$/, '');
  const target = await saveDialog({
    title: titleOf(form),
    defaultUri: vscode.Uri.joinPath(folder, `${base}-${what}.${ending}`),
    filters: { [ending.toUpperCase()]: [ending] },
  });
  if (target === undefined) return;
  try {
    await vscode.workspace.fs.writeFile(target, Buffer.from(text, form === 'png' ? 'base64' : 'utf8'));
  } catch (error) {
    await showError(vscode.l10n.t('{0} could not be written: {1}', target.fsPath, messageOf(error)));
    return;
  }
  if (form !== 'html') return;
  const open = await showInformation(
    vscode.l10n.t('The report was saved.'),
    vscode.l10n.t('Open in Browser'),
  );
  if (open !== undefined) await vscode.env.openExternal(target);
}
