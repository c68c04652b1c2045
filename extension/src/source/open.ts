import path from 'node:path';
import * as vscode from 'vscode';
import type { SourceMissing, SourceOf } from '../../shared/messages';
import type { ChangedLine, SnapshotInfo } from '../../shared/protocol.gen';
import { pick, showInformation, showWarning, withProgress } from '../base/window';
import type { SnapshotView } from '../editor/view';
import type { Server } from '../server/client';
import { rememberPath } from '../settings';
import { openCell } from './cells';
import type { SourceDownloads } from './downloads';
import type { LibrarySources } from './libraries';
import { locate } from './locate';

/** For how long the focus is kept from going back to a view that doesn't answer, since it is hidden now. */
const MOST_MS = 3000;
/** For how long after the view has got the focus it is waited for what the user does there. */
const ACT_MS = 100;
/** The most buttons of a message. */
const MOST_PLACES = 3;

/** Whether a model's view says beside the frame that its source is missing. */
const SHOWS_MISSING: Record<SnapshotInfo['model'], boolean> = {
  timeline: true,
  profile: false,
  graph: false,
};

/** Opens the source of a frame beside the view it was clicked in. */
export class SourceOpener {
  /** What each view looked for last in vain. */
  readonly #missed = new WeakMap<SnapshotView, () => Promise<void>>();

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
    private readonly libraries: LibrarySources,
    private readonly downloads: SourceDownloads,
  ) {}

  /** Open a frame's source. `file` is as in the snapshot, `line` counts from 1; 0 means that the line is unknown. */
  async open(view: SnapshotView, file: string, line: number, beside: boolean): Promise<void> {
    const params = { snapshot: view.snapshot ?? '', file, line };
    let source = await this.server.request('memlens/source', params);
    const column = columnFor(view.panel.viewColumn, beside);
    if (source.how === 'cell') {
      await openCell(this.server, view, params, (show) => showBeside(view, column, show));
      return;
    }
    if (source.path === null && (await this.#choose(file, source.candidates)) !== null) {
      source = await this.server.request('memlens/source', params);
    }
    if (source.path === null) {
      if (source.candidates.length === 0) await this.#missing(view, file, line, source.looked_for);
      return;
    }
    await showSource(view, { ...source, uri: vscode.Uri.file(source.path) }, column);
  }

  /** Open the source of an object, a type or a field. */
  async openObject(view: SnapshotView, of: SourceOf, beside: boolean): Promise<void> {
    const params = { snapshot: view.snapshot ?? '', object: null, type: null, declared: '', ...of };
    // all folders of a workspace may be looked through
    let source = await withProgress(
      { location: vscode.ProgressLocation.Window, title: vscode.l10n.t('Memlens: looking for the source…') },
      () => this.server.request('memlens/objectSource', params),
    );
    const { file, candidates, type } = source;
    if (source.path === null && candidates.length > 0) {
      const chosen = await this.#choose(file === '' ? type : file, candidates);
      if (chosen === null) return;
      source = { ...(await this.server.request('memlens/objectSource', params)), path: chosen };
    }
    const column = columnFor(view.panel.viewColumn, beside);
    if (source.path !== null) {
      await showSource(view, { ...source, uri: vscode.Uri.file(source.path) }, column);
      return;
    }
    const { declared, line, looked_for: lookedFor } = source;
    const missing = { type: 'sourceMissing', file: file === '' ? type : file, line, lookedFor } as const;
    if (declared === null) {
      await this.#typeMissing(view, missing);
      return;
    }
    const found = await this.libraries.find(
      { snapshot: params.snapshot, type, declared },
      this.#choose.bind(this),
    );
    if (found === null) return;
    if ('uri' in found) await showSource(view, { ...found, changed: null }, column);
    else {
      const downloadable = declared.language === 'jvm' && (await this.downloads.areOffered());
      this.#missed.set(view, () => this.openObject(view, of, beside));
      await this.#typeMissing(view, {
        ...missing,
        lookedFor: [...lookedFor, ...found.lookedFor],
        advice: found.advice,
        downloadable,
      });
    }
  }

  /** Let a build tool download the sources of libraries, and look again for what was missing. */
  async download(view: SnapshotView): Promise<void> {
    if (await this.downloads.run()) await this.#missed.get(view)?.();
  }

  /** Let the user say where a file is, and open it. */
  async locate(view: SnapshotView, what: 'file' | 'folder', file: string, line: number): Promise<void> {
    if (!(await locate(what, file, this.memory))) return;
    await this.server.sendSettings();
    await this.open(view, file, line, false);
  }

  /** Views of heap dumps say it beside the object; others have no place for it. */
  async #typeMissing(view: SnapshotView, missing: SourceMissing): Promise<void> {
    if (view.model === 'graph') {
      view.send(missing);
      return;
    }
    const download = missing.downloadable === true ? [vscode.l10n.t('Download Sources…')] : [];
    const choice = await showWarning(
      vscode.l10n.t('{0} was not found. Memlens looked for {1}.', missing.file, missing.lookedFor.join(', ')),
      ...download,
    );
    if (choice !== undefined) await this.download(view);
  }

  /** Some views say it beside the frame, and offer the same. */
  async #missing(view: SnapshotView, file: string, line: number, lookedFor: string): Promise<void> {
    if (view.model !== null && SHOWS_MISSING[view.model]) {
      view.send({ type: 'sourceMissing', file, line, lookedFor: [lookedFor] });
      return;
    }
    const locateFile = vscode.l10n.t('Locate File…');
    const choice = await showWarning(
      vscode.l10n.t('{0} was not found. Memlens looked for {1}.', file, lookedFor),
      locateFile,
      vscode.l10n.t('Map Folder…'),
    );
    if (choice !== undefined) await this.locate(view, choice === locateFile ? 'file' : 'folder', file, line);
  }

  /** Let the user choose one of several equally likely files, and remember the choice. */
  async #choose(file: string, candidates: string[]): Promise<string | null> {
    if (candidates.length === 0) return null;
    const items = candidates.map((candidate) => ({
      label: path.basename(candidate),
      description: vscode.workspace.asRelativePath(path.dirname(candidate)),
      candidate,
    }));
    const choice = await pick(items, {
      title: vscode.l10n.t('Which file is {0}?', file),
      placeHolder: vscode.l10n.t(
        'Several files match equally well. Your choice is remembered in this workspace.',
      ),
      matchOnDescription: true,
    });
    if (choice === undefined) return null;
    await rememberPath(this.memory, file, choice.candidate);
    await this.server.request('memlens/remember', { file, path: choice.candidate });
    return choice.candidate;
  }
}

