import * as vscode from 'vscode';
import type { ViewCommand } from '../../shared/messages';
import type { SnapshotEditorProvider } from '../editor/provider';

/** Palette commands that the view in front carries out itself. */
const COMMANDS: Record<ViewCommand, true> = {
  fit: true,
  peak: true,
  zoomIn: true,
  zoomOut: true,
  zoomToSelection: true,
  toggleAxis: true,
  toggleColour: true,
  toggleTable: true,
  nextDevice: true,
  clearSelection: true,
};

export function registerViewCommands(editors: SnapshotEditorProvider): vscode.Disposable {
  // SAFETY: Object.keys loses the type of the keys just written.
  const commands = Object.keys(COMMANDS) as ViewCommand[];
  return vscode.Disposable.from(
    ...commands.map((command) =>
      vscode.commands.registerCommand(`memlens.${command}`, () => {
        editors.active?.tell({ type: 'command', command });
      }),
    ),
  );
}
