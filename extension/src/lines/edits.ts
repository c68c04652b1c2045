import * as vscode from 'vscode';
import type { EditedLines } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';

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
        if (this.#edited.has(document.uri.toString())) this.#tell(document, 'saved', []);
      }),
    );
    this.own(
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (this.#edited.delete(document.uri.toString())) this.#tell(document, 'discarded', []);
      }),
    );
  }

  #changed(event: vscode.TextDocumentChangeEvent): void {
    const { document } = event;
    if (this.server.open === 0 || document.uri.scheme !== 'file' || event.contentChanges.length === 0) return;
    const key = document.uri.toString();
    // What leaves the text as it is on disk, and is no undoing, is the file read again after somebody changed it.
    if (!document.isDirty && event.reason === undefined) {
      this.#edited.delete(key);
      this.#tell(document, 'reloaded', []);
      return;
    }
    const edits = editsOf(event);
    if (edits.length === 0) return;
    this.#edited.add(key);
    this.#tell(document, 'edited', edits);
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
