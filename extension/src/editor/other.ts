import path from 'node:path';
import * as vscode from 'vscode';
import type { OtherSnapshot } from '../../shared/messages';
import type { OpenResult, SnapshotInfo } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';
import { problem, ProblemError, problemOf } from '../server/problem';
import { ageOf, isOlder, modifiedMs } from './age';

/** Whether two files are in one folder. */
export function inFolderOf(one: vscode.Uri, other: vscode.Uri): boolean {
  return one.scheme === other.scheme && path.dirname(one.fsPath) === path.dirname(other.fsPath);
}

/** The snapshot that a view is compared with: a second reference in the server, which is closed with the view. */
export class OtherReference extends Disposable {
  #opening: vscode.CancellationTokenSource | undefined;
  #status: OtherSnapshot | null = null;
  #open: OpenResult | undefined;
  /** Whether the user chose it as the earlier one, or as the later; undefined for neither. */
  #chosenFirst: boolean | undefined;

  constructor(
    private readonly main: vscode.Uri,
    /** The main snapshot's, while it is open. */
    private readonly mainInfo: () => SnapshotInfo | null,
    /** The view's name in the server, from which the name of the reference is made. */
    viewId: string,
    private readonly server: Server,
    private readonly changed: (status: OtherSnapshot | null, fresh: boolean) => void,
    private readonly log: Logger,
  ) {
    super();
    this.view = `${viewId}.other`;
    this.own(
      server.onDidProgress(({ view, stage, fraction }) => {
        if (view === this.view && this.#status?.is === 'opening')
          this.#set({ ...this.#status, stage, fraction });
      }),
    );
  }

  readonly view: string;

  get status(): OtherSnapshot | null {
    return this.#status;
  }

  /** The server's name for the snapshot, while it is open. */
  get snapshot(): string | null {
    return this.#open?.snapshot ?? null;
  }

  /**
   * Open `uri` instead of the current file. `fresh`: the user has just chosen it; `first`: as the earlier one, or as the
   * later.
   */
  async choose(uri: vscode.Uri, fresh: boolean, first?: boolean): Promise<void> {
    this.close();
    if (fresh) this.#chosenFirst = first;
    const opening = new vscode.CancellationTokenSource();
    this.#opening = opening;
    const file = { uri: uri.toString(), name: path.basename(uri.fsPath) };
    this.#set({ is: 'opening', ...file, stage: '', fraction: null }, fresh);
    try {
      if (uri.scheme !== 'file') {
        const advice = 'Choose a file on this machine.';
        throw new ProblemError(problem('file', `${uri.path} is not a file on this machine`, advice, false));
      }
      const params = { path: uri.fsPath, view: this.view };
      const written = Promise.all([modifiedMs(uri.fsPath), modifiedMs(this.main.fsPath)]);
      const result = await this.server.request('memlens/open', params, opening.token);
      if (this.#opening !== opening || this.disposed) {
        this.#release(result.snapshot);
        return;
      }
      this.#open = result;
      const itself = uri.toString() === this.main.toString();
      const [modified, mainModified] = await written;
      const order = isOlder(
        ageOf(uri.fsPath, modified, result.info),
        ageOf(this.main.fsPath, mainModified, this.mainInfo()),
        this.#chosenFirst,
      );
      const inFilters = inFolderOf(this.main, uri) ? file.name : uri.fsPath;
      this.#set({ is: 'open', ...file, file: inFilters, info: result.info, itself, ...order }, fresh);
    } catch (error) {
      if (this.#opening === opening) this.#set({ is: 'failed', ...file, problem: problemOf(error) }, fresh);
    } finally {
      opening.dispose();
    }
  }

  /** Open the same file again after it failed, or after the server lost it. */
  async again(): Promise<void> {
    const status = this.#status;
    this.#open = undefined;
    if (status !== null) await this.choose(vscode.Uri.parse(status.uri), false);
  }

  /** Read the open file again. */
  async reload(): Promise<void> {
    const status = this.#status;
    if (status !== null) await this.choose(vscode.Uri.parse(status.uri), false);
  }

  /** The server calls a snapshot by another name, since its answers are others now. */
  rename(snapshot: string, now: string): void {
    if (this.#open?.snapshot !== snapshot) return;
    this.#open = { ...this.#open, snapshot: now };
    this.#set(this.#status);
  }

  /** End the comparison. */
  clear(): void {
    this.close();
    this.#set(null);
  }

  override dispose(): void {
    if (this.disposed) return;
    this.close();
    super.dispose();
  }

  private close(): void {
    this.#opening?.cancel();
    this.#opening = undefined;
    if (this.#open !== undefined) this.#release(this.#open.snapshot);
    this.#open = undefined;
  }

  #release(snapshot: string): void {
    if (this.server.health !== 'running') return;
    this.server
      .request('memlens/close', { snapshot, view: this.view })
      .catch((error: unknown) => this.log.warn(`a snapshot could not be closed: ${messageOf(error)}`));
  }

  #set(status: OtherSnapshot | null, fresh = false): void {
    this.#status = status;
    if (!this.disposed) this.changed(status, fresh);
  }
}
