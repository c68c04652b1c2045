import * as vscode from 'vscode';

/** The one place where the extension writes what nobody needs to see at once. The server's stderr goes there too. */
export type Logger = vscode.LogOutputChannel;

export function createLogger(): Logger {
  return vscode.window.createOutputChannel('Memlens', { log: true });
}

/** Any thrown value as a sentence. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
