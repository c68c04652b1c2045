/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// Where the boxes of a flame graph lie as rings around the one that fills the view.

import type { FlameGeometry } from '../../../extension/shared/flame-geometry';
import { fillingBoxes } from '../flame/boxes';
import type { FlameCamera } from '../flame/camera';
import { firstBeyond } from '../flame/raster';

export interface Rings {
  readonly centreX: number;
  readonly centreY: number;
  /** Of the disc in the middle. */
  readonly inner: number;
  readonly outer: number;
  /** What the disc shows; -1 when the view has nothing that fills it. */
  readonly centre: number;
  /** The depth of the innermost ring, and how many rings there are. */
  readonly first: number;
  readonly rings: number;
}

const MOST_RINGS = 9;
const INNER_SHARE = 0.2;
const MARGIN = 3;
const TURN = 2 * Math.PI;

export function ringsOf(g: FlameGeometry, camera: FlameCamera, width: number, height: number): Rings {
  const centre = g.firstDepth === 0 ? (fillingBoxes(g, camera).at(-1) ?? -1) : -1;
  const first =
    centre < 0 ? Math.max(Math.floor(camera.top), g.firstDepth) : g.row[centre]! + g.firstDepth + 1;
  const outer = Math.max(Math.min(width, height) / 2 - MARGIN, 1);
  return {
    centreX: width / 2,
    centreY: height / 2,
    inner: outer * INNER_SHARE,
    outer,
    centre,
    first,
    rings: Math.max(rowsInView(g, first - g.firstDepth, camera), 1),
  };
}

/** How many rows from one on have something in view, as far as there are rings for them. */
function rowsInView(g: FlameGeometry, from: number, camera: FlameCamera): number {
  let rows = 0;
  while (rows < MOST_RINGS && hasBoxInView(g, from + rows, camera)) rows++;
  return rows;
}

function hasBoxInView(g: FlameGeometry, row: number, { x0, x1 }: FlameCamera): boolean {
  if (row < 0 || row >= g.rows) return false;
  // what only touches an edge, but for the rounding, has no angle
  const slack = g.total * 1e-9;
  const box = firstBeyond(g, row, x0 * g.total + slack);
  return box < g.rowStart[row + 1]! && g.left[box]! < x1 * g.total - slack;
}

/** Where a value lies around the circle, clockwise from the top; what ends there and what begins there share it. */
export function angleOf(value: number, total: number, camera: FlameCamera): number {
  const at = (value / total - camera.x0) / (camera.x1 - camera.x0);
  return Math.min(Math.max(at, 0), 1) * TURN;
}

/** The inner edge of a ring, counted from the innermost. */
function radiusOf({ inner, outer, rings }: Rings, ring: number): number {
  return inner + ((outer - inner) * ring) / rings;
}

/** A part of a ring: angles clockwise from the top. */
export interface Arc {
  readonly from: number;
  readonly to: number;
  readonly inner: number;
  readonly outer: number;
}

/** Null for what isn't on any ring, or isn't in view. */
export function arcOf(g: FlameGeometry, box: number, rings: Rings, camera: FlameCamera): Arc | null {
  const ring = g.row[box]! + g.firstDepth - rings.first;
  if (ring < 0 || ring >= rings.rings) return null;
  const from = angleOf(g.left[box]!, g.total, camera);
  const to = angleOf(g.left[box]! + g.value[box]!, g.total, camera);
  if (to <= from) return null;
  return { from, to, inner: radiusOf(rings, ring), outer: radiusOf(rings, ring + 1) };
}

/** The boxes of all rings that are in view, each with its arc. */
export function* arcsOf(g: FlameGeometry, rings: Rings, camera: FlameCamera): Generator<[number, Arc]> {
  if (g.total <= 0) return;
  for (let ring = 0; ring < rings.rings; ring++) {
    const row = rings.first + ring - g.firstDepth;
    if (row < 0 || row >= g.rows) continue;
    for (let box = firstBeyond(g, row, camera.x0 * g.total); box < g.rowStart[row + 1]!; box++) {
      if (g.left[box]! >= camera.x1 * g.total) break;
      const arc = arcOf(g, box, rings, camera);
      if (arc) yield [box, arc];
    }
  }
}

/** The box at a point, or -1. */
export function ringBoxAt(g: FlameGeometry, rings: Rings, camera: FlameCamera, x: number, y: number): number {
  const [dx, dy] = [x - rings.centreX, y - rings.centreY];
  const radius = Math.hypot(dx, dy);
  if (radius < rings.inner) return rings.centre;
  if (radius >= rings.outer || g.total <= 0) return -1;
  const ring = Math.floor(((radius - rings.inner) / (rings.outer - rings.inner)) * rings.rings);
  const row = rings.first + ring - g.firstDepth;
  if (row < 0 || row >= g.rows) return -1;
  const turned = (Math.atan2(dx, -dy) + TURN) % TURN;
  const value = (camera.x0 + (turned / TURN) * (camera.x1 - camera.x0)) * g.total;
  const box = firstBeyond(g, row, value);
  return box < g.rowStart[row + 1]! && g.left[box]! <= value ? box : -1;
}