interface FoundSource {
  readonly uri: vscode.Uri;
  readonly line: number;
  readonly changed: ChangedLine | null;
}

async function showSource(view: SnapshotView, source: FoundSource, column: vscode.ViewColumn): Promise<void> {
  await showBeside(view, column, (where) => showAtLine(source.uri, source.line, where));
  if (source.changed !== null) await showChange(source.uri, source.changed, column);
}

/** Shows a text beside the view, and keeps the focus there. */
async function showBeside(
  view: SnapshotView,
  column: vscode.ViewColumn,
  show: (column: vscode.ViewColumn) => Promise<vscode.ViewColumn | undefined>,
): Promise<void> {
  let shownIn = column;
  let shown = false;
  // A clicked webview may take the focus back after the click, but the focus should be in the text, unless the user
  // goes on in the view. It also gets it where the user has closed the text already, which then stays closed.
  let goesOn = false;
  const acted = view.onNextAct(() => {
    goesOn = true;
  });
  const isOpen = () =>
    vscode.window.tabGroups.all.some(({ viewColumn, tabs }) => viewColumn === shownIn && tabs.length > 0);
  const giveBack = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, ACT_MS));
    if (!view.disposed && !goesOn && view.panel.active && isOpen()) await show(shownIn);
  };
  const takenBack = view.panel.onDidChangeViewState(({ webviewPanel }) => {
    if (!webviewPanel.active || !shown || !isOpen()) return;
    takenBack.dispose();
    void giveBack();
  });
  shownIn = (await show(column)) ?? column;
  shown = true;
  if (!view.disposed && view.panel.active) await giveBack();
  const stop = (): void => {
    settled.dispose();
    takenBack.dispose();
    // a focus that was taken just now is being given back
    setTimeout(() => void acted.dispose(), ACT_MS);
  };
  const settled = view.onFocusSettled(stop);
  setTimeout(stop, MOST_MS);
}

async function showAtLine(
  uri: vscode.Uri,
  line: number,
  viewColumn: vscode.ViewColumn,
): Promise<vscode.ViewColumn | undefined> {
  const document = await vscode.workspace.openTextDocument(uri);
  const at = new vscode.Position(Math.min(Math.max(line - 1, 0), document.lineCount - 1), 0);
  const selection = new vscode.Range(at, at);
  const editor = await vscode.window.showTextDocument(document, { viewColumn, selection });
  editor.revealRange(selection, vscode.TextEditorRevealType.InCenter);
  return editor.viewColumn;
}

/** Notifies the user that the line has changed since the run, and offers to go to its function's current lines. */
async function showChange(uri: vscode.Uri, changed: ChangedLine, column: vscode.ViewColumn): Promise<void> {
  const places = new Map(
    changed.lines.slice(0, MOST_PLACES).map((line) => [vscode.l10n.t('Go to Line {0}', line), line]),
  );
  const name = path.basename(uri.fsPath);
  const choice = await showInformation(`${name}: ${changed.message}`, ...places.keys());
  const line = choice === undefined ? undefined : places.get(choice);
  if (line !== undefined) await showAtLine(uri, line, column);
}

/** Returns the column of another group with texts, else a new one beside the view, which must stay visible. */
function columnFor(own: vscode.ViewColumn | undefined, beside: boolean): vscode.ViewColumn {
  if (beside) return vscode.ViewColumn.Beside;
  const others = vscode.window.tabGroups.all.filter((group) => group.viewColumn !== own);
  const withText = others.find((group) => group.activeTab?.input instanceof vscode.TabInputText);
  return (withText ?? others[0])?.viewColumn ?? vscode.ViewColumn.Beside;
}
