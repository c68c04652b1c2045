import type * as vscode from 'vscode';

/** A file in a custom editor. It owns nothing in the server: each of its views has a reference to the snapshot. */
export class SnapshotDocument implements vscode.CustomDocument {
  constructor(readonly uri: vscode.Uri) {}

  dispose(): void {
    // Each view has closed its reference with its panel.
  }
}
