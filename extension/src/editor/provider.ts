import * as vscode from 'vscode';
import { SHARED_ENDINGS } from '../../shared/declared.gen';
import type { ShownValue } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { setContext } from '../base/context';
import type { Logger } from '../base/logger';
import type { Server } from '../server/client';
import { SnapshotDocument } from './document';
import type { ViewStates } from './states';
import { SnapshotView, type ViewHost } from './view';

const VIEW_TYPE = 'memlens.snapshot';
/** The same editor with a lower priority, for files of any other name: VS Code shows an editor's title by its names. */
const OPTIONAL_VIEW_TYPE = 'memlens.snapshot.optional';

/** What is read of the manifest: which names of files open by a double click. */
interface Manifest {
  readonly contributes: {
    readonly customEditors: readonly {
      readonly viewType: string;
      readonly selector: readonly { readonly filenamePattern: string }[];
    }[];
  };
}

/** Creates a view for each tab, and keeps a list of the open ones. */
export class SnapshotEditorProvider
  extends Disposable
  implements vscode.CustomReadonlyEditorProvider<SnapshotDocument>
{
  readonly #views = new Set<SnapshotView>();
  readonly #opened = this.own(new vscode.EventEmitter<SnapshotView>());
  readonly #valuesChanged = this.own(new vscode.EventEmitter<void>());
  readonly onDidChangeValues = this.#valuesChanged.event;
  /** What the user opens as a snapshot, whatever is in it. */
  readonly #chosen = new Set<string>();
  #lastValues = '[]';
  #last: SnapshotView | undefined;
  /** A tab was opened; its snapshot may still be read. */
  readonly onDidOpenView = this.#opened.event;

  constructor(
    private readonly extension: Pick<vscode.Extension<unknown>, 'extensionUri' | 'packageJSON'>,
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

  /** Opens a file of any name as a snapshot. */
  async show(uri: vscode.Uri, column?: vscode.ViewColumn): Promise<void> {
    const viewType = this.#opensByItself(uri.path.split('/').at(-1) ?? '') ? VIEW_TYPE : OPTIONAL_VIEW_TYPE;
    this.#chosen.add(uri.toString());
    try {
      await vscode.commands.executeCommand('vscode.openWith', uri, viewType, column);
    } finally {
      this.#chosen.delete(uri.toString());
    }
  }

  /** Whether a file opens by its name alone, which other programs' files have as well. */
  #isShared(uri: vscode.Uri, viewType: string): boolean {
    if (viewType !== VIEW_TYPE || this.#chosen.has(uri.toString())) return false;
    return SHARED_ENDINGS.some((ending) => uri.path.endsWith(`.${ending}`));
  }

  #opensByItself(name: string): boolean {
    // SAFETY: this extension's own package.json.
    const { contributes } = this.extension.packageJSON as Manifest;
    const patterns = contributes.customEditors.find(({ viewType }) => viewType === VIEW_TYPE)?.selector ?? [];
    return patterns.some(({ filenamePattern: pattern }) => globOf(pattern).test(name));
  }

  /** The view of a file, which is opened if there is none. */
  async open(uri: vscode.Uri): Promise<SnapshotView | undefined> {
    const find = (): SnapshotView | undefined =>
      this.views.find((view) => view.uri.toString() === uri.toString());
    if (find() === undefined) await this.show(uri);
    return find();
  }

  openCustomDocument(uri: vscode.Uri): SnapshotDocument {
    return new SnapshotDocument(uri);
  }

  resolveCustomEditor(document: SnapshotDocument, panel: vscode.WebviewPanel): void {
    const dist = vscode.Uri.joinPath(this.extension.extensionUri, 'dist');
    const { uri } = document;
    const shared = this.#isShared(uri, panel.viewType);
    const view = new SnapshotView(uri, panel, this.server, this.states, this.host, this.log, dist, shared);
    this.#views.add(view);
    this.#last = view;
    panel.onDidChangeViewState(() => {
      if (panel.active) this.#last = view;
      this.#showState();
    });
    view.onDidMove(() => {
      this.#showState();
      this.#noteValues();
    });
    panel.onDidDispose(() => {
      this.#views.delete(view);
      if (this.#last === view) this.#last = undefined;
    });
    this.#opened.fire(view);
  }

  /** Which values views of profiles show. */
  get shownValues(): ShownValue[] {
    return this.views.flatMap(({ shownValue }) => shownValue ?? []);
  }

  #noteValues(): void {
    const now = JSON.stringify(this.shownValues);
    if (now === this.#lastValues) return;
    this.#lastValues = now;
    this.#valuesChanged.fire();
  }

  /** Key bindings and the palette have what does something in the active view. */
  #showState(): void {
    const { active } = this;
    setContext('memlens.canGoBack', active?.canGo(-1) === true);
    setContext('memlens.canGoForward', active?.canGo(1) === true);
    setContext('memlens.hasValues', active?.hasValues === true);
    setContext('memlens.commands', ` ${(active?.commands ?? []).join(' ')} `);
  }

  override dispose(): void {
    for (const view of this.#views) view.dispose();
    super.dispose();
  }
}

/** A pattern of names, in which a star stands for any letters. */
function globOf(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
