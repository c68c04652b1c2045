// How a profile came about: what was live, the resident set and temporary allocations over time. A range that is
// brushed is what every other part of the view answers for.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ProfileInfo, ProfileRangeAnswer } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { bytes, count } from '../base/format';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { shorten } from '../base/text';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { Chart } from '../widgets/chart';
import { Choices } from '../widgets/choice';
import { IconButton } from '../widgets/icon-button';
import { Island } from '../widgets/island';
import { openMenuAt } from '../widgets/menu';
import { placeText, rangeKinds, rangeName, type TimeRange, type RangeKind } from './range';
import { drawTimes, edgeAt, lineColour, maximum, NO_TIMES, timesOf, type Times } from './times-picture';

export interface TimesEvents {
  changed(range: TimeRange | null): void;
  failed(error: unknown): void;
  say(text: string): void;
  filter(): string;
  /** What of a range is asked for, unless somebody says otherwise. */
  usualKind(): RangeKind;
}

type TimedProfile = Pick<ProfileInfo, 'time_unit' | 'has_flow' | 'has_short_lived'>;

/** A process that is so many times larger than its heap would leave a flat line of what is live. */
const DWARFING = 5;

/** What stands above the curves. */
interface HeadState {
  readonly kind: RangeKind;
  /** Whether a moment is chosen, or a range. */
  readonly chosen: 'nothing' | 'moment' | 'range';
  readonly summary: string;
  /** Whether there is a filter, which the curves don't follow. */
  readonly filtered: boolean;
}

export class ProfileTimes {
  private readonly chart = new Chart({
    ...{ class: 'profile-times-canvas', role: 'img', label: t('Memory over time') },
    draw: () => {
      const { chart, times, from, to, hovered } = this;
      const hidden = this.hidden.value;
      drawTimes(chart, { times, hidden, marks: { from, to, hovered }, at: (edge) => this.at(edge) });
    },
  });
  private readonly state = signal<HeadState>({
    kind: 'allocated',
    chosen: 'nothing',
    summary: '',
    filtered: false,
  });
  private readonly lines = signal<Times['lines']>([]);
  /** The names of the lines that are left out. */
  private readonly hidden = signal<ReadonlySet<string>>(new Set());
  private readonly readout = signal('');
  private times: Times = NO_TIMES;
  private from: number | null = null;
  private to: number | null = null;
  private dragging = false;
  /** What somebody asked for of a range. */
  private chosenKind: RangeKind | null = null;
  private hovered: number | null = null;
  private readonly asking = new Latest();

  constructor(
    private readonly api: Api,
    private readonly profile: TimedProfile,
    private readonly events: TimesEvents,
    /** What was chosen when the view was last open; taken once the edges are known. */
    private toRestore: TimeRange | null,
  ) {
    this.listen();
    this.api.request('memlens/profileTimes', {}).answer.then(
      (answer) => this.take(timesOf(answer)),
      (error: unknown) => events.failed(error),
    );
  }

  readonly View = (): VNode => (
    <section class="profile-times" aria-label={t('Memory over time')}>
      <div class="profile-times-head">
        <Head
          {...{ ...this.state.value, keys: this.keys, readout: this.readout.value }}
          chooseLines={(button) => this.chooseLines(button)}
          setKind={(kind) => {
            this.chosenKind = kind;
            this.show({ kind });
            this.changed();
          }}
          whole={() => this.whole()}
        />
      </div>
      <Island of={this.chart.surface} />
    </section>
  );

  get range(): TimeRange | null {
    if (this.from === null) return null;
    return { kind: this.to === null ? 'live' : this.state.value.kind, from: this.from, to: this.to };
  }

  /** What is to be there again the next time. */
  get kept(): TimeRange | null {
    return this.toRestore ?? this.range;
  }

  /** In words: "allocated from 1.2 s to 3 s". */
  get name(): string | null {
    const { range } = this;
    return range && rangeName(range, (edge) => this.at(edge));
  }

  /** The whole run again. */
  whole(): void {
    if (this.from !== null) this.set(null, null);
  }

  /** To a range of before. */
  goTo(range: TimeRange | null): void {
    if (JSON.stringify(range) === JSON.stringify(this.kept)) return;
    this.toRestore = range;
    if (!range) this.whole();
    else if (this.times.edges.length > 0) {
      this.from = null;
      this.restore();
    }
  }

