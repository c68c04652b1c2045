import path from 'node:path';
import * as vscode from 'vscode';
import type { SavedForm } from '../../shared/messages';
import { messageOf } from '../base/logger';
import type { SnapshotView } from '../editor/view';

const FORMS: Record<SavedForm, { name: string; what: string }> = {
  csv: { name: 'Comma-separated values', what: 'query' },
  json: { name: 'JSON', what: 'query' },
  svg: { name: 'SVG', what: 'picture' },
  png: { name: 'PNG', what: 'picture' },
  html: { name: 'HTML', what: 'report' },
};

/** Lets the user choose a file, and writes what a view has made to it, such as the rows of a query. */
export async function saveText(view: SnapshotView, form: SavedForm, text: string): Promise<void> {
  const { name, what } = FORMS[form];
  const folder = vscode.Uri.joinPath(view.uri, '..');
  const base = path.posix.basename(view.uri.path).replace(/\.[^.]*$/, '');
  const target = await vscode.window.showSaveDialog({
    title: `Save the ${what === 'query' ? 'rows' : what} as ${name}`,
    defaultUri: vscode.Uri.joinPath(folder, `${base}-${what}.${form}`),
    filters: { [name]: [form] },
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
