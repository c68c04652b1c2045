// How a profile came about: what was live, the resident set and temporary allocations over time. A stretch that is
// brushed is what every other part of the view answers for.

import type { AllocationSet, ProfileInfo, ProfileTimesAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewParams } from '../../../extension/shared/messages';
import type { Api } from '../api';
import { Latest } from '../base/latest';
import { bytesOf } from '../base/base64';
import { css, type Rgb } from '../canvas/colour';
import { byteTicks } from '../canvas/ticks';
import { openMenuAt } from '../widgets/menu';
import { Choice } from '../widgets/choice';
import { element, iconButton, replace, setText } from '../widgets/dom';
import { bytes, count, time } from '../base/format';
import type { Theme } from '../canvas/theme';

type Kind = AllocationSet['kind'];

/** A stretch between two edges, and what of it is meant; without `to` what was live at `from`. */
export interface Stretch {
  readonly kind: Kind;
  readonly from: number;
  readonly to: number | null;
}

export interface TimesEvents {
  changed(stretch: Stretch | null): void;
  failed(error: unknown): void;
  say(text: string): void;
  filter(): string;
}

interface Line {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly within: boolean;
  readonly values: Float64Array;
}

const TOP_PX = 6;
const AXIS_PX = 16;
const LEFT_PX = 70;
const BARS_SHARE = 0.22;
const DWARFING = 5;
const KINDS: readonly { readonly value: Kind; readonly text: string; readonly title: string }[] = [
  { value: 'allocated', text: 'Allocated', title: 'What was allocated in the stretch' },
  { value: 'freed', text: 'Freed', title: 'What was freed in the stretch' },
  {
    value: 'survived',
    text: 'Survived',
    title: 'What each stack allocated in the stretch beyond what it freed there',
  },
];

export class ProfileTimes {
  readonly root: HTMLElement;
  private readonly canvas = element('canvas', {
    class: 'profile-times-canvas',
    role: 'img',
    tabIndex: 0,
    attributes: { 'aria-label': 'Memory over time' },
  });
  private readonly head = element('div', { class: 'profile-times-head' });
  private readonly readout = element('span', { class: 'muted profile-times-readout' });
  private readonly summary = element('span', { role: 'status' });
  private readonly clear: HTMLButtonElement;
  private readonly kinds: Choice<Kind>;
  private readonly legend = element('button', {
    ...{ class: 'profile-times-legend', type: 'button', title: 'Show or hide lines' },
    attributes: { 'aria-haspopup': 'menu' },
    on: {
      click: () => {
        this.chooseLines();
      },
    },
  });
  private edges = new Float64Array();
  private peaks = new Float64Array();
  private lines: readonly Line[] = [];
  private peak = { edge: 0, bytes: 0 };
  private kind: Kind = 'allocated';
  private from: number | null = null;
  private to: number | null = null;
  private dragging = false;
  private readonly hidden = new Set<string>();
  private hovered: number | null = null;
  private readonly asking = new Latest();
  private readonly sizes: ResizeObserver;

  constructor(
    private readonly api: Api,
    private readonly profile: Pick<ProfileInfo, 'time_unit' | 'has_flow' | 'has_short_lived'>,
    private theme: Theme,
    private readonly events: TimesEvents,
    /** What was chosen when the view was last open; taken once the edges are known. */
    private toRestore: Stretch | null,
  ) {
    this.kinds = new Choice<Kind>('What of the stretch', KINDS, (kind) => {
      this.kind = kind;
      this.changed();
    });
    this.clear = iconButton('close', 'The whole run again', () => {
      this.whole();
    });
    replace(this.head, this.legend, this.readout, this.summary, this.kinds.root, this.clear);
    this.root = element(
      'section',
      { class: 'profile-times', attributes: { 'aria-label': 'Consumption over time' } },
      this.head,
      this.canvas,
    );
    this.sizes = new ResizeObserver(() => {
      this.draw();
    });
    this.sizes.observe(this.canvas);
    this.listen();
    this.arrange();
    this.api.request('memlens/profileTimes', {}).answer.then(
      (answer) => {
        this.take(answer);
      },
      (error: unknown) => {
        events.failed(error);
      },
    );
  }

  get stretch(): Stretch | null {
    if (this.from === null) return null;
    return { kind: this.to === null ? 'live' : this.kind, from: this.from, to: this.to };
  }

  /** What is to be there again the next time. */
  get kept(): Stretch | null {
    return this.toRestore ?? this.stretch;
  }

