// The 2D canvas over the picture: axes, grid, labels on bands, the peak, the selection, the cursor.
//
// It covers the plot and its gutters. Units here are CSS pixels; `scale` is device pixels to one of them.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Flag } from '../flags';
import { toPixelX, toPixelY, type Camera, type PlotSize } from '../../canvas/camera';
import { css, inkOn, type Rgb } from '../../canvas/colour';
import type { Backdrop } from '../scene/backdrop';
import type { Ticks } from '../../canvas/ticks';
import { visible } from '../../base/text';
import type { Theme } from '../../canvas/theme';
import type { AreaLabel } from './area-labels';
import { drawAreaPatterns } from './area-patterns';
import { drawBackdrop, haloText, type LabelBox } from './backdrop';
import { fitText, labelRoom, type LabelSpot } from './labels';
import { outlinePaths } from './outline';

/** A moment that the user picked; `x` on the axis. */
export interface PickedMoment {
  readonly x: number;
  readonly text: string;
}

export interface OverlayModel {
  readonly camera: Camera;
  readonly plot: PlotSize;
  readonly scale: number;
  readonly gutter: { readonly left: number; readonly bottom: number };
  readonly theme: Theme;
  readonly xTicks: Ticks;
  readonly yTicks: Ticks;
  readonly picture: Geometry | null;
  readonly stacked: boolean;
  readonly labels: readonly LabelSpot[];
  /** The names of areas, where they have room. */
  readonly areaLabels: readonly (AreaLabel & {
    /** Null where parts of the area may be dimmed: a label for any colour. */
    readonly ink: Rgb | null;
  })[];
  /** What reads on each area, from the bottom up. */
  readonly areaInks: readonly Rgb[];
  /** What the picture is measured against. */
  readonly backdrop: Backdrop;
  /** What a band may be called, the best first; empty for nothing. */
  readonly textsOf: (band: number) => readonly string[];
  readonly inkUnder: (band: number) => Rgb;
  /** `bytes` is null in a picture whose height is not what is live. */
  readonly peak: { readonly x: number; readonly bytes: number | null; readonly text: string } | null;
  readonly selectedRects: readonly number[];
  /** The selection's life on the x axis, whether its band is large enough to be seen or not. */
  readonly selectedLife: { readonly x0: number; readonly x1: number } | null;
  readonly cursor: {
    readonly x: number;
    readonly y: number;
    readonly textX: string;
    readonly textY: string;
  } | null;
  /** The cursors that were placed: one, or the two ends of a span. */
  readonly marks: readonly PickedMoment[];
  /** Events that are marked: out of memory, snapshots; and the user's bookmarks. */
  readonly flags: readonly Flag[];
  readonly box: { readonly x0: number; readonly y0: number; readonly x1: number; readonly y1: number } | null;
}

type Context = CanvasRenderingContext2D;

const SMALL = 11;

export function drawOverlay(
  context: Context,
  model: OverlayModel,
  decorate?: (context: Context, model: OverlayModel) => void,
): void {
  const { scale, plot, gutter } = model;
  const width = plot.width / scale;
  const height = plot.height / scale;
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width + gutter.left + 1, height + gutter.bottom + 1);
  context.font = `${SMALL}px ${model.theme.font}`;
  context.textBaseline = 'middle';
  context.translate(gutter.left, 0);
  context.save();
  context.beginPath();
  context.rect(0, 0, width, height);
  context.clip();
  drawGrid(context, model, width, height);
  drawAreaPatterns(context, model);
  drawBackdrop(context, model, width, height, drawLabels(context, model));
  decorate?.(context, model);
  drawPeakLine(context, model, height);
  drawFlagLines(context, model, width, height);
  drawSelection(context, model, height);
  drawMarks(context, model, height);
  drawCursorLines(context, model, width, height);
  drawBox(context, model);
  context.restore();
  drawAxisX(context, model, width, height);
  drawRibbons(context, model, width, height);
  drawAxisY(context, model, width, height);
  drawPeakLabel(context, model, width, height);
  drawFlagLabels(context, model, width);
  drawMarkLabels(context, model, width, height);
  drawCursorLabels(context, model, width, height);
}

function xOf(model: OverlayModel, x: number): number {
  return toPixelX(model.camera, model.plot, x) / model.scale;
}

function yOf(model: OverlayModel, y: number): number {
  return toPixelY(model.camera, model.plot, y) / model.scale;
}

/** The middle of the device pixel that holds a coordinate, so that thin lines are sharp. */
function crisp(model: OverlayModel, value: number): number {
  return (Math.floor(value * model.scale) + 0.5) / model.scale;
}

