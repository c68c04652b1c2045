import * as vscode from 'vscode';
import { VIEW_COMMANDS } from '../../shared/commands.gen';
import type { SnapshotEditorProvider } from '../editor/provider';

export function registerViewCommands(editors: SnapshotEditorProvider): vscode.Disposable {
  return vscode.Disposable.from(
    ...VIEW_COMMANDS.map((command) =>
      vscode.commands.registerCommand(`memlens.${command}`, () => {
        editors.active?.send({ type: 'command', command });
      }),
    ),
    vscode.commands.registerCommand('memlens.reload', async () => {
      await editors.active?.reload();
    }),
  );
}
