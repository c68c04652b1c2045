import path from 'node:path';
import * as vscode from 'vscode';
import type { SavedForm } from '../../shared/messages';
import { messageOf } from '../base/logger';
import type { SnapshotView } from '../editor/view';

const FORMS: Record<SavedForm, { name: string; ending: string; what: string; title: string }> = {
  csv: { name: 'Comma-separated values', ending: 'csv', what: 'query', title: 'Save the rows' },
  json: { name: 'JSON', ending: 'json', what: 'query', title: 'Save the rows' },
  svg: { name: 'SVG', ending: 'svg', what: 'picture', title: 'Save the picture' },
  png: { name: 'PNG', ending: 'png', what: 'picture', title: 'Save the picture' },
  html: { name: 'HTML', ending: 'html', what: 'report', title: 'Save the report' },
  bookmarks: { name: 'JSON', ending: 'json', what: 'bookmarks', title: 'Save the bookmarks' },
};

/** Lets the user choose a file, and writes what a view has made to it, such as the rows of a query. */
export async function saveText(view: SnapshotView, form: SavedForm, text: string): Promise<void> {
  const { name, ending, what, title } = FORMS[form];
  const folder = vscode.Uri.joinPath(view.uri, '..');
  const base = path.posix.basename(view.uri.path).replace(/\.[^.]*$/, '');
  const target = await vscode.window.showSaveDialog({
    title: `${title} as ${name}`,
    defaultUri: vscode.Uri.joinPath(folder, `${base}-${what}.${ending}`),
    filters: { [name]: [ending] },
  });
  if (target === undefined) return;
  try {
    await vscode.workspace.fs.writeFile(target, Buffer.from(text, form === 'png' ? 'base64' : 'utf8'));
  } catch (error) {
    await vscode.window.showErrorMessage(`${target.fsPath} could not be written: ${messageOf(error)}`);
    return;
  }
  if (form !== 'html') return;
  const open = await vscode.window.showInformationMessage('The report was saved.', 'Open in Browser');
  if (open !== undefined) await vscode.env.openExternal(target);
}