  /** In words: "allocated from 1.2 s to 3 s". */
  get name(): string | null {
    if (this.from === null) return null;
    const [from, to] = [this.at(this.from), this.to === null ? '' : this.at(this.to)];
    if (this.to === null) return `live at ${from}`;
    return `${this.kind} from ${from} to ${to}`;
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.drawLegend();
    this.draw();
  }

  /** The whole run again. */
  whole(): void {
    if (this.from !== null) this.set(null, null);
  }

  /** To a stretch of before. */
  goTo(stretch: Stretch | null): void {
    if (JSON.stringify(stretch) === JSON.stringify(this.kept)) return;
    this.toRestore = stretch;
    if (!stretch) this.whole();
    else if (this.edges.length > 0) {
      this.from = null;
      this.restore();
    }
  }

  /** The filter is another one. */
  renew(): void {
    this.ask();
  }

  dispose(): void {
    this.asking.cancel();
    this.sizes.disconnect();
  }

  private take(answer: ProfileTimesAnswer): void {
    const numbers = (packed: string): Float64Array<ArrayBuffer> => new Float64Array(bytesOf(packed));
    this.edges = numbers(answer.edges);
    this.peaks = numbers(answer.peaks);
    this.peak = { edge: answer.peak_edge, bytes: answer.peak_bytes };
    this.lines = answer.series.map(({ values, ...line }) => ({ ...line, values: numbers(values) }));
    // a process that is far larger than its heap would leave a flat line of what is live
    const resident = this.lines.find(({ name }) => name === 'rss_bytes');
    if (resident && maximum(resident.values) > DWARFING * this.peak.bytes) this.hidden.add(resident.name);
    this.drawLegend();
    this.canvas.setAttribute(
      'aria-label',
      `Memory over time; the peak of ${bytes(this.peak.bytes)} at ${this.at(this.peak.edge)}. ` +
        'Arrow keys choose a moment, with Shift a stretch; Escape lets it go.',
    );
    this.draw();
    this.restore();
  }

  private restore(): void {
    const { toRestore } = this;
    this.toRestore = null;
    if (!toRestore || this.from !== null) return;
    const { kind, from, to } = toRestore;
    const isEdge = (edge: number): boolean => Number.isInteger(edge) && this.edges[edge] !== undefined;
    if (!isEdge(from) || (to !== null && !isEdge(to))) return;
    if (KINDS.some(({ value }) => value === kind)) this.kind = kind;
    this.set(from, to);
  }

  /** The lines by name, as one button: its menu hides some, and the scale is that of the others. */
  private drawLegend(): void {
    replace(
      this.legend,
      ...this.lines.map((line, at) => {
        const swatch = element('span', { class: 'swatch' });
        swatch.style.background = css(this.colour(at));
        const off = this.hidden.has(line.name) ? ' off' : '';
        return element('span', { class: `profile-times-key${off}` }, swatch, line.title);
      }),
    );
  }

  private chooseLines(): void {
    const items = this.lines.map(({ name, title }) => ({
      ...{ text: title, key: '', checked: !this.hidden.has(name) },
      run: () => {
        if (!this.hidden.delete(name)) this.hidden.add(name);
        this.drawLegend();
        this.draw();
      },
    }));
    openMenuAt(this.legend, items, 'Lines');
  }

  private at(edge: number): string {
    const value = this.edges[edge] ?? 0;
    const { time_unit: unit } = this.profile;
    if (unit === 'microseconds') return time(value);
    return unit === 'bytes' ? `${bytes(value)} allocated` : `${count(value)} ${unit}`;
  }

  private colour(line: number): Rgb {
    const { accent, warning, stacks, foreground } = this.theme;
    return [accent, warning, stacks[3], stacks[6]][line % 4] ?? foreground;
  }

  // --- what is chosen ----------------------------------------------------------------------------------------------

  private set(from: number | null, to: number | null): void {
    [this.from, this.to] = from !== null && to !== null && to < from ? [to, from] : [from, to];
    if (this.from === this.to) this.to = null;
    this.changed();
  }

  private changed(): void {
    this.arrange();
    this.draw();
    this.ask();
    this.events.changed(this.stretch);
    this.events.say(this.name ?? 'the whole run');
  }

  private arrange(): void {
    this.kinds.set(this.kind);
    this.kinds.root.hidden = this.to === null;
    this.clear.hidden = this.from === null;
    if (this.to === null) setText(this.summary, this.name ?? '');
  }

