import path from 'node:path';
import * as vscode from 'vscode';
import type { FleetState, FromWebviewMessage, ToWebviewMessage } from '../../shared/messages';
import { Disposable } from '../base/disposable';
import { type Logger, messageOf } from '../base/logger';
import type { Server } from '../server/client';
import { problem, ProblemError, problemOf } from '../server/problem';
import { SnapshotDocument } from './document';
import { showPage } from './html';

export const FLEET_VIEW_TYPE = 'memlens.fleet';

const KEY = 'memlens.fleets';
const KEPT = 50;

/** The editor over a fleet's summaries: a heat map, from which a rank's snapshot is opened. */
export class FleetEditorProvider
  extends Disposable
  implements vscode.CustomReadonlyEditorProvider<SnapshotDocument>
{
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
    private readonly openSnapshot: (uri: vscode.Uri) => Promise<unknown>,
    private readonly log: Logger,
  ) {
    super();
    this.own(vscode.window.registerCustomEditorProvider(FLEET_VIEW_TYPE, this));
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
          void this.#open(uri, message.snapshot);
          break;
        case 'copy':
          void vscode.env.clipboard.writeText(message.text);
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
  async #open(uri: vscode.Uri, snapshot: number): Promise<void> {
    try {
      const file = await this.server.request('memlens/fleetFile', { path: uri.fsPath, snapshot });
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
      if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, fetch)) !== fetch)
        return;
      const options = {
        location: vscode.ProgressLocation.Notification,
        title: vscode.l10n.t('Fetching {0}', file.name),
      };
      const folder = vscode.Uri.joinPath(this.context.globalStorageUri, 'fleet').fsPath;
      const copy = await vscode.window.withProgress(options, () =>
        this.server.request('memlens/fleetFetch', { path: uri.fsPath, snapshot, folder }),
      );
      await this.openSnapshot(vscode.Uri.file(copy.path));
    } catch (error) {
      const { message, advice } = problemOf(error);
      this.log.warn(`a snapshot of a fleet could not be opened: ${messageOf(error)}`);
      void vscode.window.showErrorMessage(`${message.replace(/\.$/, '')}. ${advice}`.trim());
    }
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
