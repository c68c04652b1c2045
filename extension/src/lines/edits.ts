import * as vscode from 'vscode';
import type { EditedLines } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';

/** Longer than VS Code takes to tell that a file has unsaved changes. */
const DOUBT_MS = 200;

/**
 * Tells the server where lines go while files are edited: it counts the lines of snapshots, and only the editor knows
 * what became of them. Only counts are sent, never text, and nothing while no snapshot is open.
 */
export class EditTracker extends Disposable {
  readonly #moved = this.own(new vscode.EventEmitter<vscode.TextDocument>());
  /** Lines of a file moved; the server has been told. */
  readonly onDidMove = this.#moved.event;
  /** Files that were edited since some snapshot was opened. */
  readonly #edited = new Set<string>();
  /** Files that changed, perhaps on disk, with what will settle it. */
  readonly #doubted = new Map<string, NodeJS.Timeout>();
  constructor(
    private readonly server: Server,
    private readonly log: Logger,
  ) {
    super();
    this.own(
      server.onDidChangeOpen((open) => {
        if (open === 0) this.#edited.clear();
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
        if (this.#edited.has(document.uri.toString())) this.#tell(document, 'saved', []);
      }),
    );
    this.own(
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (this.#edited.delete(document.uri.toString())) this.#tell(document, 'discarded', []);
      }),
    );
  }

  override dispose(): void {
    for (const timer of this.#doubted.values()) clearTimeout(timer);
    super.dispose();
  }

  #changed(event: vscode.TextDocumentChangeEvent): void {
    const { document } = event;
    if (this.server.open === 0 || document.uri.scheme !== 'file' || event.contentChanges.length === 0) return;
    const key = document.uri.toString();
    // The first letter that is typed comes before the word that the file has unsaved changes. Without that word, and
    // where nothing was undone, it was read again after somebody else changed it.
    if (!document.isDirty && event.reason === undefined) this.#doubt(document);
    const edits = editsOf(event);
    if (edits.length === 0) return;
    this.#edited.add(key);
    this.#tell(document, 'edited', edits);
  }

  #doubt(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    clearTimeout(this.#doubted.get(key));
    const timer = setTimeout(() => {
      this.#doubted.delete(key);
      if (document.isDirty || document.isClosed) return;
      this.#edited.delete(key);
      this.#tell(document, 'reloaded', []);
    }, DOUBT_MS);
    this.#doubted.set(key, timer);
  }

  #trust(document: vscode.TextDocument): void {
    const key = document.uri.toString();
    clearTimeout(this.#doubted.get(key));
    this.#doubted.delete(key);
  }

  #tell(
    document: vscode.TextDocument,
    what: 'edited' | 'saved' | 'discarded' | 'reloaded',
    edits: EditedLines[],
  ): void {
    this.server.request('memlens/linesMoved', { path: document.uri.fsPath, what, edits }).then(
      () => {
        this.#moved.fire(document);
      },
      (error: unknown) => {
        this.log.warn(`lines of ${document.uri.fsPath} moved unseen: ${messageOf(error)}`);
      },
    );
  }
}

/**
 * The changes of one event that move lines, in the order in which they were made (the last place in the text first, so
 * that each one's lines are not yet moved by the others).
 */
export function editsOf(
  event: Pick<vscode.TextDocumentChangeEvent, 'document' | 'contentChanges'>,
): EditedLines[] {
  const edits: EditedLines[] = [];
  for (const { range, text } of event.contentChanges) {
    const added = text.split(/\r\n|\r|\n/).length - 1;
    const removed = range.end.line - range.start.line;
    if (added === 0 && removed === 0) continue;
    // A line goes with what it says: a new line before the first word pushes it down, one after that doesn't.
    const head = event.document.lineAt(Math.min(range.start.line, event.document.lineCount - 1)).text;
    const stays = head.slice(0, range.start.character).trim() !== '';
    edits.push({ line: range.start.line + (stays ? 2 : 1), removed, added });
  }
  return edits;
}
