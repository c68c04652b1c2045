import type * as vscode from 'vscode';

/** An object that owns disposables and disposes of them, last one first, when it is disposed of itself. */
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

  /** Own `owned` from now on; after `dispose` it is disposed of at once. */
  protected own<T extends vscode.Disposable>(owned: T): T {
    if (this.#disposed) owned.dispose();
    else this.#owned.push(owned);
    return owned;
  }
}
