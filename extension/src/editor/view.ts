import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { ViewCommand } from '../../shared/commands';
import type {
  BookmarkChange,
  FromWebviewMessage,
  SavedForm,
  ShownFile,
  SourceOf,
  ToWebviewMessage,
  ViewState,
} from '../../shared/messages';
import type { OpenResult, Problem, ShownValue, SnapshotInfo } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { showStatus } from '../base/window';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';
import { openPythonSetting } from '../server/missingPython';
import { CANCELLED, problem, ProblemError, problemOf, WITHOUT_SERVER } from '../server/problem';
import { SECTION, singleKeys } from '../settings';
import { FileWatch } from './fileWatch';
import { History } from './history';
import { showPage } from './html';
import { OtherReference } from './other';
import { ViewRequests } from './requests';
import { askForContents, mayTakeContents } from './reportContents';
import { Series } from './series';
import type { ViewStates } from './states';
import { ofPage } from './states-checked';

/** The parts of the extension that a view uses. */
export interface ViewHost {
  openSource(view: SnapshotView, file: string, line: number, beside: boolean): Promise<void>;
  openObjectSource(view: SnapshotView, of: SourceOf, beside: boolean): Promise<void>;
  /** Lets the user say where a file is that was not found. */
  locate(view: SnapshotView, what: 'file' | 'folder', file: string, line: number): Promise<void>;
  /** Lets a build tool download the sources of libraries, and opens the source that was missing if it is there then. */
  downloadSources(view: SnapshotView): Promise<void>;
  openAsText(uri: vscode.Uri, column: vscode.ViewColumn | undefined): Promise<void>;
  /** Lets the user choose the snapshot to compare with. */
  chooseOther(view: SnapshotView): Promise<void>;
  /** Lets the user choose the heap dumps of a series. */
  chooseSeries(view: SnapshotView): Promise<void>;
  saveText(view: SnapshotView, form: SavedForm, text: string): Promise<void>;
  copyLink(view: SnapshotView, state: ViewState | null): Promise<void>;
  changeBookmarks(view: SnapshotView, change: BookmarkChange): Promise<void>;
}

type Status =
  | { is: 'opening'; stage: string; fraction: number | null }
  | { is: 'open'; result: OpenResult }
  | { is: 'failed'; problem: Problem };

/** Failures of files that are something else. */
const NO_SNAPSHOT = new Set(['not-a-snapshot', 'unsafe-pickle']);
const STATUS_MS = 5000;

/** Failures after which the file can't be expected to be text. */
const NOT_THE_FILES_FAULT = new Set([
  ...WITHOUT_SERVER,
  CANCELLED,
  'closed',
  'file',
  'system',
  'archive',
  'damaged',
  'ingest-died',
  'out-of-memory',
]);

/**
 * One editor tab: its page, and its reference to the server's snapshot.
 *
 * The reference lives as long as the tab, but the page does not: VS Code destroys it when the tab is hidden, and the
 * next page sends `ready` again.
 */
export class SnapshotView extends Disposable {
  readonly id = randomBytes(8).toString('hex');
  readonly #requests: ViewRequests;
  /** The snapshot that it is compared with. */
  readonly #other: OtherReference;
  /** The heap dumps over time. */
  readonly #series: Series;
  readonly #files: Record<ShownFile, FileWatch>;
  #status: Status = { is: 'opening', stage: '', fraction: null };
  #opening: vscode.CancellationTokenSource | undefined;
  #state: ViewState | null;
  readonly #history = new History();
  #commands: readonly ViewCommand[] = [];
  readonly #moved = this.own(new vscode.EventEmitter<void>());
  /** The snapshot was opened, other commands do something, or there are other places to go back or forward to. */
  readonly onDidMove = this.#moved.event;
  readonly #acted = this.own(new vscode.EventEmitter<void>());
  readonly #focusSettled = this.own(new vscode.EventEmitter<void>());
  #pageReady = false;
  /** It has been a snapshot since the tab was opened. */
  #wasOpen = false;
  /** Messages to post once the page shows the snapshot. */
  #queued: ToWebviewMessage[] = [];

