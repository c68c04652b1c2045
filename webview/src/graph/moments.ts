// A recording's time as a filter has it, and the bars of what was allocated over it.

import type { MomentsAnswer } from '../../../extension/shared/protocol.gen';
import { time } from '../base/format';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { byteTicks } from '../canvas/ticks';
import { wordAt } from '../shell/filter-terms';
import type { Chart } from '../widgets/chart';

const TOP_PX = 6;
const AXIS_PX = 16;
const LEFT_PX = 70;
const SEPARATE_PX = 4;

const TERM = /^(since|until):(\d+(?:\.\d+)?)$/i;

/** From the beginning of a bin up to that of another. */
export interface BinRange {
  readonly from: number;
  readonly to: number;
}

export interface Bars extends MomentsAnswer {
  readonly tallest: number;
}

export function barsOf(answer: MomentsAnswer): Bars {
  const { live_bytes: live, allocated_bytes: allocated } = answer;
  return {
    ...answer,
    tallest: live.reduce((most, size, at) => Math.max(most, size, allocated?.[at] ?? 0), 1),
  };
}

/** What of a filter isn't about the time, and its terms that are. */
function parted(filter: string): { readonly rest: string; readonly times: ReadonlyMap<string, number> } {
  const rest: string[] = [];
  const times = new Map<string, number>();
  for (let end = filter.length; end > 0;) {
    const { from, word } = wordAt(filter, end);
    const [, name, seconds] = TERM.exec(word) ?? [];
    if (name !== undefined && seconds !== undefined) times.set(name.toLowerCase(), Number(seconds) * 1e6);
    else if (word !== '') rest.unshift(word);
    end = from - 1;
  }
  return { rest: rest.join(' '), times };
}

/** The bins that a filter is about; null for all of them. */
export function rangeOf(filter: string, { bin_us: width, live_bytes: bins }: MomentsAnswer): BinRange | null {
  const { times } = parted(filter);
  if (times.size === 0) return null;
  const from = Math.min(Math.ceil((times.get('since') ?? 0) / width), bins.length);
  const to = Math.min(Math.ceil((times.get('until') ?? Infinity) / width), bins.length);
  return from < to ? { from, to } : null;
}

/** A filter about the objects of some bins, or again of all times. */
export function withRange(filter: string, range: BinRange | null, answer: MomentsAnswer): string {
  const { rest } = parted(filter);
  if (!range) return rest;
  const seconds = (bin: number): string => String((bin * answer.bin_us) / 1e6);
  const until = range.to < answer.live_bytes.length ? [`until:${seconds(range.to)}`] : [];
  return [rest, `since:${seconds(range.from)}`, ...until].filter((term) => term !== '').join(' ');
}

/** When a bin begins. */
export function timeOf(bin: number, { bin_us: width }: MomentsAnswer): string {
  return bin === 0 ? '0 s' : time(bin * width);
}

/** What the bins of a range come to. */
export function sumOf(values: readonly number[], { from, to }: BinRange): number {
  return values.slice(from, to).reduce((sum, value) => sum + value, 0);
}

/** The bin at a place of the chart in CSS pixels. */
export function binAt(bars: Bars, x: number, width: number): number {
  const { length } = bars.live_bytes;
  const place = Math.floor(((x - LEFT_PX) / Math.max(width - LEFT_PX, 1)) * length);
  return Math.min(Math.max(place, 0), length - 1);
}

export function drawBars(
  chart: Chart,
  {
    bars,
    range,
    hovered,
  }: { readonly bars: Bars; readonly range: BinRange | null; readonly hovered: number | null },
): void {
  const context = chart.begin();
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = chart.surface;
  const { accent, muted, grid, focus, foreground, contrast, font } = theme.value;
  const { live_bytes: live, fitting_bytes: fitting, allocated_bytes: allocated, tallest } = bars;
  const bottom = height - AXIS_PX;
  const each = (width - LEFT_PX) / live.length;
  const x = (bin: number): number => LEFT_PX + bin * each;
  const tall = (size: number): number => (size / tallest) * (bottom - TOP_PX);
  context.font = `11px ${font}`;
  context.textBaseline = 'middle';
  for (const { at, label } of byteTicks(0, tallest, 2).ticks) {
    const y = bottom - tall(at);
    context.fillStyle = css(grid, contrast ? 0.4 : 0.12);
    context.fillRect(LEFT_PX, Math.round(y), width - LEFT_PX, 1);
    context.fillStyle = css(muted);
    context.fillText(label, LEFT_PX - 6 - context.measureText(label).width, y);
  }
  if (range) {
    context.fillStyle = css(focus, 0.18);
    context.fillRect(x(range.from), TOP_PX, x(range.to) - x(range.from), bottom - TOP_PX);
  }
  const gap = each >= SEPARATE_PX ? 1 : 0;
  const bar = (bin: number, size: number, colour: string): void => {
    if (size <= 0) return;
    const top = Math.max(tall(size), 1);
    context.fillStyle = colour;
    context.fillRect(x(bin), bottom - top, Math.max(each - gap, 1), top);
  };
  live.forEach((size, bin) => {
    bar(bin, allocated?.[bin] ?? 0, css(muted, contrast ? 0.6 : 0.35));
    bar(bin, size, css(accent, fitting ? 0.4 : 1));
    bar(bin, fitting?.[bin] ?? 0, css(accent));
  });
  const edge = (bin: number, colour: string): void => {
    context.fillStyle = colour;
    context.fillRect(Math.round(x(bin)), TOP_PX, 1, bottom - TOP_PX);
  };
  if (hovered !== null) edge(hovered + 0.5, css(muted));
  if (range) for (const bin of [range.from, range.to]) edge(bin, css(focus));
  context.fillStyle = css(foreground);
  context.textBaseline = 'alphabetic';
  context.fillText(timeOf(0, bars), LEFT_PX, height - 4);
  const end = timeOf(live.length, bars);
  context.fillText(end, width - context.measureText(end).width - 2, height - 4);
}
