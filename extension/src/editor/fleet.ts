import path from 'node:path';
import * as vscode from 'vscode';
import type { FleetState, FromWebviewMessage, ToWebviewMessage } from '../../shared/messages';
import type { OpenRankArguments } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import { ask } from '../base/window';
import { OPEN_RANK, type Server } from '../server/client';
import { openPythonSetting } from '../server/missingPython';
import { problem, ProblemError, problemOf, showProblem } from '../server/problem';
import { showWork } from '../server/work';
import { SnapshotDocument } from './document';
import { showPage } from './html';

export const FLEET_VIEW_TYPE = 'memlens.fleet';

const KEY = 'memlens.fleets';
const KEPT = 50;
/** A fleet that is being read grows twice a second; the map follows it no faster than this. */
const FOLLOW_MS = 1_000;

/** The editor over a fleet's summaries: a heat map, from which a rank's snapshot is opened. */
export class FleetEditorProvider
  extends Disposable
  implements vscode.CustomReadonlyEditorProvider<SnapshotDocument>
{
  /** The paths of the databases whose maps are open, once for each map. */
  #shown: string[] = [];

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly openSnapshot: (uri: vscode.Uri) => Promise<unknown>,
    private readonly log: Logger,
  ) {
    super();
    this.own(vscode.window.registerCustomEditorProvider(FLEET_VIEW_TYPE, this));
    this.own(
      server.onDidStart(() => {
        if (this.#shown.length > 0) this.#reportShown();
      }),
    );
    this.own(
      vscode.commands.registerCommand(OPEN_RANK, async (rank: unknown) => {
        // Other extensions may run the command with any argument.
        if (isOpenRankArguments(rank)) await this.#open(rank.path, rank.snapshot);
      }),
    );
  }

  openCustomDocument(uri: vscode.Uri): SnapshotDocument {
    return new SnapshotDocument(uri);
  }

  resolveCustomEditor({ uri }: SnapshotDocument, panel: vscode.WebviewPanel): void {
    const dist = vscode.Uri.joinPath(this.context.extensionUri, 'dist');
    const { webview } = panel;
    const post = (message: ToWebviewMessage): void => {
      void webview.postMessage(message);
    };
    this.#show(uri.fsPath, panel);
    let asked = 0;
    const send = async (): Promise<void> => {
      const ask = ++asked;
      const state = this.#states().find(([known]) => known === uri.toString())?.[1] ?? null;
      try {
        const params = { path: uri.fsPath, ...(state === null ? {} : { align: state.align }) };
        const heat = await this.server.request('memlens/fleetHeat', params);
        if (ask === asked) post({ type: 'fleet', heat, state });
      } catch (error) {
        if (ask === asked) post({ type: 'failed', problem: problemOf(error), canOpenAsText: false });
      }
    };
    follow(uri, panel, () => void send());
    webview.onDidReceiveMessage((message: FromWebviewMessage) => {
      switch (message.type) {
        case 'ready':
        case 'retry':
          void send();
          break;
        case 'fleetState':
          void this.#keep(uri.toString(), message.state).then((again) => {
            if (again) void send();
          });
          break;
        case 'openRank':
          void this.#open(uri.fsPath, message.snapshot);
          break;
        case 'copy':
          void vscode.env.clipboard.writeText(message.text);
          break;
        case 'installPython':
          void vscode.commands.executeCommand('memlens.installPython');
          break;
        case 'openPythonSetting':
          void openPythonSetting();
          break;
        case 'showLog':
          this.log.show();
          break;
        default: // of a snapshot's view
      }
    });
    showPage(webview, dist);
  }

  /** Open a snapshot of the fleet; one of a store is fetched first, if the user agrees. */
  async #open(database: string, snapshot: number): Promise<void> {
    try {
      const file = await this.server.request('memlens/fleetFile', { path: database, snapshot });
      if (!file.remote) {
        if (!file.found)
          throw new ProblemError(
            problem(
              'file',
              vscode.l10n.t('{0} is not on this machine', file.location),
              vscode.l10n.t('Open it where it was read, or copy it there.'),
            ),
          );
        await this.openSnapshot(vscode.Uri.file(file.location));
        return;
      }
      const fetch = vscode.l10n.t('Fetch');
      const question = vscode.l10n.t('Fetch {0} to open it?', path.posix.basename(file.name));
      const detail = vscode.l10n.t(
        '{0} ({1} bytes) is copied into a folder of Memlens.',
        file.location,
        file.size_bytes.toLocaleString('en-US'),
      );
      if ((await ask(question, detail, fetch)) !== fetch) return;
      const copy = await this.#fetch(database, snapshot, file.name);
      if (copy !== undefined) await this.openSnapshot(vscode.Uri.file(copy));
    } catch (error) {
      this.log.warn(`a snapshot of a fleet could not be opened: ${messageOf(error)}`);
      showProblem(error);
    }
  }

  /** Fetch a snapshot of a store. Returns the path of the copy; undefined if the user cancelled. */
  #fetch(database: string, snapshot: number, name: string): Thenable<string | undefined> {
    const folder = vscode.Uri.joinPath(this.context.globalStorageUri, 'fleet').fsPath;
    return showWork(this.server, vscode.l10n.t('Fetching {0}', name), async (view, token) => {
      const params = { path: database, snapshot, folder, view };
      return (await this.server.request('memlens/fleetFetch', params, token)).path;
    });
  }

  /** Let the server show this fleet beside source while its map is open. */
  #show(database: string, panel: vscode.WebviewPanel): void {
    this.#shown.push(database);
    this.#reportShown();
    panel.onDidDispose(() => {
      this.#shown.splice(this.#shown.indexOf(database), 1);
      this.#reportShown();
    });
  }

  #reportShown(): void {
    this.server
      .showFleets([...new Set(this.#shown)])
      .catch((error: unknown) => this.log.warn(`hovers don't show the open fleets: ${messageOf(error)}`));
  }

  #states(): [string, FleetState][] {
    const all: unknown = this.context.workspaceState.get(KEY);
    // SAFETY: only `#keep` writes this key.
    return Array.isArray(all) ? (all as [string, FleetState][]) : [];
  }

  /** Keep the state of a fleet's editor. Returns whether the ranks are aligned in another way now. */
  async #keep(uri: string, state: FleetState): Promise<boolean> {
    const all = this.#states();
    const former = all.find(([known]) => known === uri)?.[1].align ?? 'start';
    const others = all.filter(([known]) => known !== uri);
    await this.context.workspaceState.update(KEY, [[uri, state], ...others].slice(0, KEPT));
    return former !== state.align;
  }
}

/** Call `changed` while summaries are written to a database, also when somebody else's command does that. */
function follow(uri: vscode.Uri, panel: vscode.WebviewPanel, changed: () => void): void {
  const pattern = new vscode.RelativePattern(vscode.Uri.joinPath(uri, '..'), path.basename(uri.fsPath));
  const watcher = vscode.workspace.createFileSystemWatcher(pattern, false, false, true);
  let due: NodeJS.Timeout | undefined;
  const later = (): void => {
    due ??= setTimeout(() => {
      due = undefined;
      changed();
    }, FOLLOW_MS);
  };
  watcher.onDidChange(later);
  watcher.onDidCreate(later);
  panel.onDidDispose(() => {
    clearTimeout(due);
    watcher.dispose();
  });
}

function isOpenRankArguments(value: unknown): value is OpenRankArguments {
  return (
    typeof value === 'object' &&
    value !== null &&
    'path' in value &&
    typeof value.path === 'string' &&
    'snapshot' in value &&
    typeof value.snapshot === 'number'
  );
}
