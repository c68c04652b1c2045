import * as vscode from 'vscode';
import { type Logger, messageOf } from '../base/logger';
import { showInformation } from '../base/window';
import { installPython } from '../python/install';
import type { Server } from '../server/client';
import { diagnostics } from '../server/diagnostics';
import { forgetPaths } from '../settings';

/** Commands about the server and the remembered paths. */
export function registerServerCommands(
  server: Server,
  memory: vscode.Memento,
  context: vscode.ExtensionContext,
  log: Logger,
): vscode.Disposable {
  const storagePath = context.globalStorageUri.fsPath;
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
    vscode.commands.registerCommand('memlens.copyDiagnostics', () => copyDiagnostics(context, server, log)),
    vscode.commands.registerCommand('memlens.forgetPaths', async () => {
      await forgetPaths(memory);
      await server.sendSettings();
    }),
  );
}

/** Copies what a bug report needs, and offers the page where bugs are reported. */
async function copyDiagnostics(context: vscode.ExtensionContext, server: Server, log: Logger): Promise<void> {
  await vscode.env.clipboard.writeText(await diagnostics(context, server, log));
  // SAFETY: package.json has it, which the contract step of the tests checks.
  const { bugs } = context.extension.packageJSON as { bugs: { url: string } };
  const report = vscode.l10n.t('Report a Bug…');
  const copied = vscode.l10n.t('The diagnostics were copied');
  // a package that nobody released has no such page
  const isReal = !new URL(bugs.url).hostname.endsWith('.invalid');
  if ((await showInformation(copied, ...(isReal ? [report] : []))) === report) {
    await vscode.env.openExternal(vscode.Uri.parse(bugs.url));
  }
}
