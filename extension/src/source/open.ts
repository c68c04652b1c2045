import path from 'node:path';
import * as vscode from 'vscode';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';
import { rememberPath } from '../settings';

/** How long after opening a file the focus does not go back to the view: shorter than anyone changes their mind. */
const FOCUS_MS = 250;

/** Opens the source of a frame beside the view it was clicked in. */
export class SourceOpener {
  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {}

  /** `file` is as the snapshot spells it, `line` counts from 1; 0 means that the snapshot has none. */
  async open(view: SnapshotView, file: string, line: number, beside: boolean): Promise<void> {
    const found = await this.server.request('memlens/source', { file, line });
    const chosen = found.path ?? (await this.#choose(file, found.candidates));
    if (chosen === null) {
      if (found.candidates.length === 0) {
        view.tell({ type: 'sourceMissing', file, line, lookedFor: found.looked_for });
      }
      return;
    }
    await showAtLine(view, vscode.Uri.file(chosen), found.line, columnFor(view.panel.viewColumn, beside));
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

async function showAtLine(
  view: SnapshotView,
  uri: vscode.Uri,
  line: number,
  viewColumn: vscode.ViewColumn,
): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const at = new vscode.Position(Math.min(Math.max(line - 1, 0), document.lineCount - 1), 0);
  const selection = new vscode.Range(at, at);
  const show = async (column: vscode.ViewColumn): Promise<vscode.TextEditor> =>
    vscode.window.showTextDocument(document, { viewColumn: column, selection, preserveFocus: false });
  let shownIn = viewColumn;
  let shown = false;
  // A webview that was clicked may take the focus back when it is done with the click; whoever followed a frame
  // wants to be in the text.
  const takenBack = view.panel.onDidChangeViewState(({ webviewPanel }) => {
    if (!webviewPanel.active || !shown) return;
    takenBack.dispose();
    void show(shownIn);
  });
  const editor = await show(viewColumn);
  shownIn = editor.viewColumn ?? viewColumn;
  shown = true;
  editor.revealRange(selection, vscode.TextEditorRevealType.InCenter);
  if (view.panel.active) await show(shownIn);
  setTimeout(() => void takenBack.dispose(), FOCUS_MS);
}

/** Never over the view: in the group of texts that is there already, else in a new one beside it. */
function columnFor(own: vscode.ViewColumn | undefined, beside: boolean): vscode.ViewColumn {
  if (beside) return vscode.ViewColumn.Beside;
  const others = vscode.window.tabGroups.all.filter((group) => group.viewColumn !== own);
  const withText = others.find((group) => group.activeTab?.input instanceof vscode.TabInputText);
  return (withText ?? others[0])?.viewColumn ?? vscode.ViewColumn.Beside;
}
