// The curves of a profile over time as they are drawn.

import type { ProfileTimesAnswer } from '../../../extension/shared/protocol.gen';
import { floats } from '../base/base64';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import type { Camera } from '../canvas/camera';
import { css, type Rgb } from '../canvas/colour';
import { theme, type Theme } from '../canvas/theme';
import { byteTicks, eventTicks, timeTicks, type Ticks } from '../canvas/ticks';
import type { Chart } from '../widgets/chart';

export interface TimesLine {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly within: boolean;
  readonly values: Float64Array;
}

/** What a profile has over time: values at the edges of its bins, and what was highest within each. */
export interface Times {
  readonly edges: Float64Array;
  readonly peaks: Float64Array;
  readonly lines: readonly TimesLine[];
  readonly peak: { readonly edge: number; readonly bytes: number };
}

export const NO_TIMES: Times = {
  edges: new Float64Array(),
  peaks: new Float64Array(),
  lines: [],
  peak: { edge: 0, bytes: 0 },
};

export function timesOf(answer: ProfileTimesAnswer): Times {
  return {
    edges: floats(answer.edges),
    peaks: floats(answer.peaks),
    peak: { edge: answer.peak_edge, bytes: answer.peak_bytes },
    lines: answer.series.map(({ title, values, ...line }) => ({
      ...line,
      title: said(title),
      values: floats(values),
    })),
  };
}

/** What is chosen and pointed at, by edges. */
export interface Marks {
  readonly from: number | null;
  readonly to: number | null;
  readonly hovered: number | null;
}

const TOP_PX = 6;
const AXIS_PX = 18;
/** CSS pixels that the scale of bytes has. */
export const LEFT_PX = 70;
/** A tick of the axis for so many CSS pixels. */
const TICK_PX = 110;
const BARS_SHARE = 0.22;
const PILL_PX = 17;

export function lineColour(line: number, { accent, warning, stacks, foreground }: Theme): Rgb {
  const colours = [accent, warning, ...[3, 6, 1, 5, 7, 2].map((number) => stacks[number])];
  return colours[line % colours.length] ?? foreground;
}

/** The edge nearest to a place of the axis; null where there are none. */
export function edgeAt(edges: Float64Array, place: number): number | null {
  if (edges.length === 0) return null;
  let [low, high] = [0, edges.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((edges[middle] ?? 0) < place) low = middle + 1;
    else high = middle;
  }
  const before = Math.max(low - 1, 0);
  return place - (edges[before] ?? 0) < (edges[low] ?? 0) - place ? before : low;
}

/** What is drawn. */
interface TimesScene {
  readonly times: Times;
  /** That of the axis. */
  readonly unit: string;
  /** The part of the run in view. */
  readonly camera: Pick<Camera, 'x0' | 'x1'>;
  /** Names of the lines that are not. */
  readonly hidden: ReadonlySet<string>;
  readonly marks: Marks;
}

export function drawTimes(chart: Chart, scene: TimesScene): void {
  const { times, hidden, marks, unit, camera } = scene;
  const { clientWidth: width, clientHeight: height } = chart.surface;
  const context = chart.begin();
  if (!context || times.edges.length === 0) return;
  const span = camera.x1 - camera.x0;
  const bottom = height - AXIS_PX;
  const top = topOf(times, hidden);
  new Drawing(context, times, theme.value, bottom, {
    x: (value) => LEFT_PX + ((value - camera.x0) / span) * (width - LEFT_PX),
    y: (value) => bottom - (value / top) * (bottom - TOP_PX),
  }).all({ width, top, hidden, marks, ...axisTicks(camera, unit, (width - LEFT_PX) / TICK_PX) });
}

/** The ticks of an axis in a unit; where it isn't one of time or bytes, the unit is said once. */
function axisTicks({ x0, x1 }: Pick<Camera, 'x0' | 'x1'>, unit: string, many: number): Ticks {
  if (unit === 'microseconds') return timeTicks(x0, x1, many);
  return unit === 'bytes' ? byteTicks(x0, x1, many) : { ...eventTicks(x0, x1, many), base: unit };
}

/** The highest amount on the scale of bytes. */
function topOf({ lines, peak }: Times, hidden: ReadonlySet<string>): number {
  const sized = lines.filter(({ name, unit }) => unit === 'bytes' && !hidden.has(name));
  const live = hidden.has('live_bytes') ? 1 : peak.bytes;
  return Math.max(live, 1, ...sized.map(({ values }) => maximum(values))) * 1.05;
}

interface Parts extends Ticks {
  readonly width: number;
  readonly top: number;
  readonly hidden: ReadonlySet<string>;
  readonly marks: Marks;
}

interface Scales {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
}

