import * as vscode from 'vscode';
import type { EditedLines } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';

/** Longer than VS Code takes to mark a file as having unsaved changes. */
const DOUBT_MS = 200;

/**
 * Reports to the server how lines move while files are edited, since it has the line numbers of snapshots. Only counts
 * are sent, never text, and nothing while no snapshot and no fleet is open.
 */
export class EditTracker extends Disposable {
  readonly #moved = this.own(new vscode.EventEmitter<vscode.TextDocument>());
  /** Lines of a file moved, and the server has processed it. */
  readonly onDidMove = this.#moved.event;
  /** Files that were edited while a snapshot was open. */
  readonly #edited = new Set<string>();
  /** Files that changed, perhaps on disk, with the timers that decide it. */
  readonly #doubted = new Map<string, NodeJS.Timeout>();
  constructor(
    private readonly server: Server,
    private readonly log: Logger,
  ) {
    super();
    this.own(
      server.onDidChangeOpen((open) => {
        if (open === 0 && !server.hasLines) this.#edited.clear();
      }),
    );
    this.own(
      vscode.workspace.onDidChangeTextDocument((event) => {
        this.#changed(event);
      }),
    );
    this.own(
      vscode.workspace.onDidSaveTextDocument((document) => {
        this.#trust(document);
        if (this.#edited.has(document.uri.toString())) this.#report(document, 'saved', []);
      }),
    );
    this.own(
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (this.#edited.delete(document.uri.toString())) this.#report(document, 'discarded', []);
      }),
    );
  }

  override dispose(): void {
    for (const timer of this.#doubted.values()) clearTimeout(timer);
    super.dispose();
  }

  #changed(event: vscode.TextDocumentChangeEvent): void {
    const { document } = event;
    if (!this.server.hasLines || document.uri.scheme !== 'file' || event.contentChanges.length === 0) return;
    const key = document.uri.toString();
    // The first edit arrives before the file is marked as having unsaved changes. If it is not marked later, and the
    // edit is not an undo, the file was reloaded after a change on disk.
    if (!document.isDirty && event.reason === undefined) this.#doubt(document);
    const edits = editsOf(event);
    if (edits.length === 0) return;
    this.#edited.add(key);
    this.#report(document, 'edited', edits);
  }

  #doubt(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    clearTimeout(this.#doubted.get(key));
    const timer = setTimeout(() => {
      this.#doubted.delete(key);
      if (document.isDirty || document.isClosed) return;
      this.#edited.delete(key);
      this.#report(document, 'reloaded', []);
    }, DOUBT_MS);
    this.#doubted.set(key, timer);
  }

  #trust(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    clearTimeout(this.#doubted.get(key));
    this.#doubted.delete(key);
  }

  #report(
    document: vscode.TextDocument,
    what: 'edited' | 'saved' | 'discarded' | 'reloaded',
    edits: EditedLines[],
  ): void {
    this.server.request('memlens/linesMoved', { path: document.uri.fsPath, what, edits }).then(
      () => this.#moved.fire(document),
      (error: unknown) =>
        this.log.warn(`moved lines of ${document.uri.fsPath} were not reported: ${messageOf(error)}`),
    );
  }
}

/**
 * Returns the changes of one event that move lines, in the event's order: from the end of the text to its beginning, so
 * that no change moves the lines of the next one.
 */
export function editsOf(
  event: Pick<vscode.TextDocumentChangeEvent, 'document' | 'contentChanges'>,
): EditedLines[] {
  const edits: EditedLines[] = [];
  for (const { range, text } of event.contentChanges) {
    const added = text.split(/\r\n|\r|\n/).length - 1;
    const removed = range.end.line - range.start.line;
    if (added === 0 && removed === 0) continue;
    // A line moves with its text: a line break before its first word pushes it down, one after that doesn't.
    const head = event.document.lineAt(Math.min(range.start.line, event.document.lineCount - 1)).text;
    const stays = head.slice(0, range.start.character).trim() !== '';
    edits.push({ line: range.start.line + (stays ? 2 : 1), removed, added });
  }
  return edits;
}
