/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// What lies under a pixel of the picture that is on the screen.

import { mergedArea, mergedCount, NO_ALLOCATION, type Geometry } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import { placementOf, snap } from './place';

export interface Hit {
  readonly column: number;
  /** Height under the pixel, in bytes. */
  readonly yBytes: number;
  readonly rect: number | null;
  /** The band, where the rect is a single allocation's. */
  readonly band: number | null;
  /** How many allocations the rect merges, else 0. */
  readonly merged: number;
  /** In a picture by group: the area. */
  readonly area: number | null;
}

/** `px`, `py`: the pixel, from the top left of the plot. Null where the picture has no column. */
export function hitTest(g: Geometry, camera: Camera, plot: PlotSize, px: number, py: number): Hit | null {
  const { scaleX, offsetX, scaleY, offsetY } = placementOf(g, camera, plot);
  const x = Math.floor(px);
  const y = plot.height - 1 - Math.floor(py);
  let column = Math.floor((x + 0.5 - offsetX) / scaleX);
  if (snap(column, scaleX, offsetX) > x) column--;
  if (!(column >= 0 && column < g.columns)) return null;
  const hit = { column, yBytes: Math.max(0, g.y0 + ((y + 0.5 - offsetY) / scaleY) * g.yQuantum) };
  // A pixel is the rect's that is drawn there, by the same rounding. To look at 20,000 rects takes less than a tenth of
  // a millisecond: an index would cost more than it saves. A later rect lies on top.
  const { edges, words } = g;
  for (let rect = g.rects - 1, at = 6 * rect; rect >= 0; rect--, at -= 6) {
    if (column < edges[at]! || column >= edges[at + 1]!) continue;
    if (snap(edges[at + 2]!, scaleY, offsetY) > y || snap(edges[at + 3]!, scaleY, offsetY) <= y) continue;
    const word = words[3 * rect + 2]!;
    const merged = mergedCount(word);
    if (merged === 0 && g.allocation[word] === NO_ALLOCATION) break;
    const { grouped } = g;
    if (merged === 0) return { ...hit, rect, band: word, merged, area: grouped?.group[word] ?? null };
    if (!grouped) return { ...hit, rect, band: null, merged, area: null };
    const area = mergedArea(word);
    const count = grouped.counts[hit.column * grouped.areas.length + area] ?? 0;
    return { ...hit, rect, band: null, merged: Math.max(count, 1), area };
  }
  return { ...hit, rect: null, band: null, merged: 0, area: null };
}

export interface PixelBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** The pixels that a rect is drawn on, from the top left of the plot. */
export function pixelBox(g: Geometry, camera: Camera, plot: PlotSize, rect: number): PixelBox {
  const place = placementOf(g, camera, plot);
  const at = 6 * rect;
  const left = snap(g.edges[at]!, place.scaleX, place.offsetX);
  const right = snap(g.edges[at + 1]!, place.scaleX, place.offsetX);
  const bottom = snap(g.edges[at + 2]!, place.scaleY, place.offsetY);
  const top = snap(g.edges[at + 3]!, place.scaleY, place.offsetY);
  return { x: left, y: plot.height - top, width: right - left, height: top - bottom };
}

/** The largest visible part of an allocation's band: one rect, cut to the plot. Null when none is visible. */
export function visibleBox(g: Geometry, camera: Camera, plot: PlotSize, allocation: number): PixelBox | null {
  const band = g.allocation.indexOf(allocation);
  if (band < 0) return null;
  let best: PixelBox | null = null;
  for (let rect = 0; rect < g.rects; rect++) {
    if (g.words[3 * rect + 2] !== band) continue;
    const box = cut(pixelBox(g, camera, plot, rect), plot);
    if (box && (!best || box.width * box.height > best.width * best.height)) best = box;
  }
  return best;
}

export function cut(box: PixelBox, plot: PlotSize): PixelBox | null {
  const x = Math.max(box.x, 0);
  const y = Math.max(box.y, 0);
  const width = Math.min(box.x + box.width, plot.width) - x;
  const height = Math.min(box.y + box.height, plot.height) - y;
  return width > 0 && height > 0 ? { x, y, width, height } : null;
}
