// A fleet of snapshots: a row of colours for each rank, over time or steps.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { ViewCommand } from '../../../extension/shared/commands';
import type { FleetState } from '../../../extension/shared/messages';
import type { Api, HostMessage } from '../api';
import type { AskedSvg } from '../shell/export';
import { css } from '../canvas/colour';
import { bytesOf } from '../base/base64';
import { Dropdown } from '../widgets/choice';
import { HoverCard } from '../widgets/hover-card';
import { Island } from '../widgets/island';
import { bytes } from '../base/format';
import { t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import { theme } from '../canvas/theme';
import { Chart, pointIn } from '../widgets/chart';
import { Drawing, ramp } from './draw';
import {
  cellWords,
  heatOf,
  highestColumn,
  inView,
  labelsWidth,
  momentText,
  ordered,
  rowHeight,
  rowWords,
  summaryWords,
  placeName,
  type Heat,
} from './layout';

type FleetMessage = Extract<HostMessage, { type: 'fleet' }>;

const FIRST: FleetState = { align: 'start', order: 'peak', rows: 'named', snapshot: null };
/** The longest text that is said at once. */
const LONGEST_TEXT = 2000;

export class FleetView {
  readonly commands: readonly ViewCommand[] = [];
  readonly reported = null;
  /** What the rows take up beyond the canvas, which stays in view, in CSS pixels. */
  private readonly beyond = signal(0);
  private readonly chart = new Chart({
    class: 'fleet-scroll',
    role: 'application',
    label: t(
      'Heat map of memory, a row for each snapshot. Up and down choose a snapshot, left and right a moment, Enter opens it.',
    ),
    Over: () => <div style={{ height: `${this.beyond.value}px` }} />,
    draw: () => this.draw(),
    resized: () => this.arrange(),
  });
  private readonly tip = new HoverCard(FleetCard);
  private readonly said = signal('');
  private readonly labels = signal(0);
  private readonly drawing = new Drawing();
  private readonly state = signal<FleetState>(FIRST);
  private readonly heat = signal<Heat | null>(null);
  private order: readonly number[] = [];
  private column = -1;

  constructor(
    private readonly api: Api,
    private readonly root: HTMLElement,
    message: FleetMessage,
  ) {
    this.state.value = message.state ?? FIRST;
    this.receive(message);
    render(<this.Parts />, root);
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'fleet';
    this.listen();
    this.arrange();
    this.reveal();
    this.chart.focus();
  }

  receive(message: HostMessage): void {
    if (message.type !== 'fleet') return;
    const heat = heatOf(message.heat, bytesOf(message.heat.highest_bytes));
    const { map: former } = this.heat.value ?? {};
    // a fleet that is being read comes again and again: where one is in it stays
    const grown = former?.unit === heat.map.unit && former.columns === heat.map.columns;
    this.heat.value = heat;
    if (!grown) this.column = -1;
    this.arrange();
    if (!grown) this.say(summaryWords(heat));
  }

  private readonly Parts = (): VNode => (
    <div class="fleet">
      <div class="fleet-head">
        {this.heat.value && (
          <Head heat={this.heat.value} state={this.state.value} change={(part) => this.change(part)} />
        )}
      </div>
      <div class="fleet-body">
        <Island of={this.scroll} />
        <Island of={this.tip.root} />
      </div>
      <div class="fleet-axis" aria-hidden="true" style={{ paddingInlineStart: `${this.labels.value}px` }}>
        {this.heat.value && axisTexts(this.heat.value).map((text, at) => <span key={at}>{text}</span>)}
      </div>
      <div class="sr-only" role="status">
        {this.said}
      </div>
    </div>
  );

  goTo(): void {
    // links lead to snapshots
  }

  picture(): AskedSvg | null {
    return null;
  }

  failed(error: unknown): void {
    this.say(String(error));
  }

  save(): void {
    this.api.post({ type: 'fleetState', state: this.state.value });
  }

  dispose(): void {
    this.chart.dispose();
    render(null, this.root);
  }

  /** Has the focus, the pointer and the rows. */
  private get scroll(): HTMLElement {
    return this.chart.surface;
  }

  private listen(): void {
    this.scroll.addEventListener('scroll', this.chart.request, { passive: true });
    this.scroll.addEventListener('pointermove', (event) => {
      this.hover(event);
    });
    this.scroll.addEventListener('pointerleave', () => {
      this.tip.hide();
    });
    this.scroll.addEventListener('click', (event) => {
      const place = this.placeAt(event);
      if (!place) return;
      this.mark(place.place, place.column);
      this.open();
    });
    this.scroll.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !this.key(event.key)) return;
      event.preventDefault();
      this.tip.hide();
    });
  }

  private get each(): number {
    return rowHeight(this.state.value.rows, this.order.length, this.scroll.clientHeight);
  }

  /** The marked row's place in the order; -1 for none. */
  private get marked(): number {
    const { snapshot } = this.state.value;
    const rows = this.heat.value?.map.rows ?? [];
    return snapshot === null ? -1 : this.order.findIndex((row) => rows[row]?.snapshot === snapshot);
  }

  private change(part: Partial<FleetState>): void {
    this.state.value = { ...this.state.value, ...part };
    this.save();
    this.arrange();
    if (!('snapshot' in part)) this.reveal();
  }

  private arrange(): void {
    const heat = this.heat.value;
    if (!heat) return;
    this.order = ordered(heat, this.state.value.order);
    this.tip.hide(); // something else is under the pointer now
    this.labels.value = labelsWidth(this.each);
    const { clientHeight: height } = this.scroll;
    this.beyond.value = Math.max(this.order.length * this.each - height, 0);
    this.chart.request();
  }

  private draw(): void {
    const heat = this.heat.value;
    if (!heat) return;
    const { scrollTop: top, clientHeight: height, clientWidth: width } = this.scroll;
    const { each, order, marked, column } = this;
    const [from, to] = inView(top, height, each, order.length);
    this.drawing.draw(this.chart, { heat, order, from, to, each, top, width, height, marked, column });
    this.scroll.dataset['drawn'] = `${from}-${to}`;
  }

  private placeAt(event: MouseEvent): { place: number; row: number; column: number } | null {
    const heat = this.heat.value;
    const { x, y } = pointIn(this.scroll, event);
    const place = Math.floor((y + this.scroll.scrollTop) / this.each);
    const row = this.order[place];
    if (!heat || row === undefined) return null;
    const labels = labelsWidth(this.each);
    const share = (x - labels) / (this.scroll.clientWidth - labels);
    if (share >= 1) return null; // the scroll bar
    return { place, row, column: share < 0 ? -1 : Math.floor(share * heat.map.columns) };
  }

  private hover(event: MouseEvent): void {
    const found = this.placeAt(event);
    const heat = this.heat.value;
    const row = found && heat?.map.rows[found.row];
    if (!found || !heat || !row) {
      this.tip.hide();
      return;
    }
    const cell = row.status === 'ok' && found.column >= 0 ? cellWords(heat, found.row, found.column) : null;
    const card = { name: row.name, cell, words: rowWords(row) };
    this.tip.show(card, pointIn(this.scroll, event), this.scroll);
  }

  private key(key: string): boolean {
    const heat = this.heat.value;
    if (!heat || this.order.length === 0) return false;
    const last = this.order.length - 1;
    const page = Math.max(Math.floor(this.scroll.clientHeight / this.each) - 1, 1);
    const { marked } = this;
    const by: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const to = key === 'Home' ? 0 : key === 'End' ? last : marked < 0 ? 0 : marked + (by[key] ?? 0);
    if (key in by || key === 'Home' || key === 'End') {
      this.mark(Math.min(Math.max(to, 0), last), this.column);
      this.reveal();
      return true;
    }
    const row = this.order[marked];
    if (row === undefined) return false;
    if (key === 'ArrowLeft' || key === 'ArrowRight') {
      const from =
        this.column < 0 ? (highestColumn(heat, row) ?? 0) : this.column + (key === 'ArrowLeft' ? -1 : 1);
      this.mark(marked, Math.min(Math.max(from, 0), heat.map.columns - 1));
      return true;
    }
    if (key !== 'Enter') return false;
    this.open();
    return true;
  }

  private mark(place: number, column: number): void {
    const heat = this.heat.value;
    const at = this.order[place] ?? 0;
    const row = heat?.map.rows[at];
    if (!heat || !row) return;
    this.column = column;
    if (row.snapshot === this.state.value.snapshot) this.chart.request();
    else this.change({ snapshot: row.snapshot });
    const cell = column >= 0 && row.status === 'ok' ? [cellWords(heat, at, column)] : [];
    this.say([row.name, ...cell, ...rowWords(row)].join(', '));
  }

  /** Scrolls the marked row into view. */
  private reveal(): void {
    const { marked, each } = this;
    if (marked < 0) return;
    const { scrollTop: top, clientHeight: height } = this.scroll;
    if (marked * each < top) this.scroll.scrollTop = marked * each;
    else if ((marked + 1) * each > top + height) this.scroll.scrollTop = (marked + 1) * each - height;
  }

  private open(): void {
    const { snapshot } = this.state.value;
    const row = this.heat.value?.map.rows.find((each) => each.snapshot === snapshot);
    if (!row) return;
    this.say(t('Opening {0}', row.name));
    this.api.post({ type: 'openRank', snapshot: row.snapshot });
  }

  private say(text: string): void {
    this.said.value = shorten(text, LONGEST_TEXT);
  }
}

