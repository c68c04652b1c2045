import path from 'node:path';
import * as vscode from 'vscode';
import { SNAPSHOT_ENDINGS } from '../../shared/declared.gen';
import { openDialog, pick, pickMany, showStatus } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { SnapshotView } from '../editor/view';
import { siblingsOf, whenOf } from './siblings';

function filters(): Record<string, string[]> {
  return { [vscode.l10n.t('Snapshots')]: [...SNAPSHOT_ENDINGS], [vscode.l10n.t('All Files')]: ['*'] };
}

/** "Compare with Another Snapshot…" for the active view, and "Compare Memory Snapshots" for two files. */
export function registerCompareCommands(editors: SnapshotEditorProvider): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('memlens.compare', async () => {
      const view = editors.active ?? editors.views[0];
      if (view !== undefined) await chooseOther(view, editors);
      else showStatus(vscode.l10n.t('Open a snapshot to compare it with another'), 5_000);
    }),
    vscode.commands.registerCommand('memlens.compareSelected', async (one?: unknown, all?: unknown) => {
      const files = (Array.isArray(all) ? (all as unknown[]) : [one]).filter(
        (each) => each instanceof vscode.Uri,
      );
      const [first, second] = files;
      if (first === undefined || second === undefined) return;
      const view = await editors.open(first);
      view?.reveal();
      await view?.compareWith(second, false);
    }),
  );
}

/** Let the user choose what to compare a view's snapshot with: files beside it, the earlier ones first, open ones, any. */
export async function chooseOther(view: SnapshotView, editors: SnapshotEditorProvider): Promise<void> {
  // of another model it can't be compared at all
  const alike = editors.views.filter((each) => each.model === view.model);
  const open = new Map(alike.map((each) => [each.uri.toString(), each.uri]));
  open.delete(view.uri.toString());
  type Item = vscode.QuickPickItem & { uri?: vscode.Uri };
  const beside = view.uri.scheme === 'file' ? await siblingsOf(view.uri.fsPath).catch(() => []) : [];
  const siblings = beside.map(({ path: file, laterMs }) => {
    const uri = vscode.Uri.file(file);
    const isOpen = open.delete(uri.toString());
    return {
      label: path.basename(file),
      description: whenOf(laterMs),
      ...(isOpen && { detail: vscode.l10n.t('Open now') }),
      uri,
    };
  });
  const items: Item[] = [
    ...siblings,
    ...[...open.values()].map((uri) => ({
      label: path.basename(uri.fsPath),
      description: vscode.workspace.asRelativePath(path.dirname(uri.fsPath)),
      detail: vscode.l10n.t('Open now'),
      uri,
    })),
    { label: vscode.l10n.t('Choose File…'), alwaysShow: true },
    // of a heap dump there is but one moment
    ...(view.model === 'graph'
      ? []
      : [
          {
            label: path.basename(view.uri.fsPath),
            description:
              view.model === 'profile'
                ? vscode.l10n.t('this profile: another of its values')
                : vscode.l10n.t('this snapshot: other devices, other moments'),
            uri: view.uri,
          },
        ]),
  ];
  const choice = await pick(items, {
    title: vscode.l10n.t('Compare {0} with', path.basename(view.uri.fsPath)),
    placeHolder: vscode.l10n.t('Choose a snapshot. The one recorded earlier counts as “before”.'),
    matchOnDescription: true,
  });
  if (choice === undefined) return;
  const uri = choice.uri ?? (await askForFile(view));
  if (uri !== undefined) await view.compareWith(uri);
}

/** Let the user choose the heap dumps that a view's is shown over time with: any number of files beside it. */
export async function chooseSeries(view: SnapshotView): Promise<void> {
  const beside = view.uri.scheme === 'file' ? await siblingsOf(view.uri.fsPath).catch(() => []) : [];
  const items = beside.map(({ path: file, laterMs }) => ({
    ...{ label: path.basename(file), description: whenOf(laterMs), uri: vscode.Uri.file(file) },
    picked: true,
  }));
  const chosen =
    items.length === 0
      ? await openDialog({
          title: vscode.l10n.t('Heap dumps to show over time'),
          openLabel: vscode.l10n.t('Show over Time'),
          canSelectMany: true,
          ...{ defaultUri: vscode.Uri.joinPath(view.uri, '..'), filters: filters() },
        })
      : (
          await pickMany(items, {
            title: vscode.l10n.t('Show {0} over time with', path.basename(view.uri.fsPath)),
            placeHolder: vscode.l10n.t('Heap dumps of one program, in the order in which they were written'),
          })
        )?.map(({ uri }) => uri);
  if (chosen !== undefined && chosen.length > 0) await view.showSeries(chosen);
}

async function askForFile(view: SnapshotView): Promise<vscode.Uri | undefined> {
  const chosen = await openDialog({
    title: vscode.l10n.t('Compare with'),
    openLabel: vscode.l10n.t('Compare'),
    defaultUri: vscode.Uri.joinPath(view.uri, '..'),
    filters: filters(),
  });
  return chosen?.[0];
}