  /** The filter is another one. */
  renew(): void {
    this.show({ filtered: this.events.filter() !== '' });
    this.ask();
  }

  dispose(): void {
    this.asking.cancel();
    this.chart.dispose();
  }

  private get keys(): HeadProps['keys'] {
    return this.lines.value.map(({ name, title, unit, values }, at) => ({
      // what isn't bytes has a scale of its own
      title: unit === 'bytes' ? title : t('{0} (up to {1})', title, count(Math.round(maximum(values)))),
      shown: !this.hidden.value.has(name),
      colour: css(lineColour(at, theme.value)),
    }));
  }

  private show(part: Partial<HeadState>): void {
    this.state.value = { ...this.state.value, ...part };
  }

  private take(times: Times): void {
    this.times = times;
    const { edge, bytes: peakBytes } = times.peak;
    const resident = times.lines.find(({ name }) => name === 'rss_bytes');
    if (resident && maximum(resident.values) > DWARFING * peakBytes)
      this.hidden.value = new Set([resident.name]);
    this.lines.value = times.lines;
    this.chart.setLabel(
      t(
        'Memory over time; the peak of {0} at {1}. Arrow keys choose a moment, with Shift a range; Escape clears it.',
        bytes(peakBytes),
        this.at(edge),
      ),
    );
    this.chart.request();
    this.restore();
  }

  private restore(): void {
    const { toRestore } = this;
    this.toRestore = null;
    if (!toRestore || this.from !== null) return;
    const { kind, from, to } = toRestore;
    const isEdge = (edge: number): boolean => Number.isInteger(edge) && this.times.edges[edge] !== undefined;
    if (!isEdge(from) || (to !== null && !isEdge(to))) return;
    if (rangeKinds().some(({ value }) => value === kind)) this.chosenKind = kind;
    this.set(from, to);
  }

  /** Lets the user hide some of the lines; the scale is that of the others. */
  private chooseLines(button: HTMLElement): void {
    const hidden = this.hidden.value;
    const items = this.times.lines.map(({ name, title }) => ({
      ...{ text: title, key: '', checked: !hidden.has(name) },
      run: () => {
        const next = new Set(hidden);
        if (!next.delete(name)) next.add(name);
        this.hidden.value = next;
        this.chart.request();
      },
    }));
    openMenuAt(button, items, t('Lines'));
  }

  private at(edge: number): string {
    return placeText(this.times.edges[edge] ?? 0, this.profile.time_unit);
  }

  // --- what is chosen ----------------------------------------------------------------------------------------------

  private set(from: number | null, to: number | null): void {
    this.begin();
    [this.from, this.to] = from !== null && to !== null && to < from ? [to, from] : [from, to];
    if (this.from === this.to) this.to = null;
    this.changed();
  }

  /** A range that is begun is about what fits what is looked at. */
  private begin(): void {
    if (this.from === null) this.show({ kind: this.chosenKind ?? this.events.usualKind() });
  }

  private changed(): void {
    this.arrange();
    this.chart.request();
    this.ask();
    this.events.changed(this.range);
    this.events.say(this.name ?? t('the whole run'));
  }

  private arrange(): void {
    const chosen = this.from === null ? 'nothing' : this.to === null ? 'moment' : 'range';
    this.show({ chosen, ...(chosen === 'range' ? {} : { summary: this.name ?? '' }) });
  }

  /** Asks what the range comes to. */
  private ask(): void {
    this.asking.cancel();
    const { from, to } = this;
    if (from === null || to === null) return;
    this.asking.ask(
      this.api.request('memlens/profileRange', {
        ...{ from_edge: from, to_edge: to, filter: this.events.filter() },
      }),
      (answer) => {
        const figures = rangeFigures(answer, this.profile);
        this.show({ summary: t('{0} to {1}: {2}', this.at(from), this.at(to), figures) });
      },
      (error) => this.events.failed(error),
    );
  }

  // --- pointer and keys --------------------------------------------------------------------------------------------

