import * as vscode from 'vscode';

/** Texts that are shown as documents, which can be searched and copied, and that are no files. */
export class ShownTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #provider: vscode.Disposable;
  #shown = 0;

  constructor(private readonly scheme: string) {
    this.#provider = vscode.workspace.registerTextDocumentContentProvider(scheme, this);
  }

  /** Returns the address of a document with this name and text. */
  add(name: string, text: string): vscode.Uri {
    this.#shown += 1;
    const uri = vscode.Uri.from({ scheme: this.scheme, path: `/${name}`, query: String(this.#shown) });
    this.#texts.set(uri.toString(), text);
    return uri;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? '';
  }

  dispose(): void {
    this.#provider.dispose();
    this.#texts.clear();
  }
}
