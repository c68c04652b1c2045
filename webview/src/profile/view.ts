// A profile's view: its flame graph, the value that all of it is about, and the panes that need no timeline.

import { signal } from '@preact/signals';
import type { CompareState, PaneId, ViewCommand, ViewState } from '../../../extension/shared/messages';
import type { Evidence, Frame, ProfileInfo } from '../../../extension/shared/protocol.gen';
import { RequestError, type Api, type HostMessage, type Pending } from '../api';
import { KeptAttribution } from '../shell/attribution';
import { Colours } from '../canvas/palette';
import { SHARED_COMMANDS } from '../timeline/commands';
import { EVERYTHING, type Change } from '../shell/context';
import type { AskedSvg } from '../shell/export';
import { isWritten } from '../shell/keyboard';
import { PROFILE_PANES } from '../shell/panes';
import { flamePane, type FlamePane } from '../flame/pane';
import { KeptFlame } from '../flame/settings';
import { tabsOf } from '../shell/pane';
import { restoreCompare } from '../compare/comparison';
import { restoreLayout } from '../shell/state';
import { oneStop } from '../shell/bar';
import { Dock } from '../shell/dock';
import { ViewFrame } from '../shell/frame';
import { makeHead, type Head } from '../shell/head';
import type { MenuEntry } from '../widgets/menu';
import { saver } from '../shell/saver';
import { shareEntries } from '../shell/share';
import { Summary } from '../shell/summary';
import { comparing, type Picker } from '../shell/toolbar';
import { element, setText } from '../widgets/dom';
import { FileBar } from '../shell/file-bar';
import { FilterBox } from '../shell/filter-box';
import { allocationTerms } from '../shell/filter-terms';
import { figureIn, setFigures } from '../base/figure';
import { count, counted } from '../base/format';
import { Help, profileKeys } from '../shell/help';
import { watchTheme } from '../canvas/theme';
import { ProfileContext, type ProfileOwner } from './context';
import { ProfileTimes, type Stretch } from './times';

