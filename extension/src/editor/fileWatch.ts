import path from 'node:path';
import * as vscode from 'vscode';
import type { FileState } from '../../shared/messages';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';

/** Who writes a file in place changes it many times: it is looked at this long after the first of them. */
const LOOK_AFTER_MS = 300;

/**
 * Notices that a file on disk is not the one that was read any more. The system says that something happened, the
 * server says what it means; a file that is written again as it was counts as the same.
 */
export class FileWatch extends Disposable {
  #watcher: vscode.Disposable | undefined;
  #following: { uri: vscode.Uri; snapshot: string } | undefined;
  #state: FileState = 'same';
  #dismissed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    /** Called when `state` is another one. */
    private readonly changed: () => void,
    private readonly log: Logger,
  ) {
    super();
  }

  /** What the user is to be told. */
  get state(): FileState {
    return this.#dismissed ? 'same' : this.#state;
  }

  /** Whether the file was another one when it was last looked at. */
  get differs(): boolean {
    return this.#state !== 'same';
  }

  /** Watch the file that `snapshot` was made of from now on. */
  follow(uri: vscode.Uri, snapshot: string): void {
    this.stop();
    this.#following = { uri, snapshot };
    // A pattern of the file's own name would need its brackets escaped, which VS Code's patterns can't for all.
    const folder = new vscode.RelativePattern(vscode.Uri.file(path.dirname(uri.fsPath)), '*');
    const watcher = vscode.workspace.createFileSystemWatcher(folder);
    const happened = (changed: vscode.Uri): void => {
      if (changed.fsPath === uri.fsPath) this.#lookSoon();
    };
    this.#watcher = vscode.Disposable.from(
      watcher,
      watcher.onDidChange(happened),
      watcher.onDidCreate(happened),
      watcher.onDidDelete(happened),
      // Some disks tell of nothing, those of other machines for instance.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) this.look();
      }),
    );
    this.look(); // it may have changed while it was read
  }

  /** There is nothing to watch. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#watcher?.dispose();
    this.#watcher = undefined;
    this.#following = undefined;
    this.#state = 'same';
    this.#dismissed = false;
  }

  /** Say no more of it until something else happens to the file. */
  dismiss(): void {
    this.#dismissed = true;
    this.changed();
  }

  /** Ask the server what became of the file. */
  look(): void {
    const following = this.#following;
    if (following === undefined || this.server.health !== 'running') return;
    const { uri, snapshot } = following;
    this.server.request('memlens/fileState', { snapshot, path: uri.fsPath }).then(
      ({ state }) => {
        if (this.#following !== following || this.disposed || state === this.#state) return;
        this.#state = state;
        this.#dismissed = false;
        this.changed();
      },
      (error: unknown) => {
        // A snapshot that is closed meanwhile, or a server that died: what follows looks again.
        this.log.debug(`${uri.fsPath} was not looked at: ${messageOf(error)}`);
      },
    );
  }

  override dispose(): void {
    this.stop();
    super.dispose();
  }

  #lookSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.look();
    }, LOOK_AFTER_MS);
  }
}
