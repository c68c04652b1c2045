// What is marked over a picture: flags of events, moments that were picked, cursors.

import { visible } from '../../base/text';
import { css, inkOn, type Rgb } from '../../canvas/colour';
import type { Theme } from '../../canvas/theme';
import type { Flag } from '../../canvas/marks';
import type { OverlayModel } from './model';
import { SMALL, xOf, crisp, textWidth, type Context } from './overlay-space';

/** Flags that would stand on the same pixels are drawn once. */
export function distinctFlags(model: OverlayModel, width: number): { flag: Flag; x: number }[] {
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

export function drawFlagLines(context: Context, model: OverlayModel, width: number, height: number): void {
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
export function drawFlagLabels(context: Context, model: OverlayModel, width: number): void {
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
    drawPill(context, model, { x: left, y: 23, width: wide, text, fill });
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

export function drawMarks(context: Context, model: OverlayModel, height: number): void {
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

export function drawMarkLabels(context: Context, model: OverlayModel, width: number, height: number): void {
  const { theme } = model;
  for (const { left, wide, text } of markLabels(context, model, width))
    drawPill(context, model, { x: left, y: height + 2, width: wide, text, fill: theme.focus });
}

/** Where the labels of the picked moments stand on the axis. */
export function markLabels(
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

export function drawCursorLines(context: Context, model: OverlayModel, width: number, height: number): void {
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

export function drawCursorLabels(context: Context, model: OverlayModel, width: number, height: number): void {
  const { cursor, gutter } = model;
  if (!cursor) return;
  if (cursor.textX !== '') {
    const wide = textWidth(context, cursor.textX) + 12;
    const left = Math.min(Math.max(cursor.x - wide / 2, -gutter.left + 2), width - wide - 2);
    drawPill(context, model, { x: left, y: height + 2, width: wide, text: cursor.textX });
  }
  if (cursor.textY === '') return;
  const high = textWidth(context, cursor.textY) + 12;
  const top = Math.min(Math.max(cursor.y - 8.5, 0), height - 17);
  drawPill(context, model, { x: -high - 3, y: top, width: high, text: cursor.textY });
}

/** A label in a rounded box, in the colours of the text or in one of its own. */
interface Pill {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly text: string;
  readonly fill?: Rgb;
}

export function drawPill(
  context: Context,
  { theme }: OverlayModel,
  { x, y, width, text, fill = theme.foreground }: Pill,
): void {
  const ink = fill === theme.foreground ? theme.background : inkOn(fill);
  context.fillStyle = css(fill, theme.contrast ? 1 : 0.9);
  context.beginPath();
  context.roundRect(x, y, width, 17, 3);
  context.fill();
  context.textAlign = 'left';
  context.fillStyle = css(ink);
  context.fillText(text, x + 6, y + 9);
}
