// Where something lies on the overlay, in CSS pixels, and how wide its text is.

import { toPixelX, toPixelY } from '../../canvas/camera';
import type { OverlayModel } from './model';

export type Context = CanvasRenderingContext2D;

/** Pixels of small text. */
export const SMALL = 11;

export function xOf(model: OverlayModel, x: number): number {
  return toPixelX(model.camera, model.plot, x) / model.scale;
}

export function yOf(model: OverlayModel, y: number): number {
  return toPixelY(model.camera, model.plot, y) / model.scale;
}

/** The middle of the device pixel that holds a coordinate, so that thin lines are sharp. */
export function crisp(model: OverlayModel, value: number): number {
  return (Math.floor(value * model.scale) + 0.5) / model.scale;
}

const widths = new Map<string, number>();

export function textWidth(context: Context, text: string): number {
  if (widths.size > 5000) widths.clear();
  const key = `${context.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