function drawGrid(context: Context, model: OverlayModel, width: number, height: number): void {
  context.lineWidth = 1 / model.scale;
  context.strokeStyle = css(model.theme.grid, model.theme.contrast ? 0.35 : 0.13);
  context.beginPath();
  for (const tick of model.yTicks.ticks) {
    const y = crisp(model, yOf(model, tick.at));
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
  context.strokeStyle = css(model.theme.grid, model.theme.contrast ? 0.25 : 0.07);
  context.beginPath();
  for (const tick of model.xTicks.ticks) {
    const x = crisp(model, xOf(model, tick.at));
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
}

/** Returns the boxes of the labels, in which no other may be. */
function drawLabels(context: Context, model: OverlayModel): LabelBox[] {
  const { picture, camera, plot, scale } = model;
  if (!picture) return [];
  const taken = drawAreaLabels(context, model);
  context.textAlign = 'left';
  const measure = (text: string): number => textWidth(context, text);
  const placed = [...taken];
  for (const spot of model.labels) {
    const room = labelRoom(picture, camera, plot, spot, 44 * scale, 14 * scale);
    if (!room) continue;
    const text = fitText(model.textsOf(spot.band), room.width / scale - 10, measure);
    if (text === null) continue;
    const [x, y] = [room.x / scale + 5, (room.y + room.height / 2) / scale + 0.5];
    const wide = measure(text);
    if (taken.some((box) => Math.abs(box.y - y) < 14 && x < box.x1 && x + wide > box.x0)) continue;
    context.fillStyle = css(model.inkUnder(spot.band), 0.92);
    context.fillText(text, x, y);
    placed.push({ x0: x, x1: x + wide, y });
  }
  return placed;
}

function drawAreaLabels(context: Context, model: OverlayModel): LabelBox[] {
  const font = context.font;
  context.font = `600 ${SMALL}px ${model.theme.font}`;
  context.textAlign = 'center';
  const taken = model.areaLabels.flatMap((label) => {
    const text = fitText(label.texts, label.width - 10, (each) => textWidth(context, each));
    if (text === null) return [];
    const [x, y] = [label.x + label.width / 2, label.y + label.height / 2 + 0.5];
    if (label.ink === null) haloText(context, model, text, x, y);
    else {
      context.fillStyle = css(label.ink, 0.92);
      context.fillText(text, x, y);
    }
    const half = textWidth(context, text) / 2 + 4;
    return [{ x0: x - half, x1: x + half, y }];
  });
  context.font = font;
  return taken;
}

const widths = new Map<string, number>();

function textWidth(context: Context, text: string): number {
  if (widths.size > 5000) widths.clear();
  const key = `${context.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

function drawPeakLine(context: Context, model: OverlayModel, height: number): void {
  if (!model.peak) return;
  const x = crisp(model, xOf(model, model.peak.x));
  context.strokeStyle = css(model.theme.foreground, model.theme.contrast ? 1 : 0.65);
  context.lineWidth = 1 / model.scale;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, height);
  context.stroke();
  context.setLineDash([]);
}

function drawPeakLabel(context: Context, model: OverlayModel, width: number, height: number): void {
  const { peak, theme } = model;
  if (!peak) return;
  const x = xOf(model, peak.x);
  if (x < 0 || x > width) return;
  const y = peak.bytes === null ? NaN : yOf(model, peak.bytes);
  if (y >= -1 && y <= height) {
    context.fillStyle = css(theme.foreground);
    context.strokeStyle = css(theme.background);
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, 3.5, 0, 7);
    context.fill();
    context.stroke();
  }
  const pill = textWidth(context, peak.text) + 12;
  const left = Math.min(Math.max(x - pill / 2, 2), width - pill - 2);
  drawPill(context, model, left, 3, pill, peak.text, theme.foreground, theme.background);
}

/** Flags that would stand on the same pixels are drawn once. */
function distinctFlags(model: OverlayModel, width: number): { flag: Flag; x: number }[] {
  const found: { flag: Flag; x: number }[] = [];
  for (const flag of model.flags) {
    const x = xOf(model, flag.x);
    if (x < -1 || x > width + 1) continue;
    const same = (other: { flag: Flag; x: number }): boolean =>
      other.flag.kind === flag.kind && Math.abs(other.x - x) < 2;
    if (!found.some(same)) found.push({ flag, x });
  }
  return found;
}

function drawFlagLines(context: Context, model: OverlayModel, width: number, height: number): void {
  const { theme, scale } = model;
  for (const { flag, x } of distinctFlags(model, width)) {
    const oom = flag.kind === 'oom';
    context.strokeStyle = css(flagColour(flag, theme));
    context.lineWidth = (oom ? 2 : 1) / scale;
    context.setLineDash(oom ? [] : flag.kind === 'bookmark' ? [6, 3] : [2, 3]);
    context.beginPath();
    context.moveTo(crisp(model, x), 0);
    context.lineTo(crisp(model, x), height);
    context.stroke();
  }
  context.setLineDash([]);
}

/** Below the peak's label; a label that would lie on another one is left out, its line is there all the same. */
function drawFlagLabels(context: Context, model: OverlayModel, width: number): void {
  const { theme } = model;
  let free = -Infinity;
  context.font = `${SMALL}px ${theme.font}`;
  const placed = distinctFlags(model, width).filter(({ x }) => x >= 0 && x <= width);
  for (const { flag, x } of placed.sort((a, b) => a.x - b.x)) {
    const text = cut(flag.text, MOST_FLAG_PX, (each) => textWidth(context, each));
    const wide = textWidth(context, text) + 12;
    const left = Math.min(Math.max(x - wide / 2, 2), width - wide - 2);
    if (left < free) continue;
    const fill = flagColour(flag, theme);
    drawPill(context, model, left, 23, wide, text, fill, inkOn(fill));
    free = left + wide + 4;
  }
}

function flagColour({ kind }: Flag, theme: Theme): Rgb {
  return kind === 'oom' ? theme.warning : kind === 'bookmark' ? theme.accent : theme.muted;
}

/** Notes are as long as people write them. */
const MOST_FLAG_PX = 180;

function cut(text: string, most: number, measure: (text: string) => number): string {
  const shown = visible(text).slice(0, 100);
  if (measure(shown) <= most && shown.length === visible(text).length) return shown;
  let length = shown.length;
  while (length > 0 && measure(`${shown.slice(0, length)}…`) > most) length--;
  return `${shown.slice(0, length)}…`;
}

/** On the axis a bookmark is a ribbon, recognised without its colour. */
function drawRibbons(context: Context, model: OverlayModel, width: number, height: number): void {
  const { theme } = model;
  for (const { flag, x } of distinctFlags(model, width)) {
    if (flag.kind !== 'bookmark' || x < 0 || x > width) continue;
    context.fillStyle = css(theme.accent);
    context.strokeStyle = css(theme.background);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x - 4, height);
    context.lineTo(x + 4, height);
    context.lineTo(x + 4, height + 10);
    context.lineTo(x, height + 7);
    context.lineTo(x - 4, height + 10);
    context.closePath();
    context.fill();
    context.stroke();
  }
}

function drawSelection(context: Context, model: OverlayModel, height: number): void {
  const { picture, theme, scale } = model;
  if (model.selectedLife) {
    const x0 = xOf(model, model.selectedLife.x0);
    const x1 = Math.max(xOf(model, model.selectedLife.x1), x0 + 2);
    context.fillStyle = css(theme.accent);
    context.fillRect(x0, height - 3, x1 - x0, 3);
  }
  if (!picture || model.selectedRects.length === 0) return;
  context.lineJoin = 'miter';
  for (const path of outlinePaths(picture, model.camera, model.plot, model.selectedRects)) {
    context.beginPath();
    for (let i = 0; i + 1 < path.length; i += 2)
      context.lineTo((path[i] ?? 0) / scale, (path[i + 1] ?? 0) / scale);
    context.closePath();
    context.strokeStyle = css(theme.background);
    context.lineWidth = 4;
    context.stroke();
    context.strokeStyle = css(theme.contrast ? theme.focus : theme.foreground);
    context.lineWidth = 2;
    context.stroke();
  }
}

function drawMarks(context: Context, model: OverlayModel, height: number): void {
  const { marks, theme, scale } = model;
  const [first, second] = marks.map(({ x }) => crisp(model, xOf(model, x)));
  if (first === undefined) return;
  if (second !== undefined) {
    context.fillStyle = css(theme.focus, 0.12);
    context.fillRect(Math.min(first, second), 0, Math.abs(second - first), height);
  }
  context.strokeStyle = css(theme.focus);
  context.lineWidth = (theme.contrast ? 2 : 1) / scale;
  context.beginPath();
  for (const x of second === undefined ? [first] : [first, second]) {
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
}

function drawMarkLabels(context: Context, model: OverlayModel, width: number, height: number): void {
  const { theme } = model;
  for (const { left, wide, text } of markLabels(context, model, width))
    drawPill(context, model, left, height + 2, wide, text, theme.focus, inkOn(theme.focus));
}

/** Where the labels of the picked moments stand on the axis. */
function markLabels(
  context: Context,
  model: OverlayModel,
  width: number,
): { left: number; wide: number; text: string }[] {
  return model.marks.flatMap(({ x: at, text }) => {
    const x = xOf(model, at);
    if (x < 0 || x > width) return [];
    const wide = textWidth(context, text) + 12;
    return [{ left: Math.min(Math.max(x - wide / 2, -model.gutter.left + 2), width - wide - 2), wide, text }];
  });
}

function drawCursorLines(context: Context, model: OverlayModel, width: number, height: number): void {
  if (!model.cursor) return;
  const x = crisp(model, model.cursor.x);
  const y = crisp(model, model.cursor.y);
  context.strokeStyle = css(model.theme.foreground, model.theme.contrast ? 0.9 : 0.4);
  context.lineWidth = 1 / model.scale;
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, height);
  context.moveTo(0, y);
  context.lineTo(width, y);
  context.stroke();
}

function drawCursorLabels(context: Context, model: OverlayModel, width: number, height: number): void {
  const { cursor, theme, gutter } = model;
  if (!cursor) return;
  if (cursor.textX !== '') {
    const wide = textWidth(context, cursor.textX) + 12;
    const left = Math.min(Math.max(cursor.x - wide / 2, -gutter.left + 2), width - wide - 2);
    drawPill(context, model, left, height + 2, wide, cursor.textX, theme.foreground, theme.background);
  }
  if (cursor.textY === '') return;
  const high = textWidth(context, cursor.textY) + 12;
  const top = Math.min(Math.max(cursor.y - 8.5, 0), height - 17);
  drawPill(context, model, -high - 3, top, high, cursor.textY, theme.foreground, theme.background);
}

function drawPill(
  context: Context,
  model: OverlayModel,
  x: number,
  y: number,
  width: number,
  text: string,
  fill: Rgb,
  ink: Rgb,
): void {
  context.fillStyle = css(fill, model.theme.contrast ? 1 : 0.9);
  context.beginPath();
  context.roundRect(x, y, width, 17, 3);
  context.fill();
  context.textAlign = 'left';
  context.fillStyle = css(ink);
  context.fillText(text, x + 6, y + 9);
}

function drawBox(context: Context, model: OverlayModel): void {
  if (!model.box) return;
  const { x0, y0, x1, y1 } = model.box;
  context.fillStyle = css(model.theme.focus, 0.18);
  context.fillRect(x0, y0, x1 - x0, y1 - y0);
  context.strokeStyle = css(model.theme.focus);
  context.lineWidth = 1;
  context.strokeRect(Math.floor(x0) + 0.5, Math.floor(y0) + 0.5, Math.floor(x1 - x0), Math.floor(y1 - y0));
}

function drawAxisX(context: Context, model: OverlayModel, width: number, height: number): void {
  const { theme, xTicks, gutter } = model;
  context.strokeStyle = css(theme.foreground, theme.contrast ? 1 : 0.3);
  context.lineWidth = 1 / model.scale;
  const base = crisp(model, height);
  context.beginPath();
  context.moveTo(0, base);
  context.lineTo(width, base);
  for (const tick of xTicks.ticks) {
    const x = crisp(model, xOf(model, tick.at));
    if (x < 0 || x > width) continue;
    context.moveTo(x, height);
    context.lineTo(x, height + 4);
  }
  context.stroke();
  context.fillStyle = css(theme.muted);
  context.textAlign = 'left';
  let free = -gutter.left + 4;
  if (xTicks.base !== null) {
    context.fillText(xTicks.base, free, height + 13);
    free += textWidth(context, xTicks.base) + 8;
  }
  const taken = markLabels(context, model, width);
  for (const tick of xTicks.ticks) {
    const wide = textWidth(context, tick.label);
    const x = Math.min(Math.max(xOf(model, tick.at) - wide / 2, -gutter.left + 2), width - wide - 2);
    // What a picked moment's label would cover half of is not shown at all.
    if (taken.some((label) => x < label.left + label.wide + 3 && x + wide > label.left - 3)) continue;
    if (x < free) continue;
    context.fillText(tick.label, x, height + 13);
    free = x + wide + 12;
  }
}

function drawAxisY(context: Context, model: OverlayModel, _width: number, height: number): void {
  const { theme, yTicks } = model;
  context.fillStyle = css(theme.muted);
  context.textAlign = 'right';
  if (yTicks.base !== null) context.fillText(yTicks.base, -6, 8);
  for (const tick of yTicks.ticks) {
    const y = yOf(model, tick.at);
    if (y < (yTicks.base === null ? 6 : 20) || y > height + 0.5) continue;
    context.fillText(tick.label, -6, Math.min(y, height - 6) + 0.5);
  }
}
