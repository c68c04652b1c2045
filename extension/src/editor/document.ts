import type * as vscode from 'vscode';

/** A file as VS Code's editors see it. What is open in the server belongs to the views, one reference each. */
export class SnapshotDocument implements vscode.CustomDocument {
  constructor(readonly uri: vscode.Uri) {}

  dispose(): void {
    // Each view has closed its own reference when its panel went.
  }
}
