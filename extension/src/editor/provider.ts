import * as vscode from 'vscode';
import { Disposable } from '../base/disposable';
import { setContext } from '../base/context';
import type { Logger } from '../base/logger';
import type { Server } from '../server/client';
import { SnapshotDocument } from './document';
import type { ViewStates } from './states';
import { SnapshotView, type ViewHost } from './view';

export const VIEW_TYPE = 'memlens.snapshot';
/** The same editor with a lower priority, for file names that usually have another meaning. */
const OPTIONAL_VIEW_TYPE = 'memlens.snapshot.optional';

/** Creates a view for each tab, and keeps a list of the open ones. */
export class SnapshotEditorProvider
  extends Disposable
  implements vscode.CustomReadonlyEditorProvider<SnapshotDocument>
{
  readonly #views = new Set<SnapshotView>();
  readonly #opened = this.own(new vscode.EventEmitter<SnapshotView>());
  #last: SnapshotView | undefined;
  /** A tab was opened; its snapshot may still be read. */
  readonly onDidOpenView = this.#opened.event;

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly server: Server,
    private readonly states: ViewStates,
    private readonly host: ViewHost,
    private readonly log: Logger,
  ) {
    super();
    for (const viewType of [VIEW_TYPE, OPTIONAL_VIEW_TYPE]) {
      this.own(
        vscode.window.registerCustomEditorProvider(viewType, this, {
          supportsMultipleEditorsPerDocument: true,
          webviewOptions: { retainContextWhenHidden: false },
        }),
      );
    }
  }

  /** The open views, the most recently used one first. */
  get views(): SnapshotView[] {
    const last = this.#last;
    const others = [...this.#views].filter((view) => view !== last);
    return last === undefined ? others : [last, ...others];
  }

  /** The active view, if any. */
  get active(): SnapshotView | undefined {
    return this.views.find((view) => view.panel.active);
  }

  /** The view of a file, which is opened if there is none. */
  async open(uri: vscode.Uri): Promise<SnapshotView | undefined> {
    const find = (): SnapshotView | undefined =>
      this.views.find((view) => view.uri.toString() === uri.toString());
    if (find() === undefined) {
      const optional = /(?<!\.pb)\.(json|html|gz|zst)$/i.test(uri.path);
      await vscode.commands.executeCommand('vscode.openWith', uri, optional ? OPTIONAL_VIEW_TYPE : VIEW_TYPE);
    }
    return find();
  }

  openCustomDocument(uri: vscode.Uri): SnapshotDocument {
    return new SnapshotDocument(uri);
  }

  resolveCustomEditor(document: SnapshotDocument, panel: vscode.WebviewPanel): void {
    const dist = vscode.Uri.joinPath(this.extensionUri, 'dist');
    const view = new SnapshotView(document.uri, panel, this.server, this.states, this.host, this.log, dist);
    this.#views.add(view);
    this.#last = view;
    panel.onDidChangeViewState(() => {
      if (panel.active) this.#last = view;
      this.#showState();
    });
    view.onDidMove(() => {
      this.#showState();
    });
    panel.onDidDispose(() => {
      this.#views.delete(view);
      if (this.#last === view) this.#last = undefined;
    });
    this.#opened.fire(view);
  }

  /** Key bindings and the palette have what does something in the active view. */
  #showState(): void {
    const { active } = this;
    setContext('memlens.canGoBack', active?.canGo(-1) === true);
    setContext('memlens.canGoForward', active?.canGo(1) === true);
    setContext('memlens.commands', ` ${(active?.commands ?? []).join(' ')} `);
  }

  override dispose(): void {
    for (const view of this.#views) view.dispose();
    super.dispose();
  }
}