class Drawing {
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly times: Times,
    private readonly theme: Theme,
    private readonly bottom: number,
    private readonly scales: Scales,
  ) {}

  all({ width, top, hidden, marks, ticks, base }: Parts): void {
    const { context, bottom } = this;
    this.grid(width, top);
    this.axis(width, ticks, base);
    context.save();
    context.beginPath();
    context.rect(LEFT_PX, 0, width - LEFT_PX, bottom);
    context.clip();
    this.times.lines.forEach((line, at) => {
      if (hidden.has(line.name)) return;
      const colour = css(lineColour(at, this.theme));
      if (line.unit === 'bytes') this.line(line, colour);
      else this.counts(line, colour);
    });
    this.marks(marks);
    if (!hidden.has('live_bytes')) this.peak(width);
    context.restore();
  }

  private xOf(edge: number): number {
    return this.scales.x(this.times.edges[edge] ?? 0);
  }

  private grid(width: number, top: number): void {
    const { context, theme } = this;
    context.font = `11px ${theme.font}`;
    context.textBaseline = 'middle';
    for (const { at, label } of byteTicks(0, top, 4).ticks) {
      const y = this.scales.y(at);
      context.fillStyle = css(theme.grid, theme.contrast ? 0.4 : 0.12);
      context.fillRect(LEFT_PX, Math.round(y), width - LEFT_PX, 1);
      context.fillStyle = css(theme.muted);
      context.fillText(label, LEFT_PX - 6 - context.measureText(label).width, y);
    }
  }

  private axis(width: number, ticks: Ticks['ticks'], base: string | null): void {
    const { context, theme, bottom } = this;
    context.fillStyle = css(theme.muted);
    const y = bottom + 11;
    if (base !== null) context.fillText(base, Math.max(LEFT_PX - 6 - context.measureText(base).width, 2), y);
    for (const { at, label } of ticks) {
      const [x, wide] = [this.scales.x(at), context.measureText(label).width];
      context.fillRect(Math.round(x), bottom, 1, 4);
      context.fillText(label, Math.min(Math.max(x - wide / 2, LEFT_PX), width - wide - 2), y);
    }
  }

  private line({ name, values }: TimesLine, colour: string): void {
    const { context, times, bottom } = this;
    const { y } = this.scales;
    context.beginPath();
    values.forEach((value, edge) => {
      const at = this.xOf(edge);
      const highest = times.peaks[edge] ?? 0;
      // what was highest within the bin, so that no peak is lost
      if (name === 'live_bytes' && highest > value) context.lineTo(at, y(highest));
      context.lineTo(at, y(value));
    });
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    if (name !== 'live_bytes') return;
    context.lineTo(this.xOf(times.edges.length - 1), bottom);
    context.lineTo(this.xOf(0), bottom);
    context.globalAlpha = 0.2;
    context.fillStyle = colour;
    context.fill();
    context.globalAlpha = 1;
  }

  /** Where most was live, and how much, as a timeline has it. */
  private peak(width: number): void {
    const { context, theme, bottom } = this;
    const { edge, bytes: most } = this.times.peak;
    const [x, y] = [this.xOf(edge), this.scales.y(most)];
    if (most <= 0 || x < LEFT_PX || x > width) return;
    const { foreground, background } = theme;
    context.strokeStyle = css(foreground, 0.6);
    context.setLineDash([4, 3]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, y);
    context.lineTo(Math.round(x) + 0.5, bottom);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = css(foreground);
    context.beginPath();
    context.arc(x, y, 2.5, 0, 2 * Math.PI);
    context.fill();
    context.font = `11px ${theme.font}`;
    const text = t('Peak {0}', bytes(most));
    const pill = context.measureText(text).width + 12;
    // beside the line, on the side that has room
    const left = x + 6 + pill <= width - 2 ? x + 6 : x - 6 - pill;
    context.beginPath();
    context.roundRect(left, 2, pill, PILL_PX, 3);
    context.fill();
    context.fillStyle = css(background);
    context.textBaseline = 'middle';
    context.fillText(text, left + 6, 2 + PILL_PX / 2 + 0.5);
  }

  /** Counts have a scale of their own, at the bottom. */
  private counts({ values, within }: TimesLine, colour: string): void {
    const { context, bottom } = this;
    const most = Math.max(maximum(values), 1);
    const height = (value: number): number => (value / most) * (bottom - TOP_PX);
    if (!within) {
      context.beginPath();
      values.forEach((value, edge) => context.lineTo(this.xOf(edge), bottom - height(value)));
      context.strokeStyle = colour;
      context.setLineDash([4, 3]);
      context.lineWidth = 1;
      context.stroke();
      context.setLineDash([]);
      return;
    }
    context.fillStyle = colour;
    for (let edge = 1; edge < values.length; edge++) {
      const left = this.xOf(edge - 1);
      const tall = height(values[edge] ?? 0) * BARS_SHARE;
      context.fillRect(left, bottom - tall, Math.max(this.xOf(edge) - left, 1), tall);
    }
  }

  private marks({ from, to, hovered }: Marks): void {
    const { context, theme, bottom } = this;
    const mark = (edge: number, colour: Rgb): void => {
      context.fillStyle = css(colour);
      context.fillRect(Math.round(this.xOf(edge)), TOP_PX, 1, bottom - TOP_PX);
    };
    if (hovered !== null) mark(hovered, theme.muted);
    if (from === null) return;
    mark(from, theme.focus);
    if (to === null) return;
    mark(to, theme.focus);
    const [left, right] = [this.xOf(Math.min(from, to)), this.xOf(Math.max(from, to))];
    context.fillStyle = css(theme.focus, 0.18);
    context.fillRect(left, TOP_PX, right - left, bottom - TOP_PX);
  }
}

export function maximum(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