  /** What the stretch comes to. */
  private ask(): void {
    this.asking.cancel();
    const { from, to } = this;
    if (from === null || to === null) return;
    const params: ViewParams<'memlens/profileRange'> = {
      ...{ from_edge: from, to_edge: to, filter: this.events.filter() },
    };
    this.asking.ask(
      this.api.request('memlens/profileRange', params),
      (answer) => {
        const grown = answer.live_after_bytes - answer.live_before_bytes;
        const { has_flow: hasFlow, has_short_lived: hasShortLived } = this.profile;
        // what was made and freed between two marks of the recorder isn't seen
        const least = hasShortLived ? '' : 'at least ';
        const flow = (what: string, size: number, many: number | null): string =>
          `${what} ${least}${bytes(size)}${many === null ? '' : ` in ${count(many)}`}`;
        const parts = hasFlow
          ? [
              flow('allocated', answer.allocated_bytes, answer.allocated_count),
              flow('freed', answer.freed_bytes, answer.freed_count),
            ]
          : ['only sums of what was live are known'];
        const change = `${grown < 0 ? '−' : '+'}${bytes(Math.abs(grown))} live`;
        setText(this.summary, `${this.at(from)} to ${this.at(to)}: ${[...parts, change].join(', ')}`);
      },
      (error) => {
        this.events.failed(error);
      },
    );
  }

