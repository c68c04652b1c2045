import * as vscode from 'vscode';
import type { Document } from '../../shared/protocol.gen';

const CELL = 'vscode-notebook-cell';
/** The most characters of a cell that the server accepts. */
const MOST_CELL_TEXT = 1 << 18;

/** Returns the server's identifier of a document; null if it is neither a local file nor a cell of one. */
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