/** What stands below the columns: moments, evenly apart. */
function axisTexts(heat: Heat): readonly string[] {
  const { columns } = heat.map;
  return columns > 0
    ? [0, 0.25, 0.5, 0.75, 1].map((part) => momentText(heat, part * columns))
    : [t('No snapshot has this axis')];
}

function Head({
  heat,
  state: { align, order, rows },
  change,
}: {
  readonly heat: Heat;
  readonly state: FleetState;
  readonly change: (part: Partial<FleetState>) => void;
}): VNode {
  const highest = bytes(heat.highest);
  return (
    <>
      <h1 title={visible(heat.map.place)}>
        <bdi>{visible(placeName(heat.map.place))}</bdi>
      </h1>
      <span class="fleet-summary" title={summaryWords(heat)}>
        {summaryWords(heat)}
      </span>
      <div class="fleet-controls">
        <span class="fleet-scale" title={t('The most that was live in a column')}>
          {bytes(0)}
          <span
            class="fleet-ramp"
            role="img"
            aria-label={t('Colours from 0 to {0}', highest)}
            style={{ background: `linear-gradient(to right, ${ramp(theme.value).map(css).join(', ')})` }}
          />
          {highest}
        </span>
        <Labelled<FleetState['align']>
          label={t('Align by')}
          value={align}
          options={[
            ['start', t('Start')],
            ['clock', t('Clock')],
            ['step', t('Step')],
          ]}
          change={(value) => change({ align: value })}
        />
        <Labelled<FleetState['order']>
          label={t('Sort by')}
          value={order}
          options={[
            ['peak', t('Peak')],
            ['moment', align === 'step' ? t('Step of peak') : t('Time of peak')],
            ['name', t('Name')],
          ]}
          change={(value) => change({ order: value })}
        />
        <Labelled<FleetState['rows']>
          label={t('Rows')}
          value={rows}
          options={[
            ['named', t('With names')],
            ['all', t('As many as fit')],
          ]}
          change={(value) => change({ rows: value })}
        />
      </div>
    </>
  );
}

/** A list that drops down, with its label before it. */
function Labelled<T extends string>({
  label,
  value,
  options,
  change,
}: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly change: (value: T) => void;
}): VNode {
  return (
    <label>
      <span class="fleet-label">{label}</span>{' '}
      <Dropdown
        label={label}
        value={value}
        options={options.map(([each, text]) => ({ value: each, text }))}
        change={change}
      />
    </label>
  );
}

interface FleetCardProps {
  readonly name: string;
  /** What the moment under the pointer is; null beside them. */
  readonly cell: string | null;
  readonly words: readonly string[];
}

function FleetCard({ name, cell, words }: FleetCardProps): VNode {
  return (
    <>
      <div class="tooltip-head">
        <strong>
          <bdi>{visible(name)}</bdi>
        </strong>
      </div>
      {cell !== null && <div>{cell}</div>}
      {words.map((text, i) => (
        <div key={i} class="muted">
          <bdi>{visible(text)}</bdi>
        </div>
      ))}
    </>
  );
}
