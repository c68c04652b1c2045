import path from 'node:path';
import * as vscode from 'vscode';
import { messageOf } from '../base/logger';
import type { SnapshotView } from '../editor/view';

const FORMS = {
  csv: { name: 'Comma-separated values', extension: 'csv' },
  json: { name: 'JSON', extension: 'json' },
};

/** Lets the user choose a file, and writes text from a view to it, such as the rows of a query. */
export async function saveText(view: SnapshotView, form: 'csv' | 'json', text: string): Promise<void> {
  const { name, extension } = FORMS[form];
  const folder = vscode.Uri.joinPath(view.uri, '..');
  const base = path.posix.basename(view.uri.path).replace(/\.[^.]*$/, '');
  const target = await vscode.window.showSaveDialog({
    title: `Save the rows as ${name}`,
    defaultUri: vscode.Uri.joinPath(folder, `${base}-query.${extension}`),
    filters: { [name]: [extension] },
  });
  if (target === undefined) return;
  try {
    await vscode.workspace.fs.writeFile(target, Buffer.from(text, 'utf8'));
  } catch (error) {
    await vscode.window.showErrorMessage(
      `The rows could not be written to ${target.fsPath}: ${messageOf(error)}`,
    );
  }
}
