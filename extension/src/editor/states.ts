import type * as vscode from 'vscode';
import type { ViewState } from '../../shared/messages';

const KEY = 'memlens.views';
const KEPT = 50;

/** The last state of each file's view, which is restored after its tab was closed or the window reloaded. */
export class ViewStates {
  constructor(private readonly memory: vscode.Memento) {}

  get(uri: string): ViewState | null {
    return this.#all().find(([known]) => known === uri)?.[1] ?? null;
  }

  /** Store `state`; the states of the least recently used files are dropped. */
  async set(uri: string, state: ViewState): Promise<void> {
    const others = this.#all().filter(([known]) => known !== uri);
    await this.memory.update(KEY, [[uri, state], ...others].slice(0, KEPT));
  }

  #all(): [string, ViewState][] {
    const all: unknown = this.memory.get(KEY);
    // SAFETY: only `set` writes this key.
    return Array.isArray(all) ? (all as [string, ViewState][]) : [];
  }
}
