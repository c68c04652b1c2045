// The 2D canvas over the picture: axes, grid, labels on bands, the peak, the selection, the cursor.
//
// It covers the plot and its gutters. Units here are CSS pixels; `scale` is device pixels to one of them.

import { css } from '../../canvas/colour';
import { drawAreaPatterns } from './area-patterns';
import { drawBackdrop, haloText, type LabelBox } from './backdrop';
import { fitText, labelRoom } from './labels';
import { outlinePaths } from './outline';
import {
  distinctFlags,
  drawFlagLines,
  drawMarks,
  drawCursorLines,
  drawFlagLabels,
  drawMarkLabels,
  drawCursorLabels,
  drawPill,
  markLabels,
} from './overlay-marks';
import { SMALL, crisp, yOf, xOf, textWidth, type Context } from './overlay-space';
import type { OverlayModel } from './model';

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
  const pill = peakPill(context, model, width);
  const labels = [...drawLabels(context, model), ...(pill ? [pill] : [])];
  drawBackdrop(context, model, { width, height }, labels);
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
  const { picture, scale } = model;
  if (!picture) return [];
  const least = { width: 44 * scale, height: 14 * scale };
  const taken = drawAreaLabels(context, model);
  context.textAlign = 'left';
  const measure = (text: string): number => textWidth(context, text);
  const placed = [...taken];
  for (const spot of model.labels) {
    const room = labelRoom(picture, model, spot, least);
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
    if (label.ink === null) haloText(context, model, { text, x, y });
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

/** CSS pixels. */
const PEAK_PILL_TOP = 3;
const PILL_PX = 17;

function drawPeakLabel(context: Context, model: OverlayModel, width: number, height: number): void {
  const { peak, theme } = model;
  if (!peak) return;
  const pill = peakPill(context, model, width);
  if (!pill) return;
  const x = xOf(model, peak.x);
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
  drawPill(context, model, { x: pill.x0, y: PEAK_PILL_TOP, width: pill.x1 - pill.x0, text: peak.text });
}

/** Where the peak's label is; null where the peak isn't in view. */
function peakPill(context: Context, model: OverlayModel, width: number): LabelBox | null {
  const { peak } = model;
  const x = peak ? xOf(model, peak.x) : -1;
  if (!peak || x < 0 || x > width) return null;
  const wide = textWidth(context, peak.text) + 12;
  const left = Math.min(Math.max(x - wide / 2, 2), width - wide - 2);
  return { x0: left, x1: left + wide, y: PEAK_PILL_TOP + PILL_PX / 2 };
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
