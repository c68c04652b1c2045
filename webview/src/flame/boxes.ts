/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// Finding boxes: the same one in a newer picture, its neighbours, and those that fill the view.

import { MORE, type FlameGeometry } from '../../../extension/shared/flame-geometry';
import type { FlameCamera } from './camera';

/** What something has before and after. */
export interface Change {
  readonly before: number;
  readonly after: number;
}

/** A box however the picture changes: a node, or the run of thin children of one that begins at `left`. */
export interface BoxKey {
  readonly node: number;
  readonly more: boolean;
  readonly left: number;
}

export interface BoxFacts extends BoxKey {
  readonly value: number;
  readonly depth: number;
  /** Number of its name; of several nodes: how many there are. */
  readonly name: number;
  readonly kind: number;
  readonly package: number;
  /** Of a comparison. */
  readonly change: Change | null;
}

export function factsOf(g: FlameGeometry, box: number): BoxFacts {
  return {
    node: g.node[box]!,
    more: (g.flags[box]! & MORE) !== 0,
    left: g.left[box]!,
    value: g.value[box]!,
    depth: g.row[box]! + g.firstDepth,
    name: g.name[box]!,
    kind: g.kind[box]!,
    package: g.package[box]!,
    change: g.sides && { before: g.sides.before[box]!, after: g.sides.after[box]! },
  };
}

export function findBox(g: FlameGeometry, { node, more, left }: BoxKey): number {
  for (let box = g.node.indexOf(node); box >= 0; box = g.node.indexOf(node, box + 1)) {
    if (((g.flags[box]! & MORE) !== 0) === more && (!more || g.left[box] === left)) return box;
  }
  return -1;
}

/** The box of the row before that holds a box; -1 for the first row's. */
export function parentBox(g: FlameGeometry, box: number): number {
  const row = g.row[box]!;
  if (row === 0) return -1;
  const middle = g.left[box]! + g.value[box]! / 2;
  for (let at = g.rowStart[row - 1]!; at < g.rowStart[row]!; at++) {
    if (g.left[at]! <= middle && middle < g.left[at]! + g.value[at]!) return at;
  }
  return -1;
}

/** The first box of the next row that lies within a box; -1 when there is none. */
export function childBox(g: FlameGeometry, box: number): number {
  const row = g.row[box]! + 1;
  if (row >= g.rows || (g.flags[box]! & MORE) !== 0) return -1;
  const end = g.left[box]! + g.value[box]!;
  for (let at = g.rowStart[row]!; at < g.rowStart[row + 1]!; at++) {
    if (g.left[at]! >= g.left[box]! && g.left[at]! < end) return at;
  }
  return -1;
}

/** The next box of the same row, of any parent; -1 at the row's end. */
export function besideBox(g: FlameGeometry, box: number, by: 1 | -1): number {
  const row = g.row[box]!;
  const next = box + by;
  return next >= g.rowStart[row]! && next < g.rowStart[row + 1]! ? next : -1;
}

/** The boxes that fill the whole width of the view, from the outermost on: where one has zoomed to. */
export function fillingBoxes(g: FlameGeometry, camera: FlameCamera): number[] {
  const found: number[] = [];
  const from = camera.x0 * g.total;
  const to = camera.x1 * g.total;
  // a zoom to a box ends at its edges, give or take what doubles round
  const slack = (to - from) * 1e-6;
  for (let row = 0; row < g.rows; row++) {
    let filling = -1;
    for (let box = g.rowStart[row]!; box < g.rowStart[row + 1]!; box++) {
      if (g.left[box]! <= from + slack && g.left[box]! + g.value[box]! >= to - slack) filling = box;
    }
    if (filling < 0) break;
    found.push(filling);
  }
  return found;
}
