import * as vscode from 'vscode';
import { AREA_KINDS, PANE_IDS, PICTURE_IDS, type ViewCommand } from '../../shared/messages';
import type { SnapshotEditorProvider } from '../editor/provider';

/** Palette commands that are passed on to the active view. */
const COMMANDS: readonly ViewCommand[] = [
  'fit',
  'peak',
  'zoomIn',
  'zoomOut',
  'zoomToSelection',
  'toggleAxis',
  'toggleColour',
  'togglePane',
  'nextDevice',
  'back',
  'forward',
  'copyLink',
  'exportSvg',
  'exportPng',
  'exportReport',
  'copyReport',
  'clearSelection',
  'addBookmark',
  'nextBookmark',
  'previousBookmark',
  'exportBookmarks',
  ...PANE_IDS.map((id) => `pane.${id}` as const),
  ...PICTURE_IDS.map((id) => `picture.${id}` as const),
  ...AREA_KINDS.map((kind) => `group.${kind}` as const),
  'group.none',
  'toggleHeight',
];

export function registerViewCommands(editors: SnapshotEditorProvider): vscode.Disposable {
  return vscode.Disposable.from(
    ...COMMANDS.map((command) =>
      vscode.commands.registerCommand(`memlens.${command}`, () => {
        editors.active?.send({ type: 'command', command });
      }),
    ),
    vscode.commands.registerCommand('memlens.reload', async () => {
      await editors.active?.reload();
    }),
  );
}
