import path from 'node:path';
import * as vscode from 'vscode';
import type { FileState } from '../../shared/messages';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';

/** A file that is written in place changes many times: it is checked this long after the first change. */
const CHECK_AFTER_MS = 300;

/**
 * Notices when a file on disk is no longer the one that was read. The system reports an event, and the server compares
 * the file; a file that is rewritten with the same content counts as the same.
 */
export class FileWatch extends Disposable {
  #watcher: vscode.Disposable | undefined;
  #following: { uri: vscode.Uri; snapshot: string } | undefined;
  #state: FileState = 'same';
  #dismissed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly server: Server,
    /** Called when `state` changes. */
    private readonly changed: () => void,
    private readonly log: Logger,
  ) {
    super();
  }

  /** The state to show to the user. */
  get state(): FileState {
    return this.#dismissed ? 'same' : this.#state;
  }

  /** Whether the file had changed when it was last checked. */
  get differs(): boolean {
    return this.#state !== 'same';
  }

  /** Watch the file of `snapshot` from now on. */
  follow(uri: vscode.Uri, snapshot: string): void {
    this.stop();
    this.#following = { uri, snapshot };
    // The file's name can't be the pattern, because VS Code's patterns can't escape all special characters.
    const folder = new vscode.RelativePattern(vscode.Uri.file(path.dirname(uri.fsPath)), '*');
    const watcher = vscode.workspace.createFileSystemWatcher(folder);
    const happened = (changed: vscode.Uri): void => {
      if (changed.fsPath === uri.fsPath) this.#checkSoon();
    };
    this.#watcher = vscode.Disposable.from(
      watcher,
      watcher.onDidChange(happened),
      watcher.onDidCreate(happened),
      watcher.onDidDelete(happened),
      // Some file systems report no events, those of other machines for instance.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused) this.check();
      }),
    );
    this.check(); // it may have changed while it was read
  }

  /** Stop watching. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#watcher?.dispose();
    this.#watcher = undefined;
    this.#following = undefined;
    this.#state = 'same';
    this.#dismissed = false;
  }

  /** Report the current state as 'same' until it changes again. */
  dismiss(): void {
    this.#dismissed = true;
    this.changed();
  }

  /** Let the server check the file. */
  check(): void {
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
        // The snapshot was closed meanwhile, or the server died: the file is checked when it is opened again.
        this.log.debug(`${uri.fsPath} was not checked: ${messageOf(error)}`);
      },
    );
  }

  override dispose(): void {
    this.stop();
    super.dispose();
  }

  #checkSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.check();
    }, CHECK_AFTER_MS);
  }
}