  private listen(): void {
    const { surface } = this.chart;
    const edgeOf = (event: MouseEvent): number | null =>
      edgeAt(this.times.edges, event.offsetX, surface.clientWidth);
    surface.addEventListener('pointerdown', (event) => {
      const edge = edgeOf(event);
      if (event.button !== 0 || edge === null) return;
      surface.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.begin();
      this.from = edge;
      this.to = null;
      this.arrange();
      this.chart.request();
    });
    surface.addEventListener('pointermove', (event) => {
      this.hover(edgeOf(event));
      if (this.dragging && this.hovered !== null) this.to = this.hovered;
      this.chart.request();
    });
    surface.addEventListener('pointerup', () => {
      if (!this.dragging) return;
      this.dragging = false;
      this.set(this.from, this.to);
    });
    surface.addEventListener('pointercancel', () => {
      this.dragging = false;
    });
    surface.addEventListener('pointerleave', () => {
      this.hover(null);
      this.chart.request();
    });
    surface.addEventListener('keydown', (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private key(event: KeyboardEvent): boolean {
    const last = this.times.edges.length - 1;
    if (event.key === 'Escape' && this.from !== null) {
      this.set(null, null);
      return true;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    const bounded = (edge: number): number => Math.min(Math.max(edge, 0), last);
    if (this.from === null) this.set(this.times.peak.edge, null);
    else if (event.shiftKey) this.set(this.from, bounded((this.to ?? this.from) + by));
    else this.set(bounded(this.from + by), null);
    return true;
  }

  private hover(edge: number | null): void {
    this.hovered = edge;
    if (edge === null) {
      this.readout.value = '';
      return;
    }
    const figures = this.times.lines.map(({ title, unit, values }) => {
      const value = values[edge] ?? 0;
      const figure = unit === 'bytes' ? bytes(value) : count(Math.round(value));
      return `${title.charAt(0).toLowerCase()}${title.slice(1)} ${figure}`;
    });
    this.readout.value = `${this.at(edge)}: ${figures.join(', ')}`;
  }
}

interface HeadProps extends HeadState {
  readonly keys: readonly { readonly title: string; readonly colour: string; readonly shown: boolean }[];
  readonly readout: string;
  readonly chooseLines: (button: HTMLElement) => void;
  readonly setKind: (kind: RangeKind) => void;
  readonly whole: () => void;
}

function Head(props: HeadProps): VNode {
  const { kind, chosen, summary, filtered, keys, readout, chooseLines, setKind, whole } = props;
  return (
    <>
      <button
        type="button"
        class="profile-times-legend"
        title={t('Show or hide lines')}
        aria-haspopup="menu"
        onClick={({ currentTarget }) => chooseLines(currentTarget)}
      >
        {keys.map(({ title, colour, shown }) => (
          <span key={title} class={`profile-times-key${shown ? '' : ' off'}`}>
            <span class="swatch" style={{ background: colour }} />
            {shorten(title, 80)}
          </span>
        ))}
      </button>
      {filtered && <span class="muted">{t('Unfiltered curves')}</span>}
      <span class="muted profile-times-readout">{shorten(readout, 2000)}</span>
      <span role="status">{shorten(summary, 2000)}</span>
      {chosen === 'range' && (
        <Choices label={t('Which of the range')} options={rangeKinds()} value={kind} change={setKind} />
      )}
      {chosen !== 'nothing' && <IconButton icon="close" label={t('Back to the whole run')} press={whole} />}
    </>
  );
}

/** What a range comes to: "allocated 3 MiB in 12, freed 1 MiB in 4, +2 MiB live". */
function rangeFigures(
  answer: ProfileRangeAnswer,
  { has_flow: hasFlow, has_short_lived: whole }: TimedProfile,
): string {
  const grown = answer.live_after_bytes - answer.live_before_bytes;
  const size = (value: number, many: number | null): string =>
    many === null ? bytes(value) : t('{0} in {1}', bytes(value), count(many));
  const allocated = size(answer.allocated_bytes, answer.allocated_count);
  const freed = size(answer.freed_bytes, answer.freed_count);
  const live = t('{0} live', `${grown < 0 ? '−' : '+'}${bytes(Math.abs(grown))}`);
  if (!hasFlow) return t('only sums of what was live are known, {0}', live);
  // what was made and freed between two marks of the recorder isn't seen
  return whole
    ? t('allocated {0}, freed {1}, {2}', allocated, freed, live)
    : t('allocated at least {0}, freed at least {1}, {2}', allocated, freed, live);
}
