// Draws two curves, the difference between them shaded: the one way and the other hatched, never by colour alone.

import { css, type Rgb } from '../../canvas/colour';
import { byteTicks, eventTicks, timeTicks } from '../../canvas/ticks';
import type { Theme } from '../../canvas/theme';
import type { Curves } from './compare-scene';

export interface CompareLook {
  readonly theme: Theme;
  readonly more: Rgb;
  readonly less: Rgb;
  readonly other: Rgb;
}

export interface CompareScene {
  readonly curves: Curves;
  readonly range: { readonly x0: number; readonly x1: number };
  readonly axis: 'time' | 'event';
  readonly otherFirst: boolean;
  readonly marks: readonly { readonly x: number; readonly text: string }[];
  /** Where the pointer is on the axis. */
  readonly pointer: number | null;
  /** A part of the axis that is being marked, in CSS pixels. */
  readonly box: { readonly x0: number; readonly x1: number } | null;
}

/** Room for the axes' labels, in CSS pixels: at the sides that of the strip above, which shows the same part of the run. */
export const GUTTERS = { left: 78, right: 0, top: 8, bottom: 22 };

const HATCH_PX = 7;

/** Draws in pixels of CSS. */
export function drawCompare(
  context: CanvasRenderingContext2D,
  size: { readonly width: number; readonly height: number },
  scene: CompareScene,
  look: CompareLook,
): void {
  const { theme } = look;
  const { curves, range } = scene;
  const left = GUTTERS.left;
  const right = size.width - GUTTERS.right;
  const bottom = size.height - GUTTERS.bottom;
  const toX = (x: number): number => left + ((x - range.x0) / (range.x1 - range.x0)) * (right - left);
  const toY = (value: number): number => bottom - (value / curves.top) * (bottom - GUTTERS.top);
  context.font = `11px ${theme.font}`;
  const edge = (column: number): number =>
    toX(curves.x0 + ((curves.x1 - curves.x0) * column) / curves.columns);
  const chart: ComparedChart = { context, scene, theme, right, bottom, toX, toY, edge };
  drawAxes(chart);

  context.save();
  context.beginPath();
  context.rect(left, 0, right - left, bottom);
  context.clip();
  const [before, after] = scene.otherFirst ? [curves.other, curves.mine] : [curves.mine, curves.other];
  const difference = (i: number): number => (after[i] ?? NaN) - (before[i] ?? NaN);
  shade(chart, (i) => difference(i) > 0, look.more, 1);
  shade(chart, (i) => difference(i) < 0, look.less, -1);
  line(chart, curves.other, look.other, [5, 3]);
  line(chart, curves.mine, theme.accent, []);
  for (const step of curves.steps) {
    const x = Math.round(toX(step.x)) + 0.5;
    stroke(context, [x, GUTTERS.top, x, bottom], css(theme.muted, theme.contrast ? 1 : 0.55), [1, 3]);
  }
  for (const mark of scene.marks) {
    const x = Math.round(toX(mark.x)) + 0.5;
    stroke(context, [x, 0, x, bottom], css(theme.foreground));
    context.fillStyle = css(theme.foreground);
    context.textAlign = 'left';
    context.fillText(mark.text, x + 4, GUTTERS.top + 10);
  }
  if (scene.box) {
    context.fillStyle = css(theme.focus, 0.2);
    context.fillRect(scene.box.x0, 0, scene.box.x1 - scene.box.x0, bottom);
  }
  if (scene.pointer !== null) {
    const x = Math.round(toX(scene.pointer)) + 0.5;
    stroke(context, [x, 0, x, bottom], css(theme.focus));
  }
  context.restore();
}

/** What is drawn on, with what, and where places on its axes are, in CSS pixels. */
interface ComparedChart {
  readonly context: CanvasRenderingContext2D;
  readonly scene: CompareScene;
  readonly theme: Theme;
  readonly right: number;
  readonly bottom: number;
  readonly toX: (x: number) => number;
  readonly toY: (value: number) => number;
  /** Where a column begins. */
  readonly edge: (column: number) => number;
}