export class ProfileView implements ProfileOwner {
  value: number;
  filter = '';
  readonly colours = new Colours([], 'stack');
  readonly flame: KeptFlame;
  readonly attribution: KeptAttribution;
  readonly compared: CompareState | null;
  readonly reported = null;
  private readonly context: ProfileContext;
  private readonly flamePane: FlamePane;
  private readonly dock: Dock;
  private readonly head: Head;
  private readonly summary: Summary;
  private readonly help = new Help(profileKeys());
  /** Whether the latest filter is one. */
  private asking: Pending<unknown> | null = null;
  private readonly pickers = signal<readonly Picker[]>([]);
  private readonly comparedWith = signal<string | null>(null);
  private readonly filterBox: FilterBox;
  private readonly fileBar: FileBar;
  private readonly frame: ViewFrame;
  private readonly times: ProfileTimes | null;
  private readonly stop = new AbortController();
  private lastPane: PaneId = 'liveSet';
  private readonly saveSoon = saver(() => {
    this.save();
  }, this.stop.signal);

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: ProfileInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = hostState ?? saved?.view ?? null;
    this.value = valueOf(info, state?.value);
    this.flame = new KeptFlame(state?.flame ?? null, info, this.saveSoon);
    this.attribution = new KeptAttribution(api, () => {
      this.changed('attribution');
    });
    this.boundFlame();
    this.compared = restoreCompare(state?.compare);
    this.context = new ProfileContext(api, info, this);
    this.updateFigures();
    const flame = flamePane(this.context);
    this.flamePane = flame;
    this.dock = new Dock(
      // its set is its value
      null,
      {
        shown: () => {
          this.arrange();
        },
        toggleTall: () => {
          this.frame.set({ dockTall: !this.frame.current.dockTall });
        },
        failed: (error) => {
          this.failed(error);
        },
      },
      tabsOf(this.context, PROFILE_PANES),
      1,
    );
    this.filterBox = new FilterBox(allocationTerms([]), {
      apply: (text) => {
        this.setFilter(text);
      },
      leave: () => {
        this.focusFlame();
      },
    });
    this.summary = new Summary(api, info.warnings, (error) => {
      this.failed(error);
    });
    this.head = makeHead(
      {
        summary: this.summary,
        actions: {
          open: (line, beside) => {
            this.open(line, beside);
          },
          showObjects: null,
          show: (evidence) => {
            this.show(evidence);
          },
          copy: (text) => {
            this.api.post({ type: 'copy', text });
          },
        },
      },
      {
        ...{ label: 'Profile', pickers: this.pickers, comparedWith: this.comparedWith },
        filter: this.filterBox.root,
        ...comparing(api, () => {
          this.dock.show('compare');
        }),
        more: () => this.menu(),
        help: () => {
          this.help.toggle();
        },
      },
    );
    this.fileBar = new FileBar(api, () => this.context.compare.other?.name ?? '');
    const hidden = (): HTMLElement => element('div', { hidden: true });
    this.frame = new ViewFrame(
      root,
      {
        head: this.head.root,
        minimap: hidden(),
        pictures: [flame.root],
        dock: this.dock.root,
        panel: hidden(),
        tooltip: hidden(),
        help: this.help.root,
      },
      { ...restoreLayout(saved?.layout), panelOpen: false },
      () => {
        this.arrange();
      },
      () => {
        this.api.post({ type: 'showLog' });
      },
    );
    flame.root.classList.add('pane', 'main-flame');
    // the value is chosen for all of the view, and without times there is no order of time
    flame.without('value', ...(info.bins === 0 ? (['order'] as const) : []));
    flame.root.prepend(flame.bar);
    oneStop(flame.bar);
    flame.root.parentElement?.classList.add('profile-picture');
    flame.root.addEventListener('keydown', (event) => {
      if (event.defaultPrevented || !flame.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
    this.frame.files.append(this.fileBar.root);
    this.times =
      info.bins === 0
        ? null
        : new ProfileTimes(
            api,
            info,
            this.colours.theme,
            {
              changed: () => {
                this.updateFigures();
                this.updatePickers();
                this.changed('cursors');
                this.saveSoon();
              },
              failed: (error) => {
                this.failed(error);
              },
              say: (text) => {
                this.say(text);
              },
              filter: () => this.filter,
            },
            stretchOf(state),
          );
    if (this.times) this.frame.lanes.append(this.times.root);
    watchTheme(this.stop.signal, () => {
      this.colours.refresh();
      this.times?.setTheme(this.colours.theme);
      this.changed('theme');
    });
    window.addEventListener(
      'keydown',
      (event) => {
        if (this.key(event)) event.preventDefault();
      },
      { signal: this.stop.signal },
    );
    setText(this.frame.status, facts(info));
    this.arrange();
    this.changed(...EVERYTHING);
    this.dock.show(state ? (this.dock.panes.find(({ id }) => id === state.pane)?.id ?? null) : 'liveSet');
    this.summary.turnTo(null);
    this.summary.find();
    if (state && state.filter !== '') this.setFilter(state.filter);
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'profile';
  }

  picture(): AskedSvg {
    return this.flamePane.svg();
  }

  goTo(state: ViewState): void {
    this.flame.restore(state.flame);
    this.boundFlame();
    this.times?.goTo(stretchOf(state));
    const value = valueOf(this.info, state.value);
    if (value !== this.value) this.setValue(value);
    this.context.compare.goTo(state.compare);
    this.dock.show(this.dock.panes.find(({ id }) => id === state.pane)?.id ?? null);
    this.changed('flame');
    this.setFilter(state.filter);
  }

  /** Widths are what the value above says, and without times there is no order of time. */
  private boundFlame(): void {
    this.flame.settings.value = 'bytes';
    if (this.info.bins === 0) this.flame.settings.order = 'value';
  }

  dispose(): void {
    this.saveSoon.flush();
    this.stop.abort();
    this.dock.dispose();
    this.head.dispose();
    this.flamePane.dispose();
    this.times?.dispose();
    delete this.root.dataset['model'];
  }

  get commands(): readonly ViewCommand[] {
    const panes = [...this.dock.panes.map(({ id }) => id), 'flame' as const];
    return [
      ...SHARED_COMMANDS,
      ...(['exportSvg', 'exportPng', 'togglePane'] as const),
      ...panes.map((id) => `pane.${id}` as const),
    ];
  }

  get stretch(): Stretch | null {
    return this.times?.stretch ?? null;
  }

  get stretchName(): string | null {
    return this.times?.name ?? null;
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'showLine':
        // the boxes of that line are what it has: found like by a search, and only those of its stacks are left
        this.setFilter(`file:"=${message.file.replace(/["\\]/g, '\\$&')}:${message.line}"`);
        return;
      case 'other':
        this.context.compare.receive(message.other, 0);
        if (message.fresh) this.dock.show('compare');
        return;
      case 'file':
        this.fileBar.show(message.of, message.state);
        return;
      case 'command':
        if (message.command.startsWith('pane.')) this.showPane(message.command.slice('pane.'.length));
        else if (message.command === 'togglePane') this.toggleDock();
        return;
      default:
        return;
    }
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.filterBox.show(text);
    this.asking?.cancel();
    this.asking = null;
    if (text === this.filter) return;
    if (text === '') {
      this.narrowTo('');
      return;
    }
    // asked first, so that what is wrong with it is said beside it and nothing else goes
    const of = { ...this.context.set, filter: text };
    const asking = this.api.request('memlens/groups', {
      branch: { of, by: ['file'], path: [], narrow: '', attribution: 'mine' },
      ...{ order: 'bytes', descending: true, offset: 0, limit: 1 },
    });
    this.asking = asking;
    asking.answer.then(
      () => {
        this.narrowTo(text);
      },
      (error: unknown) => {
        if (!(error instanceof RequestError)) this.failed(error);
        else if (error.problem.code !== 'cancelled')
          this.filterBox.fails([error.problem.message, error.problem.advice].filter(Boolean).join('. '));
      },
    );
  }

  open({ file, line }: Pick<Frame, 'file' | 'line'>, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }

  say(text: string): void {
    this.frame.say(text);
  }

  failed(error: unknown): void {
    this.frame.failed(error);
  }

  private narrowTo(filter: string): void {
    this.filter = filter;
    this.times?.renew();
    this.changed('filter');
    this.saveSoon();
  }

  comparisonChanged(): void {
    this.comparedWith.value = this.context.compare.other?.name ?? null;
    this.changed('compare');
    this.saveSoon();
  }

  /** A value is one of the whole run: of a stretch only what was allocated, freed and kept is known. */
  private askFor(value: number): void {
    this.times?.whole();
    this.setValue(value);
  }

  setValue(value: number): void {
    this.value = value;
    this.updateFigures();
    this.updatePickers();
    this.changed('device');
    this.saveSoon();
  }

  private updateFigures(): void {
    const { unit, count: counted } = this.context.value;
    // of a stretch bytes and counts are known, whatever the value
    const ofStretch = this.stretch !== null;
    const isCounted = this.info.values.some((value) => value.unit === 'count');
    const counts = ofStretch ? (isCounted ? 'allocation' : null) : counted === null ? 'sample' : 'allocation';
    setFigures({ unit: ofStretch && unit !== 'count' ? 'bytes' : unit, counts });
  }

  private changed(...changes: readonly Change[]): void {
    if (!this.frame.current.dockTall || this.dock.shown === null) this.flamePane.update(new Set(changes));
    this.dock.update(changes);
  }

  private arrange(): void {
    const pane = this.dock.shown;
    if (pane !== null) this.lastPane = pane;
    this.frame.apply(pane !== null);
    this.dock.setTall(this.frame.current.dockTall);
    this.updatePickers();
    this.saveSoon();
  }

  private updatePickers(): void {
    const { values } = this.info;
    const { stretchName: stretch } = this;
    const unit = values[this.value]?.unit === 'count' ? 'allocations' : 'bytes';
    // none of the values is known of a part of the run
    const ofStretch =
      stretch === null
        ? []
        : [
            {
              value: '',
              text: `${stretch.charAt(0).toUpperCase()}${stretch.slice(1)}, in ${unit}`,
              disabled: true,
            },
          ];
    const options = values.map(({ title, name, unit, total }, value) => ({
      ...{ value: String(value), text: `${title} · ${figureIn(total, unit)}`, title: name },
    }));
    this.pickers.value = [
      {
        ...{ label: 'Value', key: 'v', value: stretch === null ? String(this.value) : '' },
        options: [...ofStretch, ...options],
        pick: (value) => {
          this.askFor(Number(value));
        },
      },
    ];
  }

  private menu(): readonly MenuEntry[] {
    return [
      {
        ...{ text: 'Panel', key: 'T', checked: this.dock.shown !== null },
        run: () => {
          this.toggleDock();
        },
      },
      {
        ...{ text: 'Maximize Panel', key: '', checked: this.frame.current.dockTall },
        run: () => {
          if (this.dock.shown === null) this.toggleDock();
          this.frame.set({ dockTall: !this.frame.current.dockTall });
        },
      },
      ...shareEntries(this.api, () => this.summary.text, 'Flame Graph'),
    ];
  }

  /** Shows the evidence of a sentence: its value, its filter, and the pane that has it. */
  private show({ pane, of, by, event }: Evidence): void {
    if (of.value !== null) this.askFor(of.value);
    this.setFilter(of.filter);
    this.showPane(pane);
    this.dock.reveal({ by, event });
  }

  private showPane(id: string): void {
    if (id === 'flame') this.focusFlame();
    else this.dock.show(this.dock.panes.find((pane) => pane.id === id)?.id ?? null);
  }

  private toggleDock(): void {
    this.dock.show(this.dock.shown === null ? this.lastPane : null);
  }

  private focusFlame(): void {
    this.flamePane.root.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }

  private key(event: KeyboardEvent): boolean {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return false;
    if (isWritten(event.target)) return false;
    if (event.target instanceof Element && event.target.closest('select, .settings-slot')) return false;
    if (event.key === 't') this.toggleDock();
    else if (event.key === 'v') this.askFor((this.value + 1) % this.info.values.length);
    else if (event.key === '/') this.filterBox.focus();
    else if (event.key === '?') this.help.toggle();
    else return false;
    return true;
  }

  save(): void {
    this.saveSoon.cancel();
    const stretch = this.times?.kept ?? null;
    const view: ViewState = {
      ...{
        device: 0,
        axis: 'event',
        x0: 0,
        x1: 1,
        y0: 0,
        y1: 1,
        selection: null,
        colour: 'stack',
        areas: 'line',
        holdHeight: false,
      },
      ...{ picture: 'stacked', pane: this.dock.shown, filter: this.filter },
      ...{
        scope: !stretch ? 'peak' : stretch.to === null ? 'cursor' : 'between',
        kind: stretch?.kind ?? 'live',
        first: stretch?.from ?? null,
        second: stretch?.to ?? null,
        compare: this.context.compare.state,
        flame: this.flame.state,
        value: this.value,
        graph: null,
      },
    };
    this.api.save(view, this.frame.current, this.commands);
  }
}

function valueOf({ values, default_value: first }: ProfileInfo, saved: number | null | undefined): number {
  return Number.isInteger(saved) && values[saved ?? -1] !== undefined ? (saved ?? first) : first;
}

/** The stretch of time that was chosen; null for the whole of the profile. */
function stretchOf(state: ViewState | null): Stretch | null {
  return state && state.first !== null ? { kind: state.kind, from: state.first, to: state.second } : null;
}

function facts(info: ProfileInfo): string {
  const { values, samples, stacks } = info;
  // a sample may stand for many allocations
  const made = values.find(({ meaning, unit }) => meaning === 'total' && unit === 'count');
  const of = `${counted(samples, 'sample')} of ${counted(stacks, 'stack')}`;
  const facts = [made ? `${made.title}: ${count(made.total)}` : '', of, counted(values.length, 'value')];
  return [info.kind, ...facts.filter(Boolean)].join('  ·  ');
}