  constructor(
    readonly uri: vscode.Uri,
    readonly panel: vscode.WebviewPanel,
    private readonly server: Server,
    private readonly states: ViewStates,
    private readonly host: ViewHost,
    private readonly log: Logger,
    distUri: vscode.Uri,
    /** Whether a file that is no snapshot is left to VS Code. */
    private readonly leavesOthers = false,
  ) {
    super();
    this.#state = states.get(uri.toString());
    this.#requests = this.own(
      new ViewRequests(
        server,
        (message) => this.#post(message),
        (snapshot) => {
          if (this.snapshot !== snapshot) return;
          this.#open();
          // Any of the snapshots may be the closed one.
          this.#reopenOthers();
        },
      ),
    );
    const watch = (of: ShownFile): FileWatch =>
      this.own(new FileWatch(server, () => this.#postFile(of), log));
    this.#files = { own: watch('own'), other: watch('other') };
    const mainInfo = (): SnapshotInfo | null =>
      this.#status.is === 'open' ? this.#status.result.info : null;
    this.#other = this.own(
      new OtherReference(
        uri,
        mainInfo,
        this.id,
        server,
        (other, fresh) => {
          const snapshot = this.#other.snapshot;
          if (other?.is === 'open' && snapshot !== null)
            this.#files.other.follow(vscode.Uri.parse(other.uri), snapshot);
          else this.#files.other.stop();
          if (this.#status.is !== 'open') return;
          this.#post({ type: 'other', other, fresh });
          this.#postFile('other');
        },
        log,
      ),
    );
    this.#series = this.own(new Series(uri, mainInfo, this.id, server, () => this.#postSeries(), log));
    this.own(
      server.onDidProgress(({ view, stage, fraction }) => {
        if (view === this.id && this.#status.is === 'opening')
          this.#setStatus({ is: 'opening', stage, fraction });
      }),
    );
    this.own(
      server.onDidWait((stage) => {
        if (this.#status.is === 'opening') this.#setStatus({ is: 'opening', stage, fraction: null });
      }),
    );
    this.own(
      server.onDidFindDamage(({ snapshot, again }) => {
        if (!again) return;
        if (this.#other.snapshot === snapshot) this.#reopenOther();
        if (this.snapshot === snapshot) this.#open();
      }),
    );
    this.own(
      server.onDidRelabel(({ snapshot, now }) => {
        this.#other.rename(snapshot, now);
        this.#series.rename(snapshot, now);
        // The page asks for everything again, at the place where it was.
        if (this.#status.is === 'open' && this.snapshot === snapshot)
          this.#setStatus({ is: 'open', result: { ...this.#status.result, snapshot: now } });
      }),
    );
    this.own(
      server.onDidStart(() => {
        // A new server does not have the snapshot. If `#open` is waiting for the server, it has caused this start.
        if (this.#status.is === 'open' || this.#failedForWantOfServer) this.#open();
        this.#reopenOthers();
      }),
    );
    this.own(panel.webview.onDidReceiveMessage((message: FromWebviewMessage) => void this.#receive(message)));
    this.own(
      panel.onDidChangeViewState(() => {
        if (panel.visible) {
          for (const file of Object.values(this.#files)) file.check();
        } else {
          this.#pageReady = false;
          this.#requests.cancelAll();
          this.#dropCommands();
        }
      }),
    );
    this.own(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.singleKeys`) && this.#pageReady)
          this.#post({ type: 'keys', single: singleKeys() });
      }),
    );
    this.own(
      panel.onDidDispose(() => {
        this.dispose();
      }),
    );
    showPage(panel.webview, distUri);
    this.#open();
    const kept = this.#state?.compare?.uri;
    if (kept !== undefined) this.#chooseOther(vscode.Uri.parse(kept), false);
    const dumps = this.#state?.model === 'graph' ? this.#state.graph.series : [];
    if (dumps.length > 0) void this.showSeries(dumps.map((each) => vscode.Uri.parse(each)));
  }

  /** The server's name for the snapshot, while it is open. */
  get snapshot(): string | null {
    return this.#status.is === 'open' ? this.#status.result.snapshot : null;
  }

  /**
   * Send `message` as soon as the page shows the snapshot. A command that was chosen while the page offered it is
   * carried out even if the file is being read again by now; before the first opening, there are none.
   */
  send(message: ToWebviewMessage): void {
    if (this.#pageReady && this.#status.is === 'open') this.#post(message);
    else if (message.type !== 'command' || this.#commands.length > 0) this.#queued.push(message);
  }

  /** Calls back once the user does something more in the view. */
  onNextAct(acted: () => void): vscode.Disposable {
    this.send({ type: 'tellNextAct' });
    return this.#acted.event(acted);
  }

  /** Calls back once VS Code knows whether the view has the focus; a view that is hidden may never. */
  onFocusSettled(settled: () => void): vscode.Disposable {
    this.send({ type: 'tellFocusSettled' });
    return this.#focusSettled.event(settled);
  }

  /** The model of the snapshot, while it is open. */
  get model(): SnapshotInfo['model'] | null {
    return this.#status.is === 'open' ? this.#status.result.info.model : null;
  }

  /** Which of a profile's values it shows; null for other models. */
  get shownValue(): ShownValue | null {
    const value = this.#state?.model === 'profile' ? this.#state.value : null;
    const { snapshot } = this;
    return snapshot !== null && value !== null ? { snapshot, value } : null;
  }

  /** The commands that do something in what the page shows. */
  get commands(): readonly ViewCommand[] {
    return this.#status.is === 'open' ? this.#commands : [];
  }

  /** Whether its file is a heap dump with the values of objects, which not all formats have. */
  get hasValues(): boolean {
    return this.#status.is === 'open' && this.#status.result.heap?.has_values === true;
  }

  /** Lets the user choose what a report quotes, and has the page take it; nothing if they change their mind. */
  async #chooseReport(form: 'html' | 'markdown'): Promise<void> {
    const quotes = this.hasValues ? await askForContents(form) : false;
    if (quotes !== undefined) this.send({ type: 'takeReport', form, values: quotes });
  }

  /** Whether there is a place to go back or forward to. */
  canGo(by: -1 | 1): boolean {
    return this.#history.can(by);
  }

  /** Show a place of the snapshot: now if its page is there, else as soon as it is. */
  goTo(state: ViewState): void {
    this.#state = state;
    if (this.#pageReady && this.#status.is === 'open') this.#post({ type: 'goTo', state });
  }

  /** Compare the view with another snapshot; `first`: the user chose that as the earlier one, or as the later. */
  async compareWith(uri: vscode.Uri, first?: boolean): Promise<void> {
    await this.#other.choose(uri, true, first);
  }

  /** Show the heap dump over time with others. */
  async showSeries(uris: readonly vscode.Uri[]): Promise<void> {
    await this.#series.choose(uris);
  }

  /** Read the file again; the view's state is restored as far as it applies to the new content. */
  async reload(of: ShownFile = 'own'): Promise<void> {
    if (of === 'other') {
      await this.#other.reload();
      return;
    }
    // Numbers of allocations and moments are invalid in another file.
    const state = this.#state;
    if (this.#files.own.differs && state?.model === 'timeline')
      this.#state = { ...state, selection: null, first: null, second: null };
    else if (this.#files.own.differs && state?.model === 'profile') this.#state = { ...state, range: null };
    if (this.#files.own.differs) this.#history.clear();
    this.#release();
    this.#open();
  }

  /** Activate the tab in its column; without the column VS Code would move it to the active one. */
  reveal(): void {
    this.panel.reveal(this.panel.viewColumn, false);
  }

  override dispose(): void {
    if (this.disposed) return;
    this.#opening?.cancel();
    this.#release();
    super.dispose();
  }

  get #failedForWantOfServer(): boolean {
    return this.#status.is === 'failed' && WITHOUT_SERVER.has(this.#status.problem.code);
  }

  #open(): void {
    this.#opening?.cancel();
    const opening = new vscode.CancellationTokenSource();
    this.#opening = opening;
    this.#setStatus({ is: 'opening', stage: '', fraction: null });
    this.#request(opening.token)
      .then(
        (result): Status => ({ is: 'open', result }),
        (error: unknown): Status => ({ is: 'failed', problem: problemOf(error) }),
      )
      .then(async (status) => {
        // A superseded result must neither replace the new one nor leave a reference open.
        if (this.#opening !== opening || this.disposed) {
          if (status.is === 'open') this.#close(status.result.snapshot);
          return;
        }
        this.#opening = undefined;
        const isOther = status.is === 'failed' && NO_SNAPSHOT.has(status.problem.code);
        if (isOther && this.leavesOthers && !this.#wasOpen) await this.#leave();
        else this.#setStatus(status);
      })
      .catch((error: unknown) => this.log.error(messageOf(error)))
      .finally(() => opening.dispose());
  }

  async #request(token: vscode.CancellationToken): Promise<OpenResult> {
    if (this.uri.scheme !== 'file') {
      const { path, scheme } = this.uri;
      const message =
        scheme === 'untitled'
          ? vscode.l10n.t('{0} has not been saved', path)
          : vscode.l10n.t('{0} is not a file on this machine ({1}:)', path, scheme);
      const advice = vscode.l10n.t('Save it as a file on this machine, and open that.');
      throw new ProblemError(problem('file', message, advice, false));
    }
    return await this.server.request('memlens/open', { path: this.uri.fsPath, view: this.id }, token);
  }

  /** Shows the file as VS Code would without Memlens. */
  async #leave(): Promise<void> {
    showStatus(
      vscode.l10n.t('{0} is not a memory snapshot', this.uri.path.split('/').at(-1) ?? ''),
      STATUS_MS,
    );
    await this.host.openAsText(this.uri, this.panel.viewColumn);
    this.panel.dispose();
  }

  #release(): void {
    if (this.snapshot !== null) this.#close(this.snapshot);
  }

  #close(snapshot: string): void {
    if (this.server.health !== 'running') return;
    this.server
      .request('memlens/close', { snapshot, view: this.id })
      .catch((error: unknown) => this.log.warn(`a snapshot could not be closed: ${messageOf(error)}`));
  }

  async #receive(message: FromWebviewMessage): Promise<void> {
    try {
      switch (message.type) {
        case 'ready':
          this.#pageReady = true;
          this.#history.restart();
          this.#post({ type: 'keys', single: singleKeys() });
          this.#postStatus();
          return;
        case 'request':
          await this.#requests.answer(
            message,
            this.snapshot,
            this.#other.snapshot,
            this.snapshot === null ? [] : this.#series.names(this.snapshot),
          );
          return;
        case 'cancelRequest':
          this.#requests.cancel(message.id);
          return;
        case 'cancelOpen':
          this.#opening?.cancel();
          return;
        case 'retry':
          if (this.#status.is === 'failed') this.#open();
          return;
        case 'openAsText':
          await this.host.openAsText(this.uri, this.panel.viewColumn);
          this.panel.dispose();
          return;
        case 'openSource':
          await this.host.openSource(this, message.file, message.line, message.beside);
          return;
        case 'openObjectSource':
          await this.host.openObjectSource(this, message.of, message.beside);
          return;
        case 'locate':
          await this.host.locate(this, message.what, message.file, message.line);
          return;
        case 'downloadSources':
          await this.host.downloadSources(this);
          return;
        case 'bookmark':
          await this.host.changeBookmarks(this, message.change);
          return;
        case 'commands':
          this.#commands = message.commands;
          this.#moved.fire();
          return;
        case 'chooseOther':
          await this.host.chooseOther(this);
          return;
        case 'chooseSeries':
          await this.host.chooseSeries(this);
          return;
        case 'clearSeries':
          this.#series.clear();
          return;
        case 'retryOther':
          await this.#other.again();
          return;
        case 'reload':
          await this.reload(message.of);
          return;
        case 'dismissFile':
          this.#files[message.of].dismiss();
          return;
        case 'copy':
          if (message.contents === true && !(await mayTakeContents('copy'))) return;
          await vscode.env.clipboard.writeText(message.text);
          return;
        case 'installPython':
          await vscode.commands.executeCommand('memlens.installPython');
          return;
        case 'openPythonSetting':
          await openPythonSetting();
          return;
        case 'showLog':
          await vscode.commands.executeCommand('memlens.showLog');
          return;
        case 'closeOther':
          this.#other.clear();
          return;
        case 'history': {
          const state = this.#history.go(message.by);
          if (state !== null) this.goTo(state);
          this.#moved.fire();
          return;
        }
        case 'fleetState':
        case 'openRank':
          return; // of a fleet's editor
        case 'acted':
          this.#acted.fire();
          return;
        case 'focusSettled':
          this.#focusSettled.fire();
          return;
        case 'chooseReport':
          await this.#chooseReport(message.form);
          return;
        case 'copyLink':
          await this.host.copyLink(this, this.#state);
          return;
        case 'saveText':
          if (message.contents === true && !(await mayTakeContents('save'))) return;
          await this.host.saveText(this, message.form, message.text);
          return;
        case 'state': {
          const state = ofPage(message.state, this.#other.status?.uri ?? null, this.#series.chosen);
          if (state === null) throw new Error('the page reports what is no state');
          this.#state = state;
          this.#history.record(state, message.acts, Date.now());
          this.#moved.fire();
          await this.states.set(this.uri.toString(), state);
          return;
        }
      }
    } catch (error) {
      this.log.error(`${message.type}: ${messageOf(error)}`);
    }
  }

  #chooseOther(uri: vscode.Uri, fresh: boolean): void {
    this.#other.choose(uri, fresh).catch((error: unknown) => this.log.error(messageOf(error)));
  }

  #reopenOthers(): void {
    this.#reopenOther();
    this.#series.again().catch((error: unknown) => this.log.error(messageOf(error)));
  }

  #reopenOther(): void {
    const uri = this.#other.status?.uri;
    if (uri !== undefined) this.#chooseOther(vscode.Uri.parse(uri), false);
  }

  #setStatus(status: Status): void {
    this.#status = status;
    if (status.is === 'open') {
      this.#wasOpen = true;
      this.#files.own.follow(this.uri, status.result.snapshot);
    } else this.#files.own.stop();
    if (status.is === 'failed') {
      this.#commands = [];
      this.#dropCommands();
    }
    this.#moved.fire();
    this.#postStatus();
  }

  /** Forget the commands that wait for a picture that isn't going to be seen. */
  #dropCommands(): void {
    this.#queued = this.#queued.filter(({ type }) => type !== 'command');
  }

  #postStatus(): void {
    if (!this.#pageReady) return;
    const status = this.#status;
    switch (status.is) {
      case 'opening':
        this.#post({ type: 'progress', stage: status.stage, fraction: status.fraction });
        return;
      case 'failed': {
        const canOpenAsText = !NOT_THE_FILES_FAULT.has(status.problem.code);
        this.#post({ type: 'failed', problem: status.problem, canOpenAsText });
        return;
      }
      case 'open': {
        const { info, heap } = status.result;
        this.#post({ type: 'opened', info, heap, state: this.#state });
        if (this.#other.status !== null)
          this.#post({ type: 'other', other: this.#other.status, fresh: false });
        if (this.#series.dumps.length > 0) this.#postSeries();
        for (const of of ['own', 'other'] as const) if (this.#files[of].state !== 'same') this.#postFile(of);
        for (const message of this.#queued.splice(0)) this.#post(message);
      }
    }
  }

  #postSeries(): void {
    if (this.#status.is === 'open') this.#post({ type: 'series', dumps: this.#series.dumps });
  }

  #postFile(of: ShownFile): void {
    if (this.#status.is === 'open') this.#post({ type: 'file', of, state: this.#files[of].state });
  }

  #post(message: ToWebviewMessage): void {
    if (this.#pageReady && !this.disposed) void this.panel.webview.postMessage(message);
  }
}
