// How a profile came about: what was live, the resident set and temporary allocations over time. A range that is
// brushed is what every other part of the view answers for.

import { effect, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ProfileInfo, ProfileRangeAnswer } from '../../../extension/shared/protocol.gen';
import { follow } from '../base/follow';
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
import { rangeKinds, rangeName, type TimeRange, type RangeKind } from './range';
import type { ProfileSession } from './session';
import { drawTimes, edgeAt, lineColour, maximum, timesOf, type Times, type TimesLine } from './times-picture';

type TimedProfile = Pick<ProfileInfo, 'time_unit' | 'has_flow' | 'has_short_lived' | 'has_frees'>;

/** A process that is so many times larger than its heap would leave a flat line of what is live. */
const DWARFING = 5;

/** What the pointer marks while it is down. */
interface Drag {
  readonly from: number;
  readonly to: number | null;
}

export class ProfileTimes {
  private readonly chart = new Chart({
    class: 'profile-times-canvas',
    role: 'img',
    label: t('Memory over time'),
    draw: () => {
      const { from = null, to = null } = this.drag.value ?? this.session.range ?? {};
      drawTimes(this.chart, {
        times: this.times,
        hidden: this.hidden.value,
        marks: { from, to, hovered: this.hovered.value },
        at: (edge) => this.session.at(edge),
      });
    },
  });
  /** The names of the lines that are left out. */
  private readonly hidden = signal<ReadonlySet<string>>(new Set());
  private readonly drag = signal<Drag | null>(null);
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
        void [session.times.value, session.range, this.hidden.value, this.drag.value, this.hovered.value];
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
        'Memory over time; the peak of {0} at {1}. Arrow keys choose a moment, with Shift a range; Escape clears it.',
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
      key: '',
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

  // --- pointer and keys --------------------------------------------------------------------------------------------

  private listen(): void {
    const { surface } = this.chart;
    const edgeOf = (event: MouseEvent): number | null =>
      edgeAt(this.times.edges, event.offsetX, surface.clientWidth);
    surface.addEventListener('pointerdown', (event) => {
      const edge = edgeOf(event);
      if (event.button !== 0 || edge === null) return;
      surface.setPointerCapture(event.pointerId);
      this.drag.value = { from: edge, to: null };
    });
    surface.addEventListener('pointermove', (event) => {
      const edge = edgeOf(event);
      this.hovered.value = edge;
      if (this.drag.value && edge !== null) this.drag.value = { ...this.drag.value, to: edge };
    });
    surface.addEventListener('pointerup', () => {
      const { value: drag } = this.drag;
      this.drag.value = null;
      if (drag) this.choose(drag.from, drag.to);
    });
    surface.addEventListener('pointercancel', () => {
      this.drag.value = null;
    });
    surface.addEventListener('pointerleave', () => {
      this.hovered.value = null;
    });
    surface.addEventListener('keydown', (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private key(event: KeyboardEvent): boolean {
    const { range } = this.session;
    if (event.key === 'Escape' && range) {
      this.clear();
      return true;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    const last = this.times.edges.length - 1;
    const bounded = (edge: number): number => Math.min(Math.max(edge, 0), last);
    if (!range) this.choose(this.times.peak.edge, null);
    else if (event.shiftKey) this.choose(range.from, bounded((range.to ?? range.from) + by));
    else this.choose(bounded(range.from + by), null);
    return true;
  }

  // --- above the curves --------------------------------------------------------------------------------------------

  /** What is under the pointer. */
  private get readout(): string {
    const edge = this.hovered.value;
    if (edge === null) return '';
    const figures = this.times.lines.map(({ title, unit, values }) => {
      const value = values[edge] ?? 0;
      const figure = unit === 'bytes' ? bytes(value) : count(Math.round(value));
      return `${title.charAt(0).toLowerCase()}${title.slice(1)} ${figure}`;
    });
    return `${this.session.at(edge)}: ${figures.join(', ')}`;
  }

  private readonly Head = (): VNode => {
    const { session } = this;
    const { value: drag } = this.drag;
    const range: TimeRange | null = drag ? { kind: 'live', from: drag.from, to: null } : session.range;
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
        <span class="muted profile-times-readout">{shorten(this.readout, 2000)}</span>
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