function drawAxes({ context, scene, theme, right, bottom, toX, toY }: ComparedChart): void {
  const grid = css(theme.grid, theme.contrast ? 0.35 : 0.12);
  const ink = css(theme.muted);
  context.fillStyle = ink;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (const tick of byteTicks(0, scene.curves.top, Math.max(2, bottom / 48)).ticks) {
    const y = Math.round(toY(tick.at)) + 0.5;
    if (y < 4) continue;
    stroke(context, [GUTTERS.left, y, right, y], grid);
    context.fillText(tick.label, GUTTERS.left - 6, y);
  }
  const { range, axis } = scene;
  const count = Math.max(2, (right - GUTTERS.left) / 110);
  const { ticks, base } =
    axis === 'time' ? timeTicks(range.x0, range.x1, count) : eventTicks(range.x0, range.x1, count);
  context.textAlign = 'center';
  const y = bottom + 12;
  for (const tick of ticks) {
    const x = Math.round(toX(tick.at)) + 0.5;
    if (x < GUTTERS.left || x > right) continue;
    stroke(context, [x, GUTTERS.top, x, bottom], grid);
    const half = context.measureText(tick.label).width / 2;
    context.fillText(tick.label, Math.min(Math.max(x, half), right - half), y);
  }
  if (base !== null) {
    context.textAlign = 'left';
    context.fillText(base, 6, y);
  }
  stroke(context, [GUTTERS.left, bottom + 0.5, right, bottom + 0.5], css(theme.muted, 0.6));
}

/** Fills between the curves where the one or the other is higher, with hatches that go up or down. */
function shade(
  { context, scene, theme, bottom, toY, edge }: ComparedChart,
  isShaded: (column: number) => boolean,
  colour: Rgb,
  slope: 1 | -1,
): void {
  const { mine, other, columns } = scene.curves;
  context.save();
  context.beginPath();
  for (let i = 0; i < columns; i++) {
    const [a = NaN, b = NaN] = [mine[i], other[i]];
    if (!isShaded(i)) continue;
    const [from, to] = [edge(i), edge(i + 1)];
    const top = toY(Math.max(a, b));
    context.rect(from, top, to - from, Math.max(toY(Math.min(a, b)) - top, 0.5));
  }
  context.fillStyle = css(colour, theme.contrast ? 0.35 : 0.22);
  context.fill();
  context.clip();
  context.strokeStyle = css(colour, theme.contrast ? 1 : 0.6);
  context.lineWidth = 1;
  context.beginPath();
  const [start, end] = [edge(0) - bottom, edge(columns) + bottom];
  for (let x = start; x < end; x += HATCH_PX) {
    context.moveTo(x, slope > 0 ? bottom : 0);
    context.lineTo(x + bottom, slope > 0 ? 0 : bottom);
  }
  context.stroke();
  context.restore();
}

function line(
  { context, scene, toY, edge }: ComparedChart,
  values: Float64Array,
  colour: Rgb,
  dash: number[],
): void {
  context.save();
  context.strokeStyle = css(colour);
  context.lineWidth = 1.75;
  context.lineJoin = 'round';
  context.setLineDash(dash);
  context.beginPath();
  let drawing = false;
  for (let i = 0; i < scene.curves.columns; i++) {
    const value = values[i] ?? NaN;
    if (Number.isNaN(value)) {
      drawing = false;
      continue;
    }
    const y = toY(value);
    if (drawing) context.lineTo(edge(i), y);
    else context.moveTo(edge(i), y);
    context.lineTo(edge(i + 1), y);
    drawing = true;
  }
  context.stroke();
  context.restore();
}

/** A line from one point to another. */
function stroke(
  context: CanvasRenderingContext2D,
  [x0, y0, x1, y1]: readonly [x0: number, y0: number, x1: number, y1: number],
  colour: string,
  dash: number[] = [],
): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
  context.setLineDash([]);
}
