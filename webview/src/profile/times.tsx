// How a profile came about: what was live, the resident set and temporary allocations over time. A range that is
// brushed is what every other part of the view answers for.

import { effect, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Action } from '../../../extension/shared/commands';
import type { ProfileInfo, ProfileRangeAnswer } from '../../../extension/shared/protocol.gen';
import { follow } from '../base/follow';
import { bytes, count } from '../base/format';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { shorten, visible } from '../base/text';
import { clampCamera, fitAll, fromPixelX, type Camera, type Extent, type PlotSize } from '../canvas/camera';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { KeyTable } from '../shell/key-table';
import { CLEAR, CURSOR_MOVES, moveCamera, MOVES, PEAK } from '../shell/moves';
import { Chart } from '../widgets/chart';
import { Choices } from '../widgets/choice';
import { HoverCard } from '../widgets/hover-card';
import { IconButton } from '../widgets/icon-button';
import { Island } from '../widgets/island';
import { openMenuAt } from '../widgets/menu';
import { movements, type LookedAt } from '../widgets/movements';
import { PointerInput, type Point } from '../widgets/pointer';
import { rangeKinds, rangeName, type RangeKind } from './range';
import type { ProfileSession } from './session';
import {
  drawTimes,
  edgeAt,
  LEFT_PX,
  lineColour,
  maximum,
  timesOf,
  type Times,
  type TimesLine,
} from './times-picture';

type TimedProfile = Pick<ProfileInfo, 'time_unit' | 'has_flow' | 'has_short_lived' | 'has_frees'>;

/** A process that is so many times larger than its heap would leave a flat line of what is live. */
const DWARFING = 5;

/** The closest zoom has so many parts of the run. */
const CLOSEST_EDGES = 4;

const KEYS = new KeyTable<Action>([...MOVES, ...CURSOR_MOVES, PEAK, CLEAR]);

export class ProfileTimes implements LookedAt {
  /** Its height is that of its lines. */
  readonly followsHeight = true;
  private readonly chart = new Chart({
    class: 'profile-times-canvas',
    role: 'img',
    label: t('Memory over time'),
    draw: () => {
      const { from = null, to = null } = this.marked.value ?? this.session.range ?? {};
      drawTimes(this.chart, {
        times: this.times,
        unit: this.session.info.time_unit,
        camera: this.camera,
        hidden: this.hidden.value,
        marks: { from, to, hovered: this.hovered.value },
      });
    },
  });
  /** The names of the lines that are left out. */
  private readonly hidden = signal<ReadonlySet<string>>(new Set());
  /** The part of the run in view; null for all of it. */
  private readonly seen = signal<Camera | null>(null);
  /** What the pointer marks while it is down. */
  private readonly marked = signal<{ readonly from: number; readonly to: number } | null>(null);
  private readonly card = new HoverCard(Card);
  private readonly hovered = signal<number | null>(null);
  /** What somebody asked for of a range. */
  private readonly kind = signal<RangeKind | null>(null);
  /** What the range comes to. */
  private readonly figures = signal('');
  private readonly asking = new Latest();

  constructor(private readonly session: ProfileSession) {
    this.listen();
    session.api.request('memlens/profileTimes', {}).answer.then(
      (answer) => this.take(timesOf(answer)),
      (error: unknown) => session.failed(error),
    );
    session.whileShown(
      effect(() => {
        void [session.times.value, session.range, this.hidden.value, this.marked.value, this.hovered.value];
        void this.seen.value;
        this.chart.request();
      }),
    );
    session.whileShown(
      follow({ range: () => session.range, filter: () => session.filter }, (changes) => {
        if (changes.has('range')) {
          if (session.range && session.range.to !== null) this.kind.value = session.range.kind;
          session.say(session.rangeName ?? t('the whole run'));
        }
        this.ask();
      }),
    );
    session.whileShown(() => {
      this.asking.cancel();
      this.chart.dispose();
    });
  }

  readonly View = (): VNode => (
    <section class="profile-times" aria-label={t('Memory over time')}>
      <div class="profile-times-head">
        <this.Head />
      </div>
      <Island of={this.chart.surface} />
      <Island of={this.card.root} />
    </section>
  );

  private get times(): Times {
    return this.session.times.value;
  }

  private take(times: Times): void {
    const { edge, bytes: peakBytes } = times.peak;
    const resident = times.lines.find(({ name }) => name === 'rss_bytes');
    if (resident && maximum(resident.values) > DWARFING * peakBytes)
      this.hidden.value = new Set([resident.name]);
    this.session.times.value = times;
    this.chart.setLabel(
      t(
        'Memory over time; the peak of {0} at {1}. Comma and period choose a moment, < and > a range; Escape clears it.',
        bytes(peakBytes),
        this.session.at(edge),
      ),
    );
  }

