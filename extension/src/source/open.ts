import path from 'node:path';
import * as vscode from 'vscode';
import type { ChangedLine } from '../../shared/protocol.gen';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';
import { rememberPath } from '../settings';
import { openCell } from './cells';

/** How long after opening a file the focus does not go back to the view: shorter than anyone changes their mind. */
const FOCUS_MS = 250;
/** Buttons of a message. */
const MOST_PLACES = 3;

/** Opens the source of a frame beside the view it was clicked in. */
export class SourceOpener {
  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {}

  /** `file` is as the snapshot spells it, `line` counts from 1; 0 means that the snapshot has none. */
  async open(view: SnapshotView, file: string, line: number, beside: boolean): Promise<void> {
    const params = { snapshot: view.snapshot ?? '', file, line };
    let found = await this.server.request('memlens/source', params);
    const column = columnFor(view.panel.viewColumn, beside);
    if (found.how === 'cell') {
      await openCell(this.server, view, params, (show) => showBeside(view, column, show));
      return;
    }
    if (found.path === null && (await this.#choose(file, found.candidates)) !== null) {
      found = await this.server.request('memlens/source', params);
    }
    if (found.path === null) {
      if (found.candidates.length === 0) {
        view.tell({ type: 'sourceMissing', file, line, lookedFor: found.looked_for });
      }
      return;
    }
    const uri = vscode.Uri.file(found.path);
    await showBeside(view, column, (where) => showAtLine(uri, found.line, where));
    if (found.changed !== null) await tellOfChange(uri, found.changed, column);
  }

  /** Ask which of several equally likely files is meant; the answer holds for good. */
  async #choose(file: string, candidates: string[]): Promise<string | null> {
    if (candidates.length === 0) return null;
    const items = candidates.map((candidate) => ({
      label: path.basename(candidate),
      description: vscode.workspace.asRelativePath(path.dirname(candidate)),
      candidate,
    }));
    const choice = await vscode.window.showQuickPick(items, {
      title: `Which file is ${file}?`,
      placeHolder: 'Several files match equally well. Your choice is remembered in this workspace.',
      matchOnDescription: true,
    });
    if (choice === undefined) return null;
    await rememberPath(this.memory, file, choice.candidate);
    await this.server.request('memlens/remember', { file, path: choice.candidate });
    return choice.candidate;
  }
}

/** Shows something beside the view, and keeps the focus there. */
async function showBeside(
  view: SnapshotView,
  column: vscode.ViewColumn,
  show: (column: vscode.ViewColumn) => Promise<vscode.ViewColumn | undefined>,
): Promise<void> {
  let shownIn = column;
  let shown = false;
  // A webview that was clicked may take the focus back when it is done with the click; whoever followed a frame
  // wants to be in the text.
  const takenBack = view.panel.onDidChangeViewState(({ webviewPanel }) => {
    if (!webviewPanel.active || !shown) return;
    takenBack.dispose();
    void show(shownIn);
  });
  shownIn = (await show(column)) ?? column;
  shown = true;
  if (view.panel.active) await show(shownIn);
  setTimeout(() => void takenBack.dispose(), FOCUS_MS);
}

async function showAtLine(
  uri: vscode.Uri,
  line: number,
  viewColumn: vscode.ViewColumn,
): Promise<vscode.ViewColumn | undefined> {
  const document = await vscode.workspace.openTextDocument(uri);
  const at = new vscode.Position(Math.min(Math.max(line - 1, 0), document.lineCount - 1), 0);
  const selection = new vscode.Range(at, at);
  const editor = await vscode.window.showTextDocument(document, { viewColumn, selection });
  editor.revealRange(selection, vscode.TextEditorRevealType.InCenter);
  return editor.viewColumn;
}

/** Something else stands at the line than what ran: say so, and offer the way to where its function stands now. */
async function tellOfChange(uri: vscode.Uri, changed: ChangedLine, column: vscode.ViewColumn): Promise<void> {
  const places = new Map(changed.lines.slice(0, MOST_PLACES).map((line) => [`Go to Line ${line}`, line]));
  const name = path.basename(uri.fsPath);
  const choice = await vscode.window.showInformationMessage(`${name}: ${changed.message}`, ...places.keys());
  const line = choice === undefined ? undefined : places.get(choice);
  if (line !== undefined) await showAtLine(uri, line, column);
}

/** Never over the view: in the group of texts that is there already, else in a new one beside it. */
function columnFor(own: vscode.ViewColumn | undefined, beside: boolean): vscode.ViewColumn {
  if (beside) return vscode.ViewColumn.Beside;
  const others = vscode.window.tabGroups.all.filter((group) => group.viewColumn !== own);
  const withText = others.find((group) => group.activeTab?.input instanceof vscode.TabInputText);
  return (withText ?? others[0])?.viewColumn ?? vscode.ViewColumn.Beside;
}
