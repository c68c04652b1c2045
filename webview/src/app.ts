// Which screen is shown: reading, failed, or the snapshot.

import type { ViewCommand, ViewState } from '../../extension/shared/messages';
import type { GraphInfo, TimelineInfo } from '../../extension/shared/protocol.gen';
import type { Api, HostMessage } from './api';
import { savePicture, takeReport, type AskedSvg } from './export';
import { never } from './model';
import { ProfileView } from './profile/view';
import { SnapshotView } from './view';
import { replace } from './ui/dom';
import { learnFileNames } from './ui/paths';
import { emptyScreen, failedScreen, ProgressScreen } from './ui/screens';

/** What every model's view can do. */
interface ShownView {
  receive(message: HostMessage): void;
  /** Shows a state of before, or of a link. */
  goTo(state: ViewState): void;
  /** Asks for its picture as SVG; null where it has none. */
  picture(): AskedSvg | null;
  /** The commands that do something now. */
  readonly commands: readonly ViewCommand[];
  /** The device that a report is about; null for a model without. */
  readonly reported: number | null;
  failed(error: unknown): void;
  /** Saves its state now. */
  save(): void;
  dispose(): void;
}

export class App {
  private progress: ProgressScreen | null = null;
  private opened = 0;
  private view: ShownView | null = null;

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
  ) {}

  start(): void {
    this.root.dataset['pictures'] = '0';
    this.showProgress();
    this.api.listen((message) => {
      this.receive(message);
    });
    this.api.post({ type: 'ready' });
  }

  private receive(message: HostMessage): void {
    switch (message.type) {
      case 'progress':
        if (this.view) return; // late: the snapshot is there
        if (!this.progress) this.showProgress();
        this.progress?.update(message.stage, message.fraction);
        return;
      case 'opened':
        this.showView(message);
        this.api.offer(this.view?.commands ?? []);
        return;
      case 'failed':
        this.leave('failed');
        replace(
          this.root,
          failedScreen(message.problem, message.canOpenAsText, {
            retry: () => {
              this.showProgress();
              this.api.post({ type: 'retry' });
            },
            openAsText: () => {
              this.api.post({ type: 'openAsText' });
            },
            showLog: () => {
              this.api.post({ type: 'showLog' });
            },
          }),
        );
        return;
      case 'goTo':
        this.view?.goTo(message.state);
        return;
      case 'command':
        this.command(message.command);
        return;
      default:
        this.view?.receive(message);
    }
  }

  /** What is the same for all models is done here; the host goes by the state that is saved first. */
  private command(command: ViewCommand): void {
    switch (command) {
      case 'back':
      case 'forward':
        this.view?.save();
        this.api.post({ type: 'history', by: command === 'back' ? -1 : 1 });
        return;
      case 'copyLink':
        this.view?.save();
        this.api.post({ type: 'copyLink' });
        return;
      case 'exportSvg':
      case 'exportPng': {
        const asked = this.view?.picture();
        if (asked) this.take(savePicture(this.api, command === 'exportSvg' ? 'svg' : 'png', asked));
        return;
      }
      case 'exportReport':
      case 'copyReport':
        this.take(
          takeReport(this.api, command === 'copyReport' ? 'markdown' : 'html', this.view?.reported ?? null),
        );
        return;
      default:
        this.view?.receive({ type: 'command', command });
    }
  }

  private take(made: Promise<void>): void {
    made.catch((error: unknown) => {
      this.view?.failed(error);
    });
  }

  private showProgress(): void {
    this.leave('loading');
    this.progress = new ProgressScreen(() => {
      this.api.post({ type: 'cancelOpen' });
    });
    replace(this.root, this.progress.root);
  }

  private showView(message: HostMessage & { type: 'opened' }): void {
    learnFileNames({});
    this.api.request('memlens/fileNames', {}).answer.then(
      ({ names }) => {
        learnFileNames(names);
      },
      // they are called by their last part then, and what is wrong will show in other answers
      () => undefined,
    );
    const { info, state } = message;
    switch (info.model) {
      case 'timeline':
        this.showTimeline(info, state);
        return;
      case 'profile':
        this.leave('loading');
        this.view = new ProfileView(this.api, this.root, info, state);
        return;
      case 'graph':
        void this.showGraph(info, state);
        return;
      default:
        never(info);
    }
  }

  /** Heap dumps have a part of the program of their own, which others don't load. */
  private async showGraph(info: GraphInfo, state: ViewState | null): Promise<void> {
    this.leave('loading');
    const { opened } = this;
    const { GraphView: View } = await import('./graph/view');
    if (opened !== this.opened) return;
    this.view = new View(this.api, this.root, info, state);
    this.api.offer(this.view.commands);
  }

  private showTimeline(info: TimelineInfo, state: ViewState | null): void {
    if (info.devices.every(({ events, allocations }) => events === 0 && allocations === 0)) {
      this.leave('empty');
      const reason = info.warnings.find(({ code }) => code === 'empty');
      replace(this.root, emptyScreen(reason?.message ?? 'Nothing was recorded in this snapshot.'));
      return;
    }
    this.leave('loading');
    this.view = new SnapshotView(this.api, this.root, info, state);
  }

  /** Leaves what is shown; what was on its way to be shown comes too late. */
  private leave(state: 'loading' | 'failed' | 'empty'): void {
    this.opened++;
    this.view?.dispose();
    this.view = null;
    this.progress = null;
    this.root.dataset['state'] = state;
  }
}