  /** Lets the user hide some of the lines; the scale is that of the others. */
  private chooseLines(button: HTMLElement): void {
    const hidden = this.hidden.value;
    const items = this.times.lines.map(({ name, title }) => ({
      text: title,
      checked: !hidden.has(name),
      run: () => {
        const next = new Set(hidden);
        if (!next.delete(name)) next.add(name);
        this.hidden.value = next;
      },
    }));
    openMenuAt(button, items, t('Lines'));
  }

  // --- what is chosen ----------------------------------------------------------------------------------------------

  private choose(from: number, to: number | null): void {
    const { chosen, value, info } = this.session;
    const isMoment = to === null || to === from;
    if (isMoment && !info.has_frees) {
      // nothing is known to be live at a moment; what was allocated about then is
      const last = Math.max(from, 1);
      chosen.value = { kind: 'allocated', from: last - 1, to: last };
      return;
    }
    // a range is about what fits what is looked at
    const survived = info.has_frees && value.meaning === 'end';
    const kind = this.kind.value ?? (survived ? 'survived' : 'allocated');
    chosen.value = isMoment
      ? { kind: 'live', from, to: null }
      : { kind, from: Math.min(from, to), to: Math.max(from, to) };
  }

  private clear(): void {
    this.session.chosen.value = null;
  }

  /** Asks what the range comes to. */
  private ask(): void {
    const { session } = this;
    this.asking.cancel();
    const { range, filter, info } = session;
    if (!range || range.to === null) return;
    const { from, to } = range;
    this.asking.ask(
      session.api.request('memlens/profileRange', { from_edge: from, to_edge: to, filter }),
      (answer) => {
        this.figures.value = t(
          '{0} to {1}: {2}',
          session.at(from),
          session.at(to),
          rangeFigures(answer, info),
        );
      },
      (error) => session.failed(error),
    );
  }

  // --- where it looks ----------------------------------------------------------------------------------------------

  get bounds(): Extent {
    const { edges } = this.times;
    const [x0 = 0, last = 0] = [edges[0], edges.at(-1)];
    const x1 = Math.max(last, x0 + 1);
    const minWidth = (CLOSEST_EDGES * (x1 - x0)) / Math.max(edges.length - 1, CLOSEST_EDGES);
    return { x0, x1, top: 1, minWidth, minHeight: 1 };
  }

  get camera(): Camera {
    return this.seen.value ?? fitAll(this.bounds);
  }

  get target(): Camera {
    return this.camera;
  }

  get plotSize(): PlotSize {
    const { width, height } = this.chart.size;
    return { width: Math.max(width - LEFT_PX * this.pixelRatio, 1), height };
  }

  get pixelRatio(): number {
    return this.chart.scale;
  }

  dataAt(x: number): { x: number; y: number } {
    return { x: fromPixelX(this.camera, this.plotSize, (x - LEFT_PX) * this.pixelRatio), y: 0 };
  }

  momentAt(x: number): number | null {
    return edgeAt(this.times.edges, x);
  }

  moveTo({ x0, x1 }: Camera): void {
    this.seen.value = clampCamera({ x0, x1, y0: 0, y1: 1 }, this.bounds);
  }

  setBox(box: { readonly x0: number; readonly x1: number } | null): void {
    if (box === null) {
      this.marked.value = null;
      return;
    }
    const [from, to] = [this.edgeUnder(box.x0), this.edgeUnder(box.x1)];
    this.marked.value = from === null || to === null ? null : { from, to };
  }

  private edgeUnder(x: number): number | null {
    return this.momentAt(this.dataAt(x).x);
  }

  // --- pointer and keys --------------------------------------------------------------------------------------------

