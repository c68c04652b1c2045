import type * as vscode from 'vscode';

/** Something that owns disposables and gives them back, last one first, when it is disposed of itself. */
export class Disposable implements vscode.Disposable {
  readonly #owned: vscode.Disposable[] = [];
  #disposed = false;

  get disposed(): boolean {
    return this.#disposed;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const owned of this.#owned.splice(0).reverse()) owned.dispose();
  }

  /** Own `owned` from now on; what comes too late is disposed of at once. */
  protected own<T extends vscode.Disposable>(owned: T): T {
    if (this.#disposed) owned.dispose();
    else this.#owned.push(owned);
    return owned;
  }
}
