// Draws what the picture is measured against over its areas: lines that keep apart from colours by their background.

import { t } from '../../base/l10n';
import { limitOf, mostOf, outlineOf, stepsInView } from '../scene/backdrop';
import type { Curve } from '../../canvas/marks';
import { toPixelX, toPixelY, type PlotSize } from '../../canvas/camera';
import { css } from '../../canvas/colour';
import { bytes } from '../../base/format';
import type { OverlayModel } from './model';

type Context = CanvasRenderingContext2D;

/** Where a label was drawn, in CSS pixels; `y` is its middle. */
export interface LabelBox {
  readonly x0: number;
  readonly x1: number;
  readonly y: number;
}

/** CSS pixels. */
const LEFT = 6;
/** Peaks this near to the left edge have their label where others would be, and where that ends. */
const PEAK_NEAR = 300;
const PEAK_BOTTOM = 30;
/** What a label takes in height. */
const ROW_PX = 14;
/** The middle of the row of steps' names: within the air above the highest memory. */
export const STEP_Y = 9;
const STEP_LEAST = 7;
const STEP_TEXT_LEAST = 70;

/** Text that reads on anything: its outline is of the background. */
export function haloText(
  context: Context,
  { theme }: OverlayModel,
  { text, x, y }: { readonly text: string; readonly x: number; readonly y: number },
): void {
  context.lineJoin = 'round';
  context.lineWidth = 3;
  context.strokeStyle = css(theme.background, 0.9);
  context.strokeText(text, x, y);
  context.fillStyle = css(theme.foreground);
  context.fillText(text, x, y);
}

/** Step marks, the whole that a filter narrows, what was reserved, and the limit when memory ran out. */
export function drawBackdrop(
  context: Context,
  model: OverlayModel,
  { width, height }: PlotSize,
  labels: readonly LabelBox[],
): void {
  const { backdrop } = model;
  drawSteps(context, model, height);
  const rows = new LabelRows(context, model);
  if (backdrop.whole) {
    drawCurve(context, model, backdrop.whole, [2, 2]);
    rows.add(
      backdrop.changed ? t('As recorded') : t('Without the filter'),
      mostOf(backdrop.whole, model.camera),
    );
  }
  if (backdrop.reserved) {
    drawCurve(context, model, backdrop.reserved, []);
    rows.add(
      backdrop.changed ? t('Reserved as recorded') : t('Reserved'),
      mostOf(backdrop.reserved, model.camera),
    );
  }
  const limit = limitOf(model.flags, backdrop.reserved);
  if (limit !== null) {
    const y = toPixelY(model.camera, model.plot, limit) / model.scale;
    twice(context, model, [6, 3], () => {
      context.moveTo(0, y);
      context.lineTo(width, y);
    });
    rows.add(t('Limit at out of memory'), limit);
  }
  nameSteps(context, model, [...labels, ...rows.draw()]);
}

/**
 * Labels at the left edge: above their lines, or at the top with an arrow where the line is above the view. Those of lines
 * that lie so near each other that only one has room are one label.
 */
class LabelRows {
  private readonly rows: { y: number; text: string }[] = [];

  constructor(
    private readonly context: Context,
    private readonly model: OverlayModel,
  ) {}

  private besidePeak(): boolean {
    const { peak, camera, plot, scale } = this.model;
    const x = peak ? toPixelX(camera, plot, peak.x) / scale : -1;
    return x >= 0 && x < PEAK_NEAR;
  }

  add(name: string, size: number | null): void {
    if (size === null) return;
    const { camera, plot, scale } = this.model;
    const at = toPixelY(camera, plot, size) / scale;
    if (at > plot.height / scale) return;
    // below its line at the top, and below the label of a peak at the left edge
    const top = this.besidePeak() ? PEAK_BOTTOM : 10;
    const y = at - 7 >= top ? at - 7 : at < 0 ? top : Math.max(at + 9, top);
    const text = `${at < 0 ? '↑ ' : ''}${name} ${bytes(size)}`;
    const near = this.rows.find((row) => Math.abs(row.y - y) < ROW_PX);
    if (near) near.text += ` · ${text}`;
    else this.rows.push({ y, text });
  }

  /** Returns where they are. */
  draw(): LabelBox[] {
    this.context.textAlign = 'left';
    return this.rows.map(({ y, text }) => {
      haloText(this.context, this.model, { text, x: LEFT, y });
      return { x0: LEFT, x1: LEFT + this.context.measureText(text).width, y };
    });
  }
}

function drawCurve(context: Context, model: OverlayModel, curve: Curve, dash: number[]): void {
  const points = outlineOf(curve, model.camera, model.plot);
  twice(context, model, dash, () => {
    for (let i = 0; i + 1 < points.length; i += 2)
      context.lineTo((points[i] ?? 0) / model.scale, (points[i + 1] ?? 0) / model.scale);
  });
}

/** A line with an outline of the background, so that it is seen on every colour. */
function twice(context: Context, model: OverlayModel, dash: number[], path: () => void): void {
  const { theme } = model;
  for (const [colour, wide] of [
    [css(theme.background, 0.75), 3],
    [css(theme.foreground, theme.contrast ? 1 : 0.8), 1.25],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.setLineDash(wide > 2 ? [] : dash);
    context.beginPath();
    path();
    context.stroke();
  }
  context.setLineDash([]);
}

/** A dotted line where each step begins. */
function drawSteps(context: Context, model: OverlayModel, height: number): void {
  const { backdrop, camera, plot, scale, theme } = model;
  if (backdrop.steps.length < 2) return;
  context.strokeStyle = css(theme.foreground, theme.contrast ? 0.8 : 0.35);
  context.lineWidth = 1;
  context.setLineDash([1, 3]);
  context.beginPath();
  for (const { px } of stepsInView(backdrop.steps, camera, plot, STEP_LEAST * scale)) {
    const x = Math.floor(px / scale) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  context.stroke();
  context.setLineDash([]);
}

/** Names inferred steps above what is live: the lanes over the picture name annotated ones. */
function nameSteps(context: Context, model: OverlayModel, taken: readonly LabelBox[]): void {
  const { backdrop, camera, plot, scale } = model;
  if (backdrop.steps.length < 2 || !backdrop.inferred) return;
  context.textAlign = 'left';
  const steps = stepsInView(backdrop.steps, camera, plot, STEP_TEXT_LEAST * scale);
  const labels = steps.map(({ px, text }, i) => ({
    text: i === 0 ? t('{0} (detected)', text) : text,
    x: px / scale + 3,
  }));
  for (const { text, x } of stepLabels(labels, taken, (words) => context.measureText(words).width))
    haloText(context, model, { text, x, y: STEP_Y });
}

interface StepLabel {
  readonly text: string;
  readonly x: number;
}

/** The labels of steps that have room at the top, beside others that are there. */
export function stepLabels(
  labels: readonly StepLabel[],
  taken: readonly LabelBox[],
  width: (text: string) => number,
): StepLabel[] {
  const near = taken.filter(({ y }) => Math.abs(y - STEP_Y) < ROW_PX);
  let end = -Infinity;
  return labels.filter(({ text, x }) => {
    const x1 = x + width(text);
    if (x < end || near.some((label) => x < label.x1 && x1 > label.x0)) return false;
    end = x1;
    return true;
  });
}
