// A profile's view: its flame graph, the value that all of it is about, and the panes that need no timeline.

import { signal } from '@preact/signals';
import type { CompareState, ProfileState, ViewCommand, ViewState } from '../../../extension/shared/messages';
import type { Evidence, Frame, GroupsAnswer, ProfileInfo } from '../../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../api';
import type { Pending } from '../base/request';
import { figure, setFigures } from '../base/figure';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { visible } from '../base/text';
import { theme } from '../canvas/theme';
import { restoreCompare } from '../compare/comparison';
import { flamePane, type FlamePane } from '../flame/pane';
import { KeptFlame } from '../flame/settings';
import { KeptAttribution } from '../shell/attribution';
import { EVERYTHING, type Change } from '../shell/context';
import type { AskedSvg } from '../shell/export';
import { listenForKeys } from '../shell/keyboard';
import { PROFILE_KEYS, type ProfileAction } from '../shell/keys';
import { Narrowing } from '../shell/narrowing';
import { Panels } from '../shell/panels';
import { saver } from '../shell/saver';
import { isOf, keptState } from '../shell/state';
import { shareEntries, SHARED_COMMANDS } from '../shell/share';
import type { MenuEntry } from '../widgets/menu';
import { ProfileContext, type ProfileOwner } from './context';
import { makeParts, type PartsOwner, type ProfileParts } from './parts';
import { factsOf, valueOf, valuePicker } from './state';
import type { TimeRange } from './range';
import type { ProfileTimes } from './times';

