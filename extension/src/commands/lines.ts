import path from 'node:path';
import * as vscode from 'vscode';
import type { GoToArguments, ShowLineArguments } from '../../shared/protocol.gen';
import { pick, showStatus } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { SnapshotView } from '../editor/view';
import { documentOf } from '../lines/documents';
import { GO_TO_LINE, type Server, SHOW_LINE } from '../server/client';

/** Commands that lead from a source line to what it allocated. */
export function registerLineCommands(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  const show = async (target: ShowLineArguments): Promise<void> => {
    const view = await viewOf(editors, target);
    if (view === undefined) return;
    view.reveal();
    view.send({ type: 'showLine', file: target.file, line: target.line });
  };

  return vscode.Disposable.from(
    vscode.commands.registerCommand(SHOW_LINE, async (target: unknown) => {
      // Other extensions may run the command with any argument.
      if (isShowLineArguments(target)) await show(target);
    }),
    vscode.commands.registerCommand(GO_TO_LINE, async (target: unknown) => {
      if (!isGoToArguments(target)) return;
      const at = new vscode.Position(Math.max(target.line - 1, 0), 0);
      await vscode.window.showTextDocument(vscode.Uri.file(target.path), {
        selection: new vscode.Range(at, at),
      });
    }),
    vscode.commands.registerCommand('memlens.showLineAllocations', async () => {
      const editor = vscode.window.activeTextEditor;
      const document = editor === undefined ? null : documentOf(editor.document);
      if (editor === undefined || document === null) return;
      const line = editor.selection.active.line + 1;
      const { targets } =
        editors.views.length === 0
          ? { targets: [] }
          : await server.request('memlens/lineTargets', { document, line });
      const target = targets.length > 1 ? await choose(targets) : targets[0];
      if (target !== undefined) await show(target);
      else if (targets.length === 0) {
        const message = vscode.l10n.t('No open snapshot has an allocation with line {0} in its stack', line);
        showStatus(message, 5_000);
      }
    }),
  );
}

/** Returns the view of the snapshot, which is opened again if it was closed after the link was made. */
async function viewOf(
  editors: SnapshotEditorProvider,
  target: ShowLineArguments,
): Promise<SnapshotView | undefined> {
  const known = find(editors, target);
  if (known !== undefined) return known;
  const uri = vscode.Uri.file(target.path);
  await editors.show(uri, vscode.ViewColumn.Beside);
  return find(editors, target);
}

function find(editors: SnapshotEditorProvider, target: ShowLineArguments): SnapshotView | undefined {
  const views = editors.views;
  return (
    views.find((view) => view.snapshot === target.snapshot) ??
    views.find((view) => view.uri.scheme === 'file' && view.uri.fsPath === target.path)
  );
}

async function choose(targets: ShowLineArguments[]): Promise<ShowLineArguments | undefined> {
  const items = targets.map((target) => ({
    label: path.basename(target.path),
    description: target.file,
    target,
  }));
  const choice = await pick(items, {
    title: vscode.l10n.t('Show the allocations of this line in'),
  });
  return choice?.target;
}

function isGoToArguments(value: unknown): value is GoToArguments {
  if (typeof value !== 'object' || value === null) return false;
  const target = value as Partial<Record<keyof GoToArguments, unknown>>;
  return typeof target.path === 'string' && path.isAbsolute(target.path) && Number.isInteger(target.line);
}

function isShowLineArguments(value: unknown): value is ShowLineArguments {
  if (typeof value !== 'object' || value === null) return false;
  const target = value as Partial<Record<keyof ShowLineArguments, unknown>>;
  const texts = [target.snapshot, target.path, target.file];
  return texts.every((text) => typeof text === 'string') && Number.isInteger(target.line);
}
