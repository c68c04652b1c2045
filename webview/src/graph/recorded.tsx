// When what is alive was allocated, of a recording: bars over time, and what was freed again where the file says it. A
// range that is brushed goes into the filter, and so into every other part of the view.

import { effect, signal, untracked } from '@preact/signals';
import type { VNode } from 'preact';
import { bytes, exactBytes } from '../base/format';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import type { Session } from '../shell/session';
import { Chart } from '../widgets/chart';
import { IconButton } from '../widgets/icon-button';
import { Island } from '../widgets/island';
import {
  barsOf,
  binAt,
  drawBars,
  rangeOf,
  sumOf,
  timeOf,
  withRange,
  type Bars,
  type BinRange,
} from './moments';
import { objectsText } from './words';

/** What of its view it follows and changes. */
type RecordedSession = Pick<Session, 'api' | 'filter' | 'setFilter' | 'say' | 'failed' | 'whileShown'>;

const PAGE_BINS = 10;

export class Recorded {
  private readonly chart = new Chart({
    class: 'heap-recorded-chart',
    role: 'application',
    label: t('Allocations over time'),
    roleDescription: t('chart'),
    draw: () => {
      const { bars, hovered } = this;
      const { value } = bars;
      if (value) drawBars(this.chart, { bars: value, range: this.range.value, hovered: hovered.value });
    },
  });
  private readonly bars = signal<Bars | null>(null);
  private readonly range = signal<BinRange | null>(null);
  private readonly hovered = signal<number | null>(null);
  /** Where a range was begun, by the pointer or by the keys, and where it ends. */
  private begun: number | null = null;
  private ended = 0;
  private dragging = false;
  private readonly asking = new Latest();

  constructor(private readonly session: RecordedSession) {
    this.listen();
    session.whileShown(effect(() => this.renew(session.filter)));
    session.whileShown(() => {
      this.asking.cancel();
      this.chart.dispose();
    });
  }

  readonly View = (): VNode => (
    <section class="heap-recorded" aria-label={t('Allocations over time')}>
      <div class="heap-recorded-head">
        <Legend bars={this.bars.value} />
        <span class="muted heap-recorded-readout">{this.readout}</span>
        <span role="status">{this.range.value && this.words(this.range.value)}</span>
        {this.range.value && (
          <IconButton icon="close" label={t('Back to the whole recording')} press={() => this.choose(null)} />
        )}
      </div>
      <Island of={this.chart.surface} />
    </section>
  );

  /** The filter is another one. */
  private renew(filter: string): void {
    const bars = this.bars.peek();
    this.asking.ask(
      this.session.api.request('memlens/heapMoments', { filter }),
      (answer) => {
        const bars = barsOf(answer);
        this.bars.value = bars;
        this.follow(bars);
      },
      (error) => this.session.failed(error),
    );
    if (bars) untracked(() => this.follow(bars));
  }

  private get readout(): string {
    const [bin, bars] = [this.hovered.value, this.bars.value];
    return bin === null || !bars ? '' : this.words({ from: bin, to: bin + 1 });
  }

  /** "2 s to 2.5 s: 1.2 MiB in 300 objects still alive, 3 MiB freed" */
  private words(range: BinRange): string {
    const bars = this.bars.value;
    if (!bars) return '';
    const live = sumOf(bars.live_bytes, range);
    const [from, to] = [range.from, range.to].map((bin) => timeOf(bin, bars));
    const alive = t(
      '{0} to {1}: {2} in {3} still alive',
      from ?? '',
      to ?? '',
      bytes(live),
      objectsText(sumOf(bars.live_objects, range)),
    );
    if (!bars.allocated_bytes) return alive;
    return t('{0}, {1} freed', alive, bytes(Math.max(sumOf(bars.allocated_bytes, range) - live, 0)));
  }

