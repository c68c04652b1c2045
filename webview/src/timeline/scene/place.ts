// Where a picture's columns and rows land on the plot's pixels.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';

/** Pixel = unit * scale + offset; x from the left, y from the BOTTOM of the plot, both in device pixels. */
export interface Placement {
  readonly scaleX: number;
  readonly offsetX: number;
  readonly scaleY: number;
  readonly offsetY: number;
}

type Bounds = Pick<Geometry, 'x0' | 'x1' | 'y0' | 'columns' | 'yQuantum'>;

/** Made in float64 and small in value, so that float32 in a shader keeps whole pixels apart. */
export function placementOf(picture: Bounds, camera: Camera, plot: PlotSize): Placement {
  const perX = plot.width / (camera.x1 - camera.x0);
  const perY = plot.height / (camera.y1 - camera.y0);
  return {
    scaleX: ((picture.x1 - picture.x0) / picture.columns) * perX,
    offsetX: (picture.x0 - camera.x0) * perX,
    scaleY: picture.yQuantum * perY,
    offsetY: (picture.y0 - camera.y0) * perY,
  };
}

/**
 * Added to an edge before its fraction is dropped. A unit is often a quarter of a pixel, so edges lie on halves; a bit
 * more than a half lets these go up wherever they are computed, whatever the last bits are.
 */
export const TO_NEAREST = 0.5 + 2 ** -8;

/**
 * The pixel edge that a unit's edge is drawn at. Edges are rounded, never widths: neighbours share an edge, so they
 * meet without a hole or an overlap at any scale.
 */
export function snap(unit: number, scale: number, offset: number): number {
  return Math.floor(unit * scale + offset + TO_NEAREST);
}
