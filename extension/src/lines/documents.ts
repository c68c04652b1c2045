import * as vscode from 'vscode';
import type { Document } from '../../shared/protocol.gen';

const CELL = 'vscode-notebook-cell';
/** Characters; the server takes no longer cell. */
const MOST_CELL_TEXT = 1 << 18;

/** What the server calls a text in the editor; null for what is no file of this machine, nor a cell of one. */
export function documentOf(document: vscode.TextDocument): Document | null {
  const { uri } = document;
  if (uri.scheme === 'file') return { path: uri.fsPath, cell: null };
  if (uri.scheme !== CELL || document.languageId !== 'python') return null;
  const notebook = notebookOf(document);
  if (notebook?.uri.scheme !== 'file') return null;
  const text = document.getText();
  return text.length <= MOST_CELL_TEXT ? { path: notebook.uri.fsPath, cell: text } : null;
}

function notebookOf(document: vscode.TextDocument): vscode.NotebookDocument | undefined {
  return vscode.workspace.notebookDocuments.find((notebook) =>
    notebook.getCells().some((cell) => cell.document === document),
  );
}
