/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// A flame graph's boxes as pixels. A row of boxes is made as one line of pixels, which is then copied for the height
// of the row; so a hundred thousand boxes cost no more than the pixels that they fill.

import { type FlameGeometry, MORE } from '../../../extension/shared/flame-geometry';
import type { FlameCamera } from './camera';

export interface FlamePlot {
  /** In device pixels. */
  readonly width: number;
  readonly height: number;
  readonly rowHeight: number;
  /** The root at the bottom (a flame) or at the top (an icicle). */
  readonly upwards: boolean;
}

export interface FlameInk {
  readonly background: number;
  /** Boxes of several nodes: stripes. */
  readonly more: number;
  readonly moreStripe: number;
  /** Lines along the edges of what is more or less. */
  readonly mark: number;
}

/** Boxes at least this wide, in device pixels, get a line at their right edge, so that neighbours can be distinguished. */
const SEPARATED_PX = 3;
const STRIPE_PX = 3;
/** Of a row's height, for the line that says more or less. */
const EDGE_SHARE = 0.11;

/** Where a value lies, in device pixels: rounded, so that what ends there and what begins there share the edge. */
export function pixelOf(value: number, total: number, camera: FlameCamera, width: number): number {
  const at = Math.floor(((value / total - camera.x0) / (camera.x1 - camera.x0)) * width + 0.5);
  return Math.min(Math.max(at, 0), width);
}

/** The upper edge of a depth's row in device pixels. */
export function rowTop(depth: number, camera: FlameCamera, plot: FlamePlot): number {
  const from = Math.round((depth - camera.top) * plot.rowHeight);
  return plot.upwards ? plot.height - from - plot.rowHeight : from;
}

/** The depths whose rows can be seen, at least in part. */
export function depthsSeen(camera: FlameCamera, plot: FlamePlot): [first: number, last: number] {
  return [Math.floor(camera.top), Math.ceil(camera.top + plot.height / plot.rowHeight)];
}

/** The first box of a row that reaches beyond `share` of the whole; the row's end when none does. */
export function firstBeyond(g: FlameGeometry, row: number, value: number): number {
  let low = g.rowStart[row]!;
  let high = g.rowStart[row + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (g.left[middle]! + g.value[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

interface FlameLook {
  readonly plot: FlamePlot;
  readonly camera: FlameCamera;
  /** One per box. */
  readonly colours: Uint32Array;
  readonly ink: FlameInk;
  /** By box: 1 for a line along the upper edge, 2 for one along the lower. */
  readonly marks?: Uint8Array | null;
}

/** Fills `pixels` (width times height) with the boxes that the camera sees. */
export function rasteriseFlame(
  pixels: Uint32Array,
  g: FlameGeometry,
  { plot, camera, colours, ink, marks = null }: FlameLook,
): void {
  const { width, height, rowHeight } = plot;
  pixels.fill(ink.background);
  if (g.total <= 0) return;
  const line = new Uint32Array(width);
  const edges = marks && { upper: new Uint32Array(width), lower: new Uint32Array(width) };
  const edgePx = Math.max(Math.round(rowHeight * EDGE_SHARE), 1);
  const [first, last] = depthsSeen(camera, plot);
  for (let depth = Math.max(first, g.firstDepth); depth < Math.min(last, g.firstDepth + g.rows); depth++) {
    const row = depth - g.firstDepth;
    const end = g.rowStart[row + 1]!;
    let box = firstBeyond(g, row, camera.x0 * g.total);
    if (box === end) continue;
    line.fill(ink.background);
    const marked: [from: number, to: number, mark: number][] = [];
    for (; box < end; box++) {
      const x0 = pixelOf(g.left[box]!, g.total, camera, width);
      if (x0 >= width) break;
      const x1 = pixelOf(g.left[box]! + g.value[box]!, g.total, camera, width);
      if (x1 <= x0) continue;
      if ((g.flags[box]! & MORE) === 0) line.fill(colours[box]!, x0, x1);
      else
        for (let x = x0; x < x1; x++) line[x] = x % (2 * STRIPE_PX) < STRIPE_PX ? ink.more : ink.moreStripe;
      if (x1 - x0 >= SEPARATED_PX) line[x1 - 1] = ink.background;
      if (marks?.[box]) marked.push([x0, x1 - x0 >= SEPARATED_PX ? x1 - 1 : x1, marks[box]!]);
    }
    edges?.upper.set(line);
    edges?.lower.set(line);
    for (const [from, end, mark] of marked)
      (mark === 1 ? edges?.upper : edges?.lower)?.fill(ink.mark, from, end);
    const top = rowTop(depth, camera, plot);
    // the last line of a row stays empty: it parts the rows
    const to = Math.min(top + rowHeight - 1, height);
    for (let y = Math.max(top, 0); y < to; y++) {
      const below = top + rowHeight - 1 - y;
      const edge = y - top < edgePx ? edges?.upper : below <= edgePx ? edges?.lower : undefined;
      pixels.set(edge ?? line, y * width);
    }
  }
}

/** The box at a point in device pixels, or -1. */
export function boxAt(g: FlameGeometry, camera: FlameCamera, plot: FlamePlot, x: number, y: number): number {
  if (g.total <= 0 || x < 0 || x >= plot.width) return -1;
  const from = plot.upwards ? plot.height - 1 - y : y;
  const row = Math.floor(camera.top + from / plot.rowHeight) - g.firstDepth;
  if (row < 0 || row >= g.rows) return -1;
  const end = g.rowStart[row + 1]!;
  // rounding may put an edge a pixel before or after its value
  const near = (camera.x0 + ((Math.floor(x) - 1) / plot.width) * (camera.x1 - camera.x0)) * g.total;
  for (let box = firstBeyond(g, row, near); box < end; box++) {
    const x0 = pixelOf(g.left[box]!, g.total, camera, plot.width);
    if (x0 > x) return -1;
    if (pixelOf(g.left[box]! + g.value[box]!, g.total, camera, plot.width) > x) return box;
  }
  return -1;
}
