import path from 'node:path';
import * as vscode from 'vscode';
import type { CellResult, FoundCell, OpenNotebook } from '../../shared/protocol.gen';
import { pick } from '../base/window';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';

const MOST_NOTEBOOKS = 50;
const MOST_CELL_TEXT = 1 << 18;

type Show = (column: vscode.ViewColumn) => Promise<vscode.ViewColumn | undefined>;

/**
 * Opens the notebook cell that a frame's file refers to. It is found by its code; if that was edited since the run, the
 * user chooses the cell.
 */
export async function openCell(
  server: Server,
  view: SnapshotView,
  frame: { snapshot: string; file: string; line: number },
  showBeside: (show: Show) => Promise<void>,
): Promise<void> {
  const result = await server.request('memlens/cell', { ...frame, open_notebooks: openNotebooks() });
  const cell = result.cells.length === 1 ? result.cells[0] : await choose(frame.file, result);
  if (cell !== undefined) {
    await showBeside((column) => reveal(cell, column));
  } else if (result.cells.length + result.candidates.length === 0) {
    const lookedFor =
      result.notebooks === 1
        ? vscode.l10n.t(
            '{0} among the cells of 1 notebook: it was edited since the run, or is in another workspace',
            frame.file,
          )
        : vscode.l10n.t(
            '{0} among the cells of {1} notebooks: it was edited since the run, or is in another workspace',
            frame.file,
            result.notebooks,
          );
    view.send({ type: 'sourceMissing', file: frame.file, line: frame.line, lookedFor: [lookedFor] });
  }
}

/** Returns notebooks with their content in the editor, which may not be saved. */
function openNotebooks(): OpenNotebook[] {
  return vscode.workspace.notebookDocuments
    .filter(({ notebookType, uri }) => notebookType === 'jupyter-notebook' && uri.scheme === 'file')
    .slice(0, MOST_NOTEBOOKS)
    .map((notebook) => ({
      path: notebook.uri.fsPath,
      cells: notebook
        .getCells()
        .filter(({ kind }) => kind === vscode.NotebookCellKind.Code)
        .map((cell) => ({
          index: cell.index,
          text: cell.document.getText(),
          execution_count: cell.executionSummary?.executionOrder ?? null,
        }))
        .filter(({ text }) => text.length <= MOST_CELL_TEXT),
    }));
}

async function choose(file: string, result: CellResult): Promise<FoundCell | undefined> {
  const exact = result.cells.length > 0;
  const cells = exact ? result.cells : result.candidates;
  if (cells.length === 0) return undefined;
  const why = {
    execution_count: vscode.l10n.t('These have the same execution count, but different code.'),
    function: vscode.l10n.t('These define a function of the same name, but their code is different.'),
    none: '',
  }[result.reason];
  const items = cells.map((cell) => ({
    label: vscode.l10n.t('{0}: cell {1}', path.basename(cell.path), cell.index + 1),
    description: cell.title,
    detail: vscode.workspace.asRelativePath(cell.path),
    cell,
  }));
  const choice = await pick(items, {
    title: exact
      ? vscode.l10n.t('Which cell is {0}?', file)
      : vscode.l10n.t('The cell {0} was edited since the run', file),
    placeHolder: exact ? vscode.l10n.t('Several cells have the same code.') : why,
    matchOnDescription: true,
  });
  return choice?.cell;
}

async function reveal(
  cell: FoundCell,
  viewColumn: vscode.ViewColumn,
): Promise<vscode.ViewColumn | undefined> {
  const notebook = await vscode.workspace.openNotebookDocument(vscode.Uri.file(cell.path));
  const index = Math.min(cell.index, notebook.cellCount - 1);
  if (index < 0) return undefined;
  // Opening the cell's document shows its notebook, with the cursor in the cell.
  const { document } = notebook.cellAt(index);
  const at = new vscode.Position(Math.min(Math.max(cell.line, 1), document.lineCount) - 1, 0);
  await vscode.commands.executeCommand('vscode.open', document.uri, {
    selection: new vscode.Range(at, at),
    viewColumn,
  } satisfies vscode.TextDocumentShowOptions);
  const shown = vscode.window.visibleNotebookEditors.find((editor) => editor.notebook === notebook);
  return shown?.viewColumn;
}
