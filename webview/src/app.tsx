// Which screen is shown: reading, failed, or the snapshot.

import { signal } from '@preact/signals';
import { render } from 'preact';
import { said, t } from './base/l10n';
import type { ViewCommand } from '../../extension/shared/commands';
import type { ViewState } from '../../extension/shared/messages';
import type { Problem, TimelineInfo } from '../../extension/shared/protocol.gen';
import type { Api, HostMessage } from './api';
import { takeReport } from './shell/export';
import { keySettings } from './shell/keyboard';
import { never } from './shell/model';
import { EVERYWHERE, type ShownView } from './shell/page';
import { SnapshotView } from './timeline/view';
import { learnFileNames } from './base/paths';
import { EmptyScreen, type FailedAction, FailedScreen, ProgressScreen, type Progress } from './shell/screens';

export class App {
  private readonly progress = signal<Progress>({ stage: '', fraction: null });
  /** The progress is what is shown. */
  private opening = false;
  private opened = 0;
  private view: ShownView | null = null;
  /** Whether the file is a heap dump, whose report may quote what the program held. */
  private holdsContents = false;
  /** What came while the view's code was loaded. */
  private early: HostMessage[] = [];

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
  ) {}

  start(): void {
    this.root.dataset['pictures'] = '0';
    this.showProgress();
    this.api.listen((message) => this.receive(message));
    this.api.post({ type: 'ready' });
  }

  private receive(message: HostMessage): void {
    switch (message.type) {
      case 'progress':
        if (this.view) return; // late: the snapshot is there
        if (!this.opening) this.showProgress();
        // an empty stage is the one before
        this.progress.value = {
          stage: message.stage || this.progress.value.stage,
          fraction: message.fraction,
        };
        return;
      case 'opened':
        this.showView(message);
        this.api.offer(this.view?.commands ?? []);
        return;
      case 'fleet':
        if (this.view) this.view.receive(message);
        else
          this.load(async () => {
            const { FleetView: View } = await import('./fleet/view');
            return () => new View(this.api, this.root, message);
          });
        return;
      case 'keys':
        keySettings.single = message.single;
        return;
      case 'failed':
        this.leave('failed');
        this.showFailure(message.problem, message.canOpenAsText);
        return;
      case 'goTo':
        if (this.view) this.view.goTo(message.state);
        else this.early.push(message);
        return;
      case 'takeReport':
        this.takeReport(message.form, message.values);
        return;
      case 'command':
        if (this.view === null && this.root.dataset['state'] === 'loading') this.early.push(message);
        else this.command(message.command);
        return;
      default:
        if (this.view) this.view.receive(message);
        else this.early.push(message);
    }
  }

  private command(command: ViewCommand): void {
    const { api, view } = this;
    const row = EVERYWHERE.find(({ action }) => action === command);
    if (view && row) row.run({ api, view, report: (form) => this.report(form) });
    else view?.receive({ type: 'command', command });
  }

  private report(form: 'html' | 'markdown'): void {
    if (this.holdsContents) this.api.post({ type: 'chooseReport', form });
    else this.takeReport(form, false);
  }

  private takeReport(form: 'html' | 'markdown', values: boolean): void {
    const { api, view } = this;
    takeReport(api, form, view?.reported ?? null, values).catch((error: unknown) => view?.failed(error));
  }

  private showProgress(): void {
    this.leave('loading');
    this.opening = true;
    this.progress.value = { stage: t('Opening…'), fraction: null };
    const cancel = (): void => this.api.post({ type: 'cancelOpen' });
    render(<ProgressScreen progress={this.progress} cancel={cancel} />, this.root);
  }

  private showFailure(problem: Problem, canOpenAsText: boolean): void {
    const press = (type: FailedAction): void => {
      if (type === 'retry') this.showProgress();
      this.api.post({ type });
    };
    render(<FailedScreen problem={problem} canOpenAsText={canOpenAsText} press={press} />, this.root);
  }

  private showView(message: HostMessage & { type: 'opened' }): void {
    learnFileNames({});
    this.api.request('memlens/fileNames', {}).answer.then(
      ({ names }) => learnFileNames(names),
      // they are called by their last part then, and what is wrong will show in other answers
      () => undefined,
    );
    const { info, heap, state } = message;
    this.holdsContents = info.model === 'graph';
    switch (info.model) {
      case 'timeline':
        this.showTimeline(info, state);
        return;
      case 'profile':
        this.load(async () => {
          const { ProfileView: View } = await import('./profile/view');
          return () => new View(this.api, this.root, info, state);
        });
        return;
      case 'graph':
        // every heap dump comes with it
        if (heap === null) return;
        this.load(async () => {
          const { GraphView: View } = await import('./graph/view');
          return () => new View(this.api, this.root, info, heap, state);
        });
        return;
      default:
        never(info);
    }
  }

  /** Profiles and heap dumps have a part of the program of their own, which others don't load. */
  private load(part: () => Promise<() => ShownView>): void {
    this.leave('loading');
    const { opened } = this;
    part().then(
      (make) => {
        if (opened !== this.opened) return;
        this.view = make();
        this.api.offer(this.view.commands);
        for (const message of this.early.splice(0)) this.receive(message);
      },
      (error: unknown) => this.receive({ type: 'failed', problem: notLoaded(error), canOpenAsText: false }),
    );
  }

  private showTimeline(info: TimelineInfo, state: ViewState | null): void {
    if (info.devices.every(({ events, allocations }) => events === 0 && allocations === 0)) {
      this.leave('empty');
      const reason = info.warnings.find(({ code }) => code === 'empty');
      const text = reason ? said(reason.message) : t('Nothing was recorded in this snapshot.');
      render(<EmptyScreen text={text} />, this.root);
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
    this.opening = false;
    this.early = [];
    this.root.dataset['state'] = state;
  }
}

/** A part of the program is gone: another version of the extension was installed. */
function notLoaded(error: unknown): Problem {
  return {
    code: 'not-loaded',
    offset: null,
    retry: true,
    message: t('A part of Memlens could not be loaded: {0}', String(error)),
    advice: t('Close the editor and open it again; if the extension was updated, reload the window.'),
  };
}
