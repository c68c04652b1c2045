import * as vscode from 'vscode';
import { CommandLink, pick, saveDialog, showInformation, StatusItem } from '../base/window';
import type { RecordingRow } from '../../shared/protocol.gen';
import type { SnapshotEditorProvider } from '../editor/provider';
import type { Server } from '../server/client';
import { showProblem } from '../server/problem';
import { showWork } from '../server/work';
import { folder, nameOfDump, type ProgramItem, programs } from './dump';

const RUN = 'memlens.runAndRecord';
const STOP = 'memlens.stopRecording';

/** "Record Allocations…" of a running Node.js process or a page, until the user stops it; a status bar item stops it as well. */
export function registerRecordCommands(editors: SnapshotEditorProvider, server: Server): vscode.Disposable {
  const running = new Map<string, Recording>();
  const changed = (): void => {
    void vscode.commands.executeCommand('setContext', 'memlens.recording', running.size > 0);
  };
  const begin = (view: string, name: string): void => {
    running.set(view, new Recording(view, name));
    changed();
  };
  const end = (view: string): void => {
    running.get(view)?.dispose();
    running.delete(view);
    changed();
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand('memlens.recordAllocations', async () => {
      try {
        await record(editors, server, { begin, end, running });
      } catch (error) {
        showProblem(error);
      }
    }),
    vscode.commands.registerCommand(STOP, async (asked?: unknown) => {
      const view = typeof asked === 'string' ? asked : await chooseRecording([...running.values()]);
      if (view === undefined || !running.has(view)) return;
      server.request('memlens/stopRecording', { view }).catch(showProblem);
    }),
    new vscode.Disposable(() => {
      for (const each of running.values()) each.dispose();
    }),
  );
}

interface Running {
  readonly running: ReadonlyMap<string, Recording>;
  readonly begin: (view: string, name: string) => void;
  readonly end: (view: string) => void;
}

/** A recording in the status bar. */
class Recording {
  readonly #item: StatusItem;

  constructor(
    readonly view: string,
    readonly name: string,
  ) {
    const command = { title: vscode.l10n.t('Stop Recording'), command: STOP, arguments: [view] };
    this.#item = new StatusItem(STOP, vscode.l10n.t('Recording of allocations'), command);
    this.show('0:00');
  }

  show(stage: string): void {
    this.#item.show(
      'stop-circle',
      stage,
      vscode.l10n.t('Stop recording the allocations of {0}, and open them', this.name),
      vscode.l10n.t('Stop recording the allocations of {0}, {1}', this.name, stage),
    );
  }

  dispose(): void {
    this.#item.dispose();
  }
}

async function record(
  editors: SnapshotEditorProvider,
  server: Server,
  { running, begin, end }: Running,
): Promise<void> {
  const start = {
    label: vscode.l10n.t('Run a Program…'),
    detail: vscode.l10n.t(
      'A Python, Node.js or Java program, in a terminal; it leaves a file however it ends',
    ),
    alwaysShow: true,
  };
  const listed = await programs(server, ({ recordings }) => recordings.length > 0);
  const items = [...(vscode.workspace.isTrusted ? [start] : []), ...listed];
  if (items.length === 0) {
    void showInformation(
      vscode.l10n.t(
        'None of your processes runs Java or Node.js, and no browser with --remote-debugging-port: only of these does Memlens record allocations. Of others, take heap dumps one after the other.',
      ),
    );
    return;
  }
  const chosen = await pick<typeof start | ProgramItem>(items, {
    title: vscode.l10n.t('Record Allocations'),
    placeHolder: vscode.l10n.t('The Java or Node.js program or the page whose allocations are recorded'),
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen === undefined) return;
  if (!('program' in chosen)) {
    await vscode.commands.executeCommand(RUN);
    return;
  }
  const { program, name } = chosen.program;
  const how = await chooseKind(chosen.recordings);
  if (how === undefined) return;
  const target = await saveDialog({
    title: vscode.l10n.t('Save the Recording of {0}', name),
    saveLabel: vscode.l10n.t('Record'),
    defaultUri: vscode.Uri.joinPath(folder(), nameOfDump({ name, ending: how.ending }, new Date())),
  });
  if (target === undefined) return;
  const done = await showWork(
    server,
    vscode.l10n.t('Recording the allocations of {0}; Cancel discards them', name),
    async (view, token) => {
      begin(view, name);
      try {
        const out = target.fsPath;
        return await server.request(
          'memlens/record',
          { program, out, view, sampling: how.sampling, seconds: null },
          token,
        );
      } finally {
        end(view);
      }
    },
    (stage, view) => {
      running.get(view)?.show(stage);
      return new CommandLink(vscode.l10n.t('Stop and Open'), STOP, view);
    },
  );
  if (done !== undefined) await editors.open(target);
}

async function chooseKind(recordings: readonly RecordingRow[]): Promise<RecordingRow | undefined> {
  if (recordings.length < 2) return recordings[0];
  const items = recordings.map((row) => ({ ...row, label: row.title }));
  return await pick(items, {
    title: vscode.l10n.t('Record Allocations'),
    placeHolder: vscode.l10n.t('What is recorded'),
  });
}

async function chooseRecording(recordings: readonly Recording[]): Promise<string | undefined> {
  if (recordings.length < 2) return recordings[0]?.view;
  const items = recordings.map(({ name, view }) => ({ label: name, view }));
  return (await pick(items, { title: vscode.l10n.t('Stop Recording') }))?.view;
}
