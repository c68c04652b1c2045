import path from 'node:path';
import * as vscode from 'vscode';
import type { SeriesDump } from '../../shared/messages';
import type { SnapshotInfo } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import type { Logger } from '../base/logger';
import type { Server } from '../server/client';
import { ageOf, modifiedMs, oldestFirst } from './age';
import { inFolderOf, OtherReference } from './other';

/** The heap dumps that a view shows over time beside its own: a reference in the server for each of them. */
export class Series extends Disposable {
  #others: { reference: OtherReference; modified: number | null }[] = [];
  #ownModified: number | null = null;
  #made = 0;
  /** The files that the user chose. */
  chosen: readonly string[] = [];

  constructor(
    private readonly main: vscode.Uri,
    /** The view's own, while it is open. */
    private readonly mainInfo: () => SnapshotInfo | null,
    private readonly viewId: string,
    private readonly server: Server,
    private readonly changed: () => void,
    private readonly log: Logger,
  ) {
    super();
  }

  /** All dumps, the view's own among them, in the order in which they were taken; empty without others. */
  get dumps(): SeriesDump[] {
    if (this.#others.length === 0) return [];
    const others = this.#others.flatMap(({ reference: { status }, modified }) => {
      if (status === null) return [];
      const { is, uri, name } = status;
      const message = status.is === 'failed' ? status.problem.message : '';
      const dump: SeriesDump = { is, uri, name, file: this.#file(vscode.Uri.parse(uri)), message };
      const age = ageOf(name, modified, status.is === 'open' ? status.info : null);
      return [{ dump, age, isRead: is === 'open' }];
    });
    const own = this.#own;
    const age = ageOf(own.name, this.#ownModified, this.mainInfo());
    return oldestFirst([...others, { dump: own, age, isRead: true }]).map(({ dump }) => dump);
  }

  /** The server's names in the order of `dumps`, of those that are open; `own` is that of the view's. */
  names(own: string): string[] {
    const known = new Map(
      this.#others.map(({ reference }) => [reference.status?.uri ?? '', reference.snapshot]),
    );
    return this.dumps.flatMap((dump) => (dump.is === 'own' ? own : (known.get(dump.uri) ?? [])));
  }

  /** Show these files instead of the current ones. */
  async choose(uris: readonly vscode.Uri[]): Promise<void> {
    this.clear();
    this.chosen = uris.map((uri) => uri.toString());
    this.#ownModified = await modifiedMs(this.main.fsPath);
    const own = this.main.toString();
    const files = [...new Map(uris.map((uri) => [uri.toString(), uri])).values()];
    const opened = files.filter((uri) => uri.toString() !== own);
    // one after the other: each may need as much memory as its file is large
    for (const uri of opened) {
      const id = `${this.viewId}.series${this.#made++}`;
      const reference = new OtherReference(this.main, () => null, id, this.server, this.changed, this.log);
      this.#others.push({ reference, modified: await modifiedMs(uri.fsPath) });
      if (this.disposed) reference.dispose();
      else await reference.choose(uri, false);
    }
  }

  rename(snapshot: string, now: string): void {
    for (const { reference } of this.#others) reference.rename(snapshot, now);
  }

  /** Open all of them again, after the server lost them. */
  async again(): Promise<void> {
    for (const { reference } of this.#others) await reference.again();
  }

  clear(): void {
    const others = this.#others;
    this.#others = [];
    this.chosen = [];
    for (const { reference } of others) reference.dispose();
    if (!this.disposed) this.changed();
  }

  override dispose(): void {
    if (this.disposed) return;
    super.dispose();
    this.clear();
  }

  get #own(): SeriesDump {
    const { main } = this;
    const { fsPath } = main;
    return {
      is: 'own',
      uri: main.toString(),
      name: path.basename(fsPath),
      file: this.#file(main),
      message: '',
    };
  }

  #file(uri: vscode.Uri): string {
    const areTogether = this.#others.every(({ reference: { status } }) =>
      inFolderOf(this.main, status === null ? this.main : vscode.Uri.parse(status.uri)),
    );
    return areTogether ? path.basename(uri.fsPath) : uri.fsPath;
  }
}