  private follow(bars: Bars): void {
    if (!this.dragging) {
      const range = rangeOf(this.session.filter, bars);
      this.range.value = range;
      if (!range) this.begun = null;
      else if (this.begun === null) [this.begun, this.ended] = [range.from, range.to - 1];
    }
    this.chart.setLabel(
      t(
        'Allocations over time, {0} in all; {1} in {2} were there before. Arrow keys choose a time, with Shift a range; Escape clears it.',
        timeOf(bars.live_bytes.length, bars),
        bytes(bars.before_bytes),
        objectsText(bars.before_objects),
      ),
    );
    this.chart.request();
  }

  /** Narrows everything to a range, or shows all again. */
  private choose(range: BinRange | null): void {
    const { session } = this;
    const bars = this.bars.value;
    if (!bars) return;
    this.range.value = range;
    if (!range) this.begun = null;
    this.chart.request();
    session.setFilter(withRange(session.filter, range, bars));
    session.say(range ? this.words(range) : t('the whole recording'));
  }

  /** The range from where it was begun to another bin. */
  private upTo(bin: number): BinRange {
    this.ended = bin;
    const begun = this.begun ?? bin;
    return { from: Math.min(begun, bin), to: Math.max(begun, bin) + 1 };
  }

  private listen(): void {
    const { surface } = this.chart;
    const at = (event: MouseEvent): number | null =>
      this.bars.value && binAt(this.bars.value, event.offsetX, surface.clientWidth);
    surface.addEventListener('pointerdown', (event) => {
      const bin = at(event);
      if (event.button !== 0 || bin === null) return;
      surface.setPointerCapture(event.pointerId);
      this.dragging = true;
      if (!event.shiftKey || this.begun === null) this.begun = bin;
      this.range.value = this.upTo(bin);
      this.chart.request();
    });
    surface.addEventListener('pointermove', (event) => {
      this.hovered.value = at(event);
      if (this.dragging && this.hovered.value !== null) this.range.value = this.upTo(this.hovered.value);
      this.chart.request();
    });
    surface.addEventListener('pointerup', () => {
      if (!this.dragging) return;
      this.dragging = false;
      this.choose(this.range.value);
    });
    surface.addEventListener('pointercancel', () => {
      this.dragging = false;
      this.renew(this.session.filter);
    });
    surface.addEventListener('pointerleave', () => {
      this.hovered.value = null;
      this.chart.request();
    });
    surface.addEventListener('keydown', (event) => {
      if (!this.key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  private key(event: KeyboardEvent): boolean {
    const bars = this.bars.value;
    if (!bars || event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === 'Escape' && this.range.value) {
      this.choose(null);
      return true;
    }
    const last = bars.live_bytes.length - 1;
    const from = this.begun === null ? null : this.ended;
    const places: Record<string, number> = {
      ArrowLeft: (from ?? 1) - 1,
      ArrowRight: (from ?? -1) + 1,
      PageUp: (from ?? 0) - PAGE_BINS,
      PageDown: (from ?? 0) + PAGE_BINS,
      Home: 0,
      End: last,
    };
    const place = places[event.key];
    if (place === undefined) return false;
    const bin = Math.min(Math.max(place, 0), last);
    if (!event.shiftKey || this.begun === null) this.begun = bin;
    this.choose(this.upTo(bin));
    return true;
  }
}

function Legend({ bars }: { readonly bars: Bars | null }): VNode {
  if (!bars) return <span class="muted">{t('Working…')}</span>;
  const { accent, muted, contrast } = theme.value;
  const live = bars.live_bytes.reduce((sum, size) => sum + size, 0);
  const keys = [
    ...(bars.fitting_bytes ? [{ text: t('Matches the filter'), colour: css(accent) }] : []),
    {
      text: t('Still alive: {0}', bytes(live)),
      title: exactBytes(live),
      colour: css(accent, bars.fitting_bytes ? 0.4 : 1),
    },
    ...(bars.allocated_bytes ? [{ text: t('Freed since'), colour: css(muted, contrast ? 0.6 : 0.35) }] : []),
  ];
  return (
    <ul class="heap-recorded-legend" aria-label={t('Allocations over time')}>
      {keys.map(({ text, colour, ...rest }) => (
        <li key={text} {...rest}>
          <span class="swatch" aria-hidden="true" style={{ background: colour }} />
          {text}
        </li>
      ))}
    </ul>
  );
}
