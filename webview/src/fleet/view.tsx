// A fleet of snapshots: a row of colours for each rank, over time or steps.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { FleetState, ViewCommand } from '../../../extension/shared/messages';
import type { Api, HostMessage } from '../api';
import type { AskedSvg } from '../shell/export';
import { FrameLoop } from '../canvas/frames';
import { css } from '../canvas/colour';
import { bytesOf } from '../base/base64';
import { element, replace, setText } from '../widgets/dom';
import { bytes } from '../base/format';
import { visible } from '../base/text';
import { readTheme, watchTheme } from '../canvas/theme';
import { Drawing, LABELS, ramp } from './draw';
import {
  cellWords,
  heatOf,
  highestColumn,
  inView,
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
const LABEL =
  'Heat map of memory, a row for each snapshot. Up and down choose a snapshot, left and right a moment, Enter opens it.';

export class FleetView {
  readonly commands: readonly ViewCommand[] = [];
  readonly reported = null;
  private readonly stop = new AbortController();
  private readonly head = element('div', { class: 'fleet-head' });
  private readonly axis = element('div', { class: 'fleet-axis', attributes: { 'aria-hidden': true } });
  private readonly canvas = element('canvas', {
    class: 'fleet-surface',
    attributes: { 'aria-hidden': true },
  });
  private readonly space = element('div');
  private readonly scroll = element('div', {
    ...{ class: 'fleet-scroll', tabIndex: 0, role: 'application' },
    attributes: { 'aria-label': LABEL },
  });
  private readonly tip = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private readonly status = element('div', { class: 'sr-only', role: 'status' });
  private readonly drawing = new Drawing(this.canvas);
  private readonly frames = new FrameLoop(() => {
    this.draw();
  });
  private readonly state = signal<FleetState>(FIRST);
  private readonly heat = signal<Heat | null>(null);
  private order: readonly number[] = [];
  private column = -1;
  private theme = readTheme();

  constructor(
    private readonly api: Api,
    root: HTMLElement,
    message: FleetMessage,
  ) {
    this.scroll.append(this.canvas, this.space);
    const body = element('div', { class: 'fleet-body' }, this.scroll, this.tip);
    replace(root, element('div', { class: 'fleet' }, this.head, body, this.axis, this.status));
    root.dataset['state'] = 'ready';
    root.dataset['model'] = 'fleet';
    this.listen();
    this.state.value = message.state ?? FIRST;
    this.receive(message);
    render(
      <Head
        heat={this.heat}
        state={this.state}
        change={(part) => {
          this.change(part);
        }}
      />,
      this.head,
    );
    this.scale();
    this.reveal();
    this.scroll.focus({ preventScroll: true });
  }

  receive(message: HostMessage): void {
    if (message.type !== 'fleet') return;
    const heat = heatOf(message.heat, bytesOf(message.heat.highest_bytes));
    const { map: former } = this.heat.value ?? {};
    // a fleet that is being read comes again and again: where one is in it stays
    const grown = former?.unit === heat.map.unit && former.columns === heat.map.columns;
    this.heat.value = heat;
    if (!grown) this.column = -1;
    const at = [0, 0.25, 0.5, 0.75, 1].map((part) => momentText(heat, part * heat.map.columns));
    replace(
      this.axis,
      ...(heat.map.columns > 0 ? at : ['No snapshot has this axis']).map((text) => element('span', {}, text)),
    );
    this.arrange();
    if (!grown) this.say(summaryWords(heat));
  }

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
    this.stop.abort();
    this.frames.stop();
    render(null, this.head);
  }

  private listen(): void {
    const { signal: stop } = this.stop;
    const draw = (): void => {
      this.frames.request();
    };
    watchTheme(stop, () => {
      this.theme = readTheme();
      this.scale();
      draw();
    });
    const resized = new ResizeObserver(() => {
      this.arrange();
    });
    resized.observe(this.scroll);
    stop.addEventListener('abort', () => {
      resized.disconnect();
    });
    this.scroll.addEventListener('scroll', draw, { passive: true });
    this.scroll.addEventListener('pointermove', (event) => {
      this.hover(event);
    });
    this.scroll.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
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
      this.tip.hidden = true;
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
    this.tip.hidden = true; // something else is under the pointer now
    const { clientHeight: height } = this.scroll;
    this.canvas.style.height = `${height}px`;
    this.canvas.style.width = '100%';
    this.space.style.height = `${Math.max(this.order.length * this.each - height, 0)}px`;
    this.frames.request();
  }

  private draw(): void {
    const heat = this.heat.value;
    if (!heat) return;
    const { scrollTop: top, clientHeight: height, clientWidth: width } = this.scroll;
    const { each, order, marked, column } = this;
    const [from, to] = inView(top, height, each, order.length);
    this.drawing.draw({ heat, order, from, to, each, top, width, height, marked, column }, this.theme);
    this.scroll.dataset['drawn'] = `${from}-${to}`;
  }

  private scale(): void {
    const canvas = this.head.querySelector('canvas');
    const context = canvas?.getContext('2d');
    if (!canvas || !context) return;
    for (const [step, colour] of ramp(this.theme).entries()) {
      context.fillStyle = css(colour);
      context.fillRect(step, 0, 1, canvas.height);
    }
  }

  private placeAt(event: MouseEvent): { place: number; row: number; column: number } | null {
    const heat = this.heat.value;
    const box = this.scroll.getBoundingClientRect();
    const place = Math.floor((event.clientY - box.top + this.scroll.scrollTop) / this.each);
    const row = this.order[place];
    if (!heat || row === undefined) return null;
    const share = (event.clientX - box.left - LABELS) / (this.scroll.clientWidth - LABELS);
    if (share >= 1) return null; // the scroll bar
    return { place, row, column: share < 0 ? -1 : Math.floor(share * heat.map.columns) };
  }

  private hover(event: MouseEvent): void {
    const found = this.placeAt(event);
    const heat = this.heat.value;
    const row = found && heat?.map.rows[found.row];
    this.tip.hidden = !row;
    if (!found || !heat || !row) return;
    const cell = row.status === 'ok' && found.column >= 0 ? [cellWords(heat, found.row, found.column)] : [];
    replace(
      this.tip,
      element('div', { class: 'tooltip-head' }, element('strong', {}, element('bdi', {}, row.name))),
      ...cell.map((text) => element('div', {}, text)),
      ...rowWords(row).map((text) => element('div', { class: 'muted' }, element('bdi', {}, text))),
    );
    const box = this.scroll.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const x = Math.min(event.clientX - box.left + 16, box.width - width - 4);
    const below = event.clientY - box.top + 16;
    const y = below + height > box.height ? below - height - 28 : below;
    this.tip.style.transform = `translate(${Math.max(x, 4)}px, ${Math.max(y, 4)}px)`;
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
    if (row.snapshot === this.state.value.snapshot) this.frames.request();
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
    this.say(`Opening ${row.name}`);
    this.api.post({ type: 'openRank', snapshot: row.snapshot });
  }

  private say(text: string): void {
    setText(this.status, text);
  }
}

