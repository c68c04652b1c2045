import * as vscode from 'vscode';

/** The log of the extension, which also has the server's stderr. */
export type Logger = vscode.LogOutputChannel;

export function createLogger(): Logger {
  return vscode.window.createOutputChannel('Memlens', { log: true });
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
