/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// In high contrast areas have outlines and hatches, so that they differ by more than colour.

import type { Geometry, Grouped } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import { css, inkOn, type Rgb } from '../../canvas/colour';
import { patternOf } from '../scene/paint';
import { placementOf, snap } from '../scene/place';
import type { OverlayModel } from './model';
import { inPattern } from './raster';

/** Pixels of a tile in which every pattern repeats. */
const TILE = 24;
/** CSS pixels: areas that are lower have no outline of their own. */
const LEAST_OUTLINED = 4;

/** The edges of each area in view, in device pixels from the left and the top: the upper and the lower of each column. */
export interface AreaShape {
  readonly xs: Float64Array;
  readonly upper: Float64Array;
  readonly lower: Float64Array;
}

/** The shapes of all areas, from the bottom up. `xs` has one more than the others: where the last column ends. */
export function areaShapes(g: Geometry, grouped: Grouped, camera: Camera, plot: PlotSize): AreaShape[] {
  const place = placementOf(g, camera, plot);
  const first = Math.max(0, Math.floor(-place.offsetX / place.scaleX));
  const last = Math.min(g.columns, Math.ceil((plot.width - place.offsetX) / place.scaleX));
  const wide = Math.max(0, last - first);
  const perByte = plot.height / (camera.y1 - camera.y0);
  const xs = Float64Array.from({ length: wide + 1 }, (_, i) => snap(first + i, place.scaleX, place.offsetX));
  const sums = new Float64Array(wide);
  const edge = (): Float64Array =>
    sums.map(
      (sum) => plot.height - Math.round(Math.min(Math.max((sum - camera.y0) * perByte, -2), plot.height + 2)),
    );
  let lower = edge();
  return grouped.areas.map((_, area) => {
    for (let i = 0; i < wide; i++) sums[i]! += grouped.bytes[(first + i) * grouped.areas.length + area]!;
    const shape = { xs, upper: edge(), lower };
    lower = shape.upper;
    return shape;
  });
}

const tiles = new Map<string, HTMLCanvasElement>();

function tileOf(pattern: number, ink: Rgb): HTMLCanvasElement {
  const key = `${pattern} ${ink.join(' ')}`;
  const known = tiles.get(key);
  if (known) return known;
  const tile = document.createElement('canvas');
  tile.width = tile.height = TILE;
  const context = tile.getContext('2d');
  if (context) context.fillStyle = css(ink, 0.75);
  for (let y = 0; y < TILE; y++)
    for (let x = 0; x < TILE; x++) if (inPattern(pattern, x, y)) context?.fillRect(x, y, 1, 1);
  tiles.set(key, tile);
  return tile;
}

export function drawAreaPatterns(context: CanvasRenderingContext2D, model: OverlayModel): void {
  const { picture, camera, plot, scale, areaInks, theme, stacked } = model;
  if (!theme.contrast || !picture?.grouped || !stacked) return;
  context.save();
  context.scale(1 / scale, 1 / scale);
  for (const [area, shape] of areaShapes(picture, picture.grouped, camera, plot).entries()) {
    const path = pathOf(shape);
    const fill = context.createPattern(
      tileOf(patternOf(area), areaInks[area] ?? inkOn(theme.background)),
      'repeat',
    );
    if (fill && patternOf(area) > 0) {
      context.fillStyle = fill;
      context.fill(path);
    }
    context.strokeStyle = css(theme.background);
    context.lineWidth = Math.max(1, Math.round(scale));
    context.stroke(topOf(shape, LEAST_OUTLINED * scale));
  }
  context.restore();
}

function pathOf({ xs, upper, lower }: AreaShape): Path2D {
  const path = new Path2D();
  for (let i = 0; i < upper.length; i++) {
    path.lineTo(xs[i]!, upper[i]!);
    path.lineTo(xs[i + 1]!, upper[i]!);
  }
  for (let i = lower.length - 1; i >= 0; i--) {
    path.lineTo(xs[i + 1]!, lower[i]!);
    path.lineTo(xs[i]!, lower[i]!);
  }
  path.closePath();
  return path;
}

/** The upper edge, where the area is high enough for more of it to be seen than its edge. */
function topOf({ xs, upper, lower }: AreaShape, least: number): Path2D {
  const path = new Path2D();
  let drawing = false;
  for (let i = 0; i < upper.length; i++) {
    if (lower[i]! - upper[i]! < least) {
      drawing = false;
      continue;
    }
    if (drawing) path.lineTo(xs[i]!, upper[i]!);
    else path.moveTo(xs[i]!, upper[i]!);
    path.lineTo(xs[i + 1]!, upper[i]!);
    drawing = true;
  }
  return path;
}

/** The same pattern as a CSS background, for a legend. */
export function swatchPattern(pattern: number, ink: Rgb): string {
  const line = css(ink);
  const stripes = (angle: number): string =>
    `repeating-linear-gradient(${angle}deg, ${line} 0 1px, transparent 1px 4px)`;
  switch (pattern) {
    case 1:
      return stripes(-45);
    case 2:
      return stripes(45);
    case 3:
      return `radial-gradient(${line} 1px, transparent 1.5px) 0 0 / 4px 4px`;
    case 4:
      return stripes(90);
    case 5:
      return stripes(0);
    default:
      return 'none';
  }
}