function Head({
  heat,
  state,
  change,
}: {
  readonly heat: { readonly value: Heat | null };
  readonly state: { readonly value: FleetState };
  readonly change: (part: Partial<FleetState>) => void;
}): VNode {
  const found = heat.value;
  if (!found) return <></>;
  const { align, order, rows } = state.value;
  return (
    <>
      <h1 title={visible(found.map.place)}>
        <bdi>{visible(placeName(found.map.place))}</bdi>
      </h1>
      <span class="fleet-summary" title={summaryWords(found)}>
        {summaryWords(found)}
      </span>
      <div class="fleet-controls">
        <span class="fleet-scale" title="The most that was live in a column">
          0 B
          <canvas
            width={64}
            height={10}
            role="img"
            aria-label={`Colours from 0 to ${bytes(found.highest)}`}
          />
          {bytes(found.highest)}
        </span>
        <Choice
          label="Align by"
          value={align}
          options={{ start: 'Start', clock: 'Clock', step: 'Step' }}
          change={(value) => {
            change({ align: value });
          }}
        />
        <Choice
          label="Sort by"
          value={order}
          options={{ peak: 'Peak', moment: align === 'step' ? 'Step of peak' : 'Time of peak', name: 'Name' }}
          change={(value) => {
            change({ order: value });
          }}
        />
        <Choice
          label="Rows"
          value={rows}
          options={{ named: 'With names', all: 'As many as fit' }}
          change={(value) => {
            change({ rows: value });
          }}
        />
      </div>
    </>
  );
}

function Choice<T extends string>({
  label,
  value,
  options,
  change,
}: {
  readonly label: string;
  readonly value: T;
  readonly options: Readonly<Record<T, string>>;
  readonly change: (value: T) => void;
}): VNode {
  const values = Object.keys(options) as T[];
  return (
    <label>
      {label}{' '}
      <select
        value={value}
        onChange={({ currentTarget }) => {
          const chosen = values.find((each) => each === currentTarget.value);
          if (chosen !== undefined) change(chosen);
        }}
      >
        {values.map((each) => (
          <option key={each} value={each}>
            {options[each]}
          </option>
        ))}
      </select>
    </label>
  );
}
