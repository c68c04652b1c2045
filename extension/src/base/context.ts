import * as vscode from 'vscode';

/** Set a key that `when` clauses of package.json ask for. */
export function setContext(key: string, value: unknown): void {
  void vscode.commands.executeCommand('setContext', key, value);
}