  // --- pointer and keys --------------------------------------------------------------------------------------------

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener('pointerdown', (event) => {
      const edge = this.edgeAt(event.offsetX);
      if (event.button !== 0 || edge === null) return;
      canvas.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.from = edge;
      this.to = null;
      this.arrange();
      this.draw();
    });
    canvas.addEventListener('pointermove', (event) => {
      this.hovered = this.edgeAt(event.offsetX);
      this.showReadout();
      if (this.dragging && this.hovered !== null) this.to = this.hovered;
      this.draw();
    });
    canvas.addEventListener('pointerup', () => {
      if (!this.dragging) return;
      this.dragging = false;
      this.set(this.from, this.to);
    });
    canvas.addEventListener('pointercancel', () => {
      this.dragging = false;
    });
    canvas.addEventListener('pointerleave', () => {
      this.hovered = null;
      this.showReadout();
      this.draw();
    });
    canvas.addEventListener('keydown', (event) => {
      if (this.key(event)) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  private key(event: KeyboardEvent): boolean {
    const last = this.edges.length - 1;
    if (event.key === 'Escape' && this.from !== null) {
      this.set(null, null);
      return true;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    const bounded = (edge: number): number => Math.min(Math.max(edge, 0), last);
    if (this.from === null) this.set(this.peak.edge, null);
    else if (event.shiftKey) this.set(this.from, bounded((this.to ?? this.from) + by));
    else this.set(bounded(this.from + by), null);
    return true;
  }

  private edgeAt(x: number): number | null {
    const { edges, canvas } = this;
    const [first, last] = [edges[0], edges.at(-1)];
    if (first === undefined || last === undefined) return null;
    const place = first + ((x - LEFT_PX) / Math.max(canvas.clientWidth - LEFT_PX, 1)) * (last - first);
    let [low, high] = [0, edges.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((edges[middle] ?? 0) < place) low = middle + 1;
      else high = middle;
    }
    const before = Math.max(low - 1, 0);
    return place - (edges[before] ?? 0) < (edges[low] ?? 0) - place ? before : low;
  }

  private showReadout(): void {
    const { hovered } = this;
    if (hovered === null) {
      setText(this.readout, '');
      return;
    }
    const figures = this.lines.map(({ title, unit, values }) => {
      const value = values[hovered] ?? 0;
      const figure = unit === 'bytes' ? bytes(value) : count(Math.round(value));
      return `${title.charAt(0).toLowerCase()}${title.slice(1)} ${figure}`;
    });
    setText(this.readout, `${this.at(hovered)}: ${figures.join(', ')}`);
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  private draw(): void {
    const { canvas, theme, edges } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.max(Math.round(width * ratio), 1);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d');
    const [first, last] = [edges[0], edges.at(-1)];
    if (!context || width === 0 || first === undefined || last === undefined) return;
    context.scale(ratio, ratio);
    const span = Math.max(last - first, 1);
    const x = (value: number): number => LEFT_PX + ((value - first) / span) * (width - LEFT_PX);
    const bottom = height - AXIS_PX;
    const sized = this.lines.filter(({ name, unit }) => unit === 'bytes' && !this.hidden.has(name));
    const live = this.hidden.has('live_bytes') ? 1 : this.peak.bytes;
    const top = Math.max(live, 1, ...sized.map(({ values }) => maximum(values))) * 1.05;
    const y = (value: number): number => bottom - (value / top) * (bottom - TOP_PX);
    this.drawGrid(context, width, top, y);
    this.lines.forEach((line, at) => {
      if (this.hidden.has(line.name)) return;
      const colour = css(this.colour(at));
      if (line.unit !== 'bytes') this.drawCounts(context, line, colour, x, bottom);
      else this.drawLine(context, line, colour, x, y, bottom);
    });
    context.fillStyle = css(theme.foreground);
    context.font = `11px ${theme.font}`;
    context.textBaseline = 'alphabetic';
    context.fillText(this.at(0), LEFT_PX, height - 4);
    const end = this.at(edges.length - 1);
    context.fillText(end, width - context.measureText(end).width - 2, height - 4);
    this.drawChosen(context, x, bottom);
  }

  private drawGrid(
    context: CanvasRenderingContext2D,
    width: number,
    top: number,
    y: (value: number) => number,
  ): void {
    const { theme } = this;
    context.font = `11px ${theme.font}`;
    context.textBaseline = 'middle';
    for (const { at, label } of byteTicks(0, top, 4).ticks) {
      context.fillStyle = css(theme.grid, theme.contrast ? 0.4 : 0.12);
      context.fillRect(LEFT_PX, Math.round(y(at)), width - LEFT_PX, 1);
      context.fillStyle = css(theme.muted);
      context.fillText(label, LEFT_PX - 6 - context.measureText(label).width, y(at));
    }
  }

  private drawLine(
    context: CanvasRenderingContext2D,
    { name, values }: Line,
    colour: string,
    x: (value: number) => number,
    y: (value: number) => number,
    bottom: number,
  ): void {
    context.beginPath();
    values.forEach((value, edge) => {
      const at = x(this.edges[edge] ?? 0);
      // what was highest within the bin, so that no peak is lost
      if (name === 'live_bytes' && (this.peaks[edge] ?? 0) > value)
        context.lineTo(at, y(this.peaks[edge] ?? 0));
      context.lineTo(at, y(value));
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    if (name !== 'live_bytes') return;
    context.lineTo(x(this.edges.at(-1) ?? 0), bottom);
    context.lineTo(x(this.edges[0] ?? 0), bottom);
    context.globalAlpha = 0.2;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }

  /** Counts have a scale of their own, at the bottom. */
  private drawCounts(
    context: CanvasRenderingContext2D,
    { values, within }: Line,
    colour: string,
    x: (value: number) => number,
    bottom: number,
  ): void {
    const most = Math.max(maximum(values), 1);
    const height = (value: number): number => (value / most) * (bottom - TOP_PX) * BARS_SHARE;
    if (!within) {
      context.beginPath();
      values.forEach((value, edge) => {
        context.lineTo(x(this.edges[edge] ?? 0), bottom - (value / most) * (bottom - TOP_PX));
      });
      context.strokeStyle = colour;
      context.setLineDash([4, 3]);
      context.lineWidth = 1;
      context.stroke();
      context.setLineDash([]);
      return;
    }
    context.fillStyle = colour;
    for (let edge = 1; edge < values.length; edge++) {
      const left = x(this.edges[edge - 1] ?? 0);
      const tall = height(values[edge] ?? 0);
      context.fillRect(left, bottom - tall, Math.max(x(this.edges[edge] ?? 0) - left, 1), tall);
    }
  }

  private drawChosen(context: CanvasRenderingContext2D, x: (value: number) => number, bottom: number): void {
    const { theme, from, to, hovered } = this;
    const mark = (edge: number, colour: Rgb): void => {
      context.fillStyle = css(colour);
      context.fillRect(Math.round(x(this.edges[edge] ?? 0)), TOP_PX, 1, bottom - TOP_PX);
    };
    if (hovered !== null) mark(hovered, theme.muted);
    if (from === null) return;
    mark(from, theme.focus);
    if (to === null) return;
    mark(to, theme.focus);
    const [left, right] = [x(this.edges[Math.min(from, to)] ?? 0), x(this.edges[Math.max(from, to)] ?? 0)];
    context.fillStyle = css(theme.focus, 0.18);
    context.fillRect(left, TOP_PX, right - left, bottom - TOP_PX);
  }
}

function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
