// What a profile's view shows: the value or the range of its run that all of it is about, and what it is compared with.

import { batch, computed, effect, signal, untracked, type ReadonlySignal } from '@preact/signals';
import type { ViewCommand } from '../../../extension/shared/commands';
import type { ProfileState } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  Evidence,
  GroupsAnswer,
  ProfileInfo,
  ProfileValue,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { figure, setFigures } from '../base/figure';
import { said } from '../base/l10n';
import { Latest } from '../base/latest';
import { baseName } from '../base/paths';
import type { Pending } from '../base/request';
import { theme } from '../canvas/theme';
import { Compare, restoreCompare, type CompareContext, type OwnProfile } from '../compare/comparison';
import { KeptFlame } from '../flame/settings';
import { Session, type Topics } from '../shell/session';
import { isRange, placeText, rangeName, type TimeRange } from './range';
import { valueOf } from './state';
import { NO_TIMES, type Times } from './times-picture';

export class ProfileSession extends Session<ProfileState> implements CompareContext, OwnProfile {
  readonly model = 'profile';
  readonly timeline = null;
  readonly compare: Compare;
  readonly flame: KeptFlame;
  /** The number of the value that is shown. */
  readonly number = signal(0);
  /** The range of the run that is chosen; it counts once the times are known. */
  readonly chosen = signal<TimeRange | null>(null);
  readonly times = signal<Times>(NO_TIMES);
  /** How much fits the filter. */
  private readonly counting = new Latest();

  constructor(
    api: Api,
    readonly info: ProfileInfo,
    kept: ProfileState | null,
  ) {
    super(api);
    this.number.value = valueOf(info, kept?.value);
    this.chosen.value = kept?.range ?? null;
    // widths are what the value says, and without times there is no order of time
    const fixed = { value: 'bytes', ...(info.bins === 0 ? { order: 'value' as const } : {}) } as const;
    this.flame = new KeptFlame(kept?.flame ?? null, info, fixed);
    this.compare = new Compare(api, baseName(info.path), restoreCompare(kept?.compare), this);
    this.arrange({ panelOpen: false });
    this.useFigures();
    this.whileShown(effect(() => this.showRest()));
    this.whileShown(() => {
      this.counting.cancel();
    });
  }

  protected override get place(): ProfileState {
    return {
      model: 'profile',
      pane: this.pane.value,
      filter: this.filter,
      value: this.number.value,
      range: this.chosen.value,
      compare: this.compare.state,
      flame: this.flame.state,
    };
  }

  protected override readonly topics: Topics = {
    set: () => this.set,
    compare: () => this.compare.now.value,
    attribution: () => this.attribution.value,
    flame: () => this.flame.restored.value,
    theme: () => theme.value,
  };

  /** The flame graph is the picture. */
  protected override get places(): readonly ViewCommand[] {
    return [...super.places, 'pane.flame'];
  }

  private readonly chosenSet = computed((): AllocationSet => {
    const { kind, from, to } = this.range ?? { kind: 'live' as const, from: null, to: null };
    return {
      device: 0,
      kind,
      from_moment: from,
      to_moment: to,
      filter: this.filter,
      value: this.number.value,
    };
  });

  get set(): AllocationSet {
    return this.chosenSet.value;
  }

  get setName(): string {
    if (this.rangeName !== null) return this.rangeName;
    const title = said(this.value.title);
    return title.charAt(0).toLowerCase() + title.slice(1);
  }

  get value(): ProfileValue {
    const { values, default_value: first } = this.info;
    const value = values[this.number.value] ?? values[first];
    if (!value) throw new Error('The profile has no values.');
    return value;
  }

  setValue(value: number): void {
    this.number.value = value;
  }

  /** A value is one of the whole run: of a range only what was allocated, freed and kept is known. */
  showValue(value: number): void {
    batch(() => {
      this.chosen.value = null;
      this.number.value = value;
    });
  }

  get comparedWith(): ReadonlySignal<string | null> {
    return this.compare.with;
  }

  get range(): TimeRange | null {
    const range = this.chosen.value;
    return range && isRange(range, this.times.value.edges.length) ? range : null;
  }

  /** The range in words, "allocated from 1.2 s to 3 s"; null for the whole run. */
  get rangeName(): string | null {
    return this.range && rangeName(this.range, (edge) => this.at(edge));
  }

  /** When an edge is. */
  at(edge: number): string {
    return placeText(this.times.value.edges[edge] ?? 0, this.info.time_unit);
  }

  /** Figures are in the unit of what is shown from here on. */
  useFigures(): void {
    const { unit, count: counted } = this.value;
    // a range has bytes and counts, of any value
    const ofRange = this.range !== null;
    const isCounted = this.info.has_frees && this.info.values.some((value) => value.unit === 'count');
    const counts = ofRange ? (isCounted ? 'allocation' : null) : counted === null ? 'sample' : 'allocation';
    setFigures({ unit: ofRange && (unit !== 'count' || !isCounted) ? 'bytes' : unit, counts });
  }

  goTo(state: ProfileState): void {
    batch(() => {
      this.flame.restore(state.flame);
      this.chosen.value = state.range;
      this.number.value = valueOf(this.info, state.value);
      this.compare.goTo(state.compare);
      this.setFilter(state.filter);
    });
  }

  /** Its value, its filter, and the pane that has it. */
  override showEvidence({ pane, of, by, event }: Evidence): void {
    if (of.value !== null) this.showValue(of.value);
    const isRow = pane === 'liveSet' && by !== null && of.filter !== '';
    this.setFilter(isRow ? '' : of.filter);
    this.show(pane, { by, event, ...(isRow ? { row: of.filter } : {}) });
  }

  protected override narrow(filter: string): void {
    const { held } = this.filtering;
    if (filter === '') held.value = '';
    else if (filter !== held.value)
      this.narrowBy(filter, 0, this.sumOf(filter), ({ groups }) => {
        held.value = filter;
        return groups;
      });
  }

  /** Says in the filter's box how much of the value fits. */
  private showRest(): void {
    const { filter } = this.set;
    untracked(() => {
      this.counting.cancel();
      if (filter === '') return;
      const ask = (of: string, use: (answer: GroupsAnswer) => void): void =>
        this.counting.ask(this.sumOf(of), use, (error) => this.failed(error));
      ask(filter, ({ set_bytes: some }) => {
        ask('', ({ set_bytes: every }) => this.filtering.leaves(figure(some), figure(every)));
      });
    });
  }

  private sumOf(filter: string): Pending<GroupsAnswer> {
    return this.api.request('memlens/groups', {
      branch: { of: { ...this.set, filter }, by: ['file'], path: [], narrow: '', attribution: 'mine' },
      order: 'bytes',
      descending: true,
      offset: 0,
      limit: 1,
    });
  }
}