  private listen(): void {
    const { surface } = this.chart;
    new PointerInput(surface, {
      ...movements(this, (from, to) => this.choose(from, to)),
      hover: (at) => this.hover(at),
      click: ({ x }, { extend }) => {
        const edge = this.edgeUnder(x);
        if (edge === null) return;
        const from = extend ? this.session.range?.from : undefined;
        if (from === undefined) this.choose(edge, null);
        else this.choose(from, edge);
      },
      doubleClick: () => undefined,
    });
    surface.addEventListener('keydown', (event) => {
      const action = KEYS.actionOf(event);
      if (!action || !this.run(action)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** The keys of a trace's timeline; false for those that mean nothing here. */
  private run(action: Action): boolean {
    const { range } = this.session;
    const last = this.times.edges.length - 1;
    const bounded = (edge: number): number => Math.min(Math.max(edge, 0), last);
    const middle = (): number => this.momentAt((this.camera.x0 + this.camera.x1) / 2) ?? 0;
    const { by = null, second = false } = CURSOR_MOVES.find((row) => row.action === action) ?? {};
    if (by !== null) {
      if (!range) this.choose(this.times.peak.edge, null);
      else if (second) this.choose(range.from, bounded((range.to ?? range.from) + by));
      else this.choose(bounded(range.from + by), null);
    } else if (action === 'peak') this.choose(this.times.peak.edge, null);
    else if (action === 'cursorHere') this.choose(middle(), null);
    else if (action === 'secondCursorHere') this.choose(range?.from ?? middle(), middle());
    else if (action === 'clearSelection' && range) this.clear();
    else return moveCamera(action, this);
    return true;
  }

  private hover(at: Point | null): void {
    const edge = at && this.edgeUnder(at.x);
    this.hovered.value = edge;
    if (!at || edge === null) {
      this.card.hide();
      return;
    }
    const { lines } = this.times;
    this.card.show({ at: this.session.at(edge), lines, edge }, at, this.chart.surface);
  }

  // --- above the curves --------------------------------------------------------------------------------------------

  private readonly Head = (): VNode => {
    const { session } = this;
    const { range } = session;
    const isMoment = range !== null && range.to === null;
    const summary = isMoment ? rangeName(range, (edge) => session.at(edge)) : range ? this.figures.value : '';
    return (
      <>
        <button
          type="button"
          class="profile-times-legend"
          title={t('Show or hide lines')}
          aria-haspopup="menu"
          onClick={({ currentTarget }) => this.chooseLines(currentTarget)}
        >
          {this.times.lines.map((line, at) => (
            <Key key={line.name} line={line} isShown={!this.hidden.value.has(line.name)} at={at} />
          ))}
        </button>
        {session.filter !== '' && <span class="muted">{t('Unfiltered curves')}</span>}
        <span role="status">{shorten(summary, 2000)}</span>
        {range && !isMoment && (
          <Choices
            label={t('Which of the range')}
            options={rangeKinds(session.info.has_frees)}
            value={range.kind}
            change={(kind) => {
              session.chosen.value = { ...range, kind };
            }}
          />
        )}
        {range && <IconButton icon="close" label={t('Back to the whole run')} press={() => this.clear()} />}
      </>
    );
  };
}

interface CardProps {
  readonly at: string;
  readonly lines: readonly TimesLine[];
  readonly edge: number;
}

/** What is under the pointer. */
function Card({ at, lines, edge }: CardProps): VNode {
  return (
    <>
      {lines.map(({ name, title, unit, values }) => {
        const value = values[edge] ?? 0;
        return (
          <div key={name}>
            {visible(shorten(title, 80))}: {unit === 'bytes' ? bytes(value) : count(Math.round(value))}
          </div>
        );
      })}
      <div class="muted">{t('at {0}', at)}</div>
    </>
  );
}

interface KeyProps {
  readonly line: TimesLine;
  readonly isShown: boolean;
  /** Its place among them. */
  readonly at: number;
}

function Key({ line: { title, unit, values }, isShown, at }: KeyProps): VNode {
  // what isn't bytes has a scale of its own
  const text = unit === 'bytes' ? title : t('{0} (up to {1})', title, count(Math.round(maximum(values))));
  return (
    <span class={`profile-times-key${isShown ? '' : ' off'}`}>
      <span class="swatch" style={{ background: css(lineColour(at, theme.value)) }} />
      {shorten(text, 80)}
    </span>
  );
}

/** What a range comes to: "allocated 3 MiB in 12, freed 1 MiB in 4, +2 MiB live". */
function rangeFigures(
  answer: ProfileRangeAnswer,
  { has_flow: hasFlow, has_short_lived: whole, has_frees: hasFrees }: TimedProfile,
): string {
  const grown = answer.live_after_bytes - answer.live_before_bytes;
  const size = (value: number, many: number | null): string =>
    many === null ? bytes(value) : t('{0} in {1}', bytes(value), count(many));
  const allocated = size(answer.allocated_bytes, answer.allocated_count);
  const freed = size(answer.freed_bytes, answer.freed_count);
  const live = t('{0} live', `${grown < 0 ? '−' : '+'}${bytes(Math.abs(grown))}`);
  if (!hasFrees) return t('allocated {0}', allocated);
  if (!hasFlow) return t('only sums of what was live are known, {0}', live);
  // what was made and freed between two marks of the recorder isn't seen
  return whole
    ? t('allocated {0}, freed {1}, {2}', allocated, freed, live)
    : t('allocated at least {0}, freed at least {1}, {2}', allocated, freed, live);
}
