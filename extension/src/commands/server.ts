import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { installPython } from '../python/install';
import type { Server } from '../server/client';
import { forgetPaths } from '../settings';

/** Commands about the server and the remembered paths. */
export function registerServerCommands(
  server: Server,
  memory: vscode.Memento,
  storagePath: string,
  log: Logger,
): vscode.Disposable {
  const restart = async () => {
    try {
      await server.restart();
    } catch (error) {
      log.error(`restart: ${messageOf(error)}`); // the status item and the views show it, too
    }
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('memlens.restartServer', restart),
    vscode.commands.registerCommand('memlens.installPython', async () => {
      if (await installPython(storagePath, log)) await restart();
    }),
    vscode.commands.registerCommand('memlens.showLog', () => {
      log.show();
    }),
    vscode.commands.registerCommand('memlens.forgetPaths', async () => {
      await forgetPaths(memory);
      await server.sendSettings();
    }),
  );
}
