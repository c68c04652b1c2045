import path from 'node:path';
import * as vscode from 'vscode';

const SCHEME = 'memlens-staying';

/** Shows the texts that stay in a copy without values, as a document that can be searched and copied. */
export class StayingTexts implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private shown = 0;

  /** Opens the list of the copy at `file`, and resolves once it is there to be read. */
  async show(file: vscode.Uri, text: string): Promise<void> {
    this.shown += 1;
    const name = vscode.l10n.t('Texts in {0}', path.posix.basename(file.path));
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}`, query: String(this.shown) });
    this.texts.set(uri.toString(), text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? '';
  }

  dispose(): void {
    this.provider.dispose();
    this.texts.clear();
  }
}