export class ProfileView implements ProfileOwner, PartsOwner {
  value: number;
  filter = '';
  readonly flame: KeptFlame;
  readonly attribution: KeptAttribution;
  readonly compared: CompareState | null;
  readonly reported = null;
  private readonly context: ProfileContext;
  private readonly flamePane: FlamePane;
  private readonly parts: ProfileParts;
  /** Null where the file has nothing over time, and until the parts are made. */
  private times: ProfileTimes | null = null;
  private readonly narrowing = new Narrowing((error) => this.failed(error));
  /** How much fits the filter. */
  private readonly counting = new Latest();
  readonly comparedWith = signal<string | null>(null);
  private readonly stop = new AbortController();
  private readonly panels: Panels;
  private readonly saveSoon = saver(() => this.save(), this.stop.signal);

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    private readonly info: ProfileInfo,
    hostState: ViewState | null,
  ) {
    const saved = api.saved();
    const state = keptState('profile', hostState, saved);
    this.value = valueOf(info, state?.value);
    this.flame = new KeptFlame(state?.flame ?? null, info, this.saveSoon);
    this.attribution = new KeptAttribution(api, () => this.changed('attribution'));
    this.boundFlame();
    this.compared = restoreCompare(state?.compare);
    this.context = new ProfileContext(api, info, this);
    this.updateFigures();
    this.flamePane = flamePane(this.context);
    this.parts = makeParts(this, {
      ...{ api, root, info, context: this.context, flame: this.flamePane },
      ...{ state, layout: saved?.layout },
    });
    this.times = this.parts.times;
    this.panels = new Panels(this.parts, () => this.focusPicture());
    listenForKeys(PROFILE_KEYS, this.parts.help, (action) => this.act(action), this.stop.signal);
    this.parts.frame.status.value = visible(factsOf(info));
    this.arrange();
    this.changed(...EVERYTHING);
    const unfollow = theme.subscribe(() => this.changed('theme'));
    this.stop.signal.addEventListener('abort', unfollow);
    this.panels.restorePane(state ? state.pane : 'liveSet');
    this.parts.summary.turnTo(null);
    this.parts.summary.find();
    if (state && state.filter !== '') this.setFilter(state.filter);
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'profile';
  }

  picture(): AskedSvg {
    return this.flamePane.svg();
  }

  goTo(state: ViewState): void {
    if (!isOf('profile', state)) return;
    this.flame.restore(state.flame);
    this.boundFlame();
    this.times?.goTo(state.range);
    const value = valueOf(this.info, state.value);
    if (value !== this.value) this.setValue(value);
    this.context.compare.goTo(state.compare);
    this.panels.restorePane(state.pane);
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
    this.parts.dock.dispose();
    this.parts.summary.drop();
    this.counting.cancel();
    this.flamePane.dispose();
    this.times?.dispose();
    this.parts.frame.dispose();
    delete this.root.dataset['model'];
  }

  get commands(): readonly ViewCommand[] {
    const panes = [...this.parts.dock.panes.map(({ id }) => id), 'flame' as const];
    return [
      ...SHARED_COMMANDS,
      ...(['exportSvg', 'exportPng', 'togglePane'] as const),
      ...panes.map((id) => `pane.${id}` as const),
    ];
  }

  get range(): TimeRange | null {
    return this.times?.range ?? null;
  }

  get rangeName(): string | null {
    return this.times?.name ?? null;
  }

  receive(message: HostMessage): void {
    switch (message.type) {
      case 'showLine':
        // the boxes of that line are what it has: found like by a search, and only those of its stacks are left
        this.setFilter(`file:"=${message.file.replace(/["\\]/g, '\\$&')}:${message.line}"`);
        return;
      case 'other':
        this.context.compare.receive(message.other);
        if (message.fresh) this.parts.dock.show('compare');
        return;
      case 'file':
        this.parts.fileBar.show(message.of, message.state);
        return;
      case 'command':
        this.panels.run(message.command);
        return;
      default:
        return;
    }
  }

  setFilter(filter: string): void {
    const text = filter.trim();
    this.parts.filterBox.show(text);
    this.narrowing.cancel();
    if (text === this.filter) return;
    if (text === '') {
      this.narrowTo('');
      return;
    }
    // asked first, so that what is wrong with it is said beside it and nothing else goes
    const { filterBox } = this.parts;
    this.narrowing.ask(filterBox, this.sumOf(text), ({ groups }) => {
      this.narrowTo(text);
      if (groups === 0) {
        const matches = this.api.request('memlens/filterMatches', { device: 0, filter: text });
        this.narrowing.explain(filterBox, matches);
      }
    });
  }

  open({ file, line }: Pick<Frame, 'file' | 'line'>, beside: boolean): void {
    this.api.post({ type: 'openSource', file, line, beside });
  }

  say(text: string): void {
    this.parts.frame.say(text);
  }

  failed(error: unknown): void {
    this.parts.frame.failed(error);
  }

  /** What is chosen of the run is another part of it. */
  rangeChanged(): void {
    this.updateFigures();
    this.updatePickers();
    this.changed('cursors');
    this.saveSoon();
  }

  toggleTall(): void {
    this.panels.toggleTall();
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

  /** A value is one of the whole run: of a range only what was allocated, freed and kept is known. */
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
    // a range has bytes and counts, of any value
    const ofRange = this.range !== null;
    const isCounted = this.info.values.some((value) => value.unit === 'count');
    const counts = ofRange ? (isCounted ? 'allocation' : null) : counted === null ? 'sample' : 'allocation';
    setFigures({ unit: ofRange && unit !== 'count' ? 'bytes' : unit, counts });
  }

  /** Says in the filter's box how much of the value fits. */
  private showRest(): void {
    this.counting.cancel();
    const { filter } = this;
    if (filter === '') return;
    const failed = (error: unknown): void => this.failed(error);
    this.counting.ask(
      this.sumOf(filter),
      ({ set_bytes: some }) => {
        this.counting.ask(
          this.sumOf(''),
          ({ set_bytes: every }) => {
            this.parts.filterBox.leaves(figure(some), figure(every));
          },
          failed,
        );
      },
      failed,
    );
  }

  private sumOf(filter: string): Pending<GroupsAnswer> {
    const of = { ...this.context.set, filter };
    return this.api.request('memlens/groups', {
      branch: { of, by: ['file'], path: [], narrow: '', attribution: 'mine' },
      ...{ order: 'bytes', descending: true, offset: 0, limit: 1 },
    });
  }

  private changed(...changes: readonly Change[]): void {
    if (changes.some((each) => each === 'filter' || each === 'device' || each === 'cursors')) this.showRest();
    if (!this.parts.frame.current.dockTall || this.parts.dock.shown === null)
      this.flamePane.update(new Set(changes));
    this.parts.dock.update(changes);
  }

  arrange(): void {
    this.panels.arrange();
    this.updatePickers();
    this.saveSoon();
  }

  private updatePickers(): void {
    this.parts.pickers.value = [
      valuePicker(this.info, this.value, this.rangeName, (value) => this.askFor(value)),
    ];
  }

  menu(): readonly MenuEntry[] {
    return [
      {
        ...{ text: t('Panel'), key: 'T', checked: this.parts.dock.shown !== null },
        run: () => this.panels.togglePane(),
      },
      {
        ...{ text: t('Maximize Panel'), key: '', checked: this.parts.frame.current.dockTall },
        run: () => this.panels.toggleTall(),
      },
      ...shareEntries(this.api, () => this.parts.summary.text, t('Flame Graph')),
    ];
  }

  /** Its value, its filter, and the pane that has it. */
  showEvidence({ pane, of, by, event }: Evidence): void {
    if (of.value !== null) this.askFor(of.value);
    this.setFilter(of.filter);
    this.panels.showPane(pane);
    this.parts.dock.reveal({ by, event });
  }

  showComparison(): void {
    this.parts.dock.show('compare');
  }

  copy(text: string): void {
    this.api.post({ type: 'copy', text });
  }

  focusPicture(): void {
    this.flamePane.focus();
  }

  private act(action: ProfileAction): void {
    switch (action) {
      case 'nextValue':
        this.askFor((this.value + 1) % this.info.values.length);
        return;
      case 'togglePane':
        this.panels.togglePane();
        return;
      case 'filter':
        this.parts.filterBox.focus();
        return;
      case 'help':
        this.parts.help.toggle();
    }
  }

  save(): void {
    this.saveSoon.cancel();
    const { filter, value, times, flame, context } = this;
    const { dock, frame } = this.parts;
    const view: ProfileState = {
      ...{ model: 'profile', pane: dock.shown, filter, value, range: times?.kept ?? null },
      ...{ compare: context.compare.state, flame: flame.state },
    };
    this.api.save(view, frame.current, this.commands);
  }
}
