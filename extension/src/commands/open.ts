import * as vscode from 'vscode';
import { openDialog } from '../base/window';
import type { SnapshotEditorProvider } from '../editor/provider';

/** "Open as Memory Snapshot", for files of any name, and "Open the Sample", which the extension contains. */
export function registerOpenCommands(
  extension: vscode.Uri,
  editors: SnapshotEditorProvider,
): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('memlens.openAsSnapshot', async (resource?: unknown) => {
      const uri = resource instanceof vscode.Uri ? resource : (activeUri() ?? (await askForFile()));
      if (uri !== undefined) await editors.show(uri);
    }),
    vscode.commands.registerCommand('memlens.openSample', () =>
      editors.show(vscode.Uri.joinPath(extension, 'samples', 'train.pickle')),
    ),
  );
}

/** The file of the active tab, whatever its editor. */
function activeUri(): vscode.Uri | undefined {
  const input: unknown = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  if (input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom) return input.uri;
  return undefined;
}

async function askForFile(): Promise<vscode.Uri | undefined> {
  const chosen = await openDialog({
    title: vscode.l10n.t('Open as Memory Snapshot'),
    openLabel: vscode.l10n.t('Open'),
  });
  return chosen?.[0];
}

export async function openAsText(uri: vscode.Uri, column: vscode.ViewColumn | undefined): Promise<void> {
  await vscode.commands.executeCommand('vscode.openWith', uri, 'default', column ?? vscode.ViewColumn.Active);
}
