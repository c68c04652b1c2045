/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// The packed flame graph of one viewport, as `pyserver/memlens/views/flame/graph.py` describes it.
//
// As in geometry.ts, decoding checks everything that drawing relies on.

import { GeometryError } from './geometry';

/** "MLF1", read as a little-endian number. */
export const FLAME_MAGIC = 0x31464c4d;
export const FLAME_HEADER_BYTES = 64;
export const BOX_BYTES = 32;
/** Flags of a box. */
export const MORE = 1;
export const MATCHES = 2;
export const HOLDS_MATCH = 4;

export const KIND_USER = 0;
export const KIND_LIBRARY = 1;
export const KIND_NATIVE = 2;

export interface FlameGeometry {
  readonly boxes: number;
  readonly widthPx: number;
  /** More boxes are merged than requested, to limit the size. */
  readonly coarser: boolean;
  /** The covered range of values (0 to `total`) and of depths. */
  readonly x0: number;
  readonly x1: number;
  readonly total: number;
  readonly firstDepth: number;
  readonly rows: number;
  readonly deepest: number;
  /** The matches of a search: their value, counting each byte once, and the number of nodes. */
  readonly matched: number;
  readonly matching: number;

  /** By box, row by row and from left to right: its start on the axis of values, and its value. */
  readonly left: Float64Array;
  readonly value: Float64Array;
  readonly node: Uint32Array;
  /** The number of nodes of a merged box (`MORE`), whose `node` is their parent. */
  readonly name: Uint32Array;
  readonly row: Uint16Array;
  readonly flags: Uint8Array;
  readonly package: Uint16Array;
  readonly kind: Uint8Array;
  /** In a comparison: the values of each box on both sides; for a merged box the sums of its nodes. */
  readonly sides: { readonly before: Float64Array; readonly after: Float64Array } | null;
  /** The first box of each row, and after the last row the number of boxes. */
  readonly rowStart: Uint32Array;
}

/** Decodes a packed flame graph. Throws a GeometryError with the reason. */
export function decodeFlame(buffer: ArrayBuffer): FlameGeometry {
  if (buffer.byteLength < FLAME_HEADER_BYTES) {
    throw new GeometryError(`The flame graph ends within its header, after ${buffer.byteLength} bytes.`);
  }
  const view = new DataView(buffer);
  const magic = view.getUint32(0, true);
  if (magic !== FLAME_MAGIC) {
    throw new GeometryError(`The flame graph starts with 0x${magic.toString(16)} instead of "MLF1".`);
  }
  const boxes = view.getUint32(8, true);
  const bits = view.getUint32(12, true);
  const compared = (bits & 2) !== 0;
  const sides = FLAME_HEADER_BYTES + BOX_BYTES * boxes;
  const packages = sides + (compared ? 16 * boxes : 0);
  if (buffer.byteLength !== packages + 3 * boxes) {
    throw new GeometryError(
      `The flame graph has ${buffer.byteLength} bytes, which don't fit ${boxes} boxes.`,
    );
  }
  const rows = view.getUint32(44, true);
  const left = new Float64Array(boxes);
  const value = new Float64Array(boxes);
  const node = new Uint32Array(boxes);
  const name = new Uint32Array(boxes);
  const row = new Uint16Array(boxes);
  const flags = new Uint8Array(boxes);
  const rowStart = new Uint32Array(rows + 1);
  // Interleaved on the wire, in columns here: drawing reads a column at a time.
  const doubles = new Float64Array(buffer, FLAME_HEADER_BYTES, 4 * boxes);
  const words = new Uint32Array(buffer, FLAME_HEADER_BYTES, 8 * boxes);
  const bytes = new Uint8Array(buffer, FLAME_HEADER_BYTES, BOX_BYTES * boxes);
  let last = 0;
  for (let box = 0; box < boxes; box++) {
    left[box] = doubles[4 * box]!;
    value[box] = doubles[4 * box + 1]!;
    node[box] = words[8 * box + 4]!;
    name[box] = words[8 * box + 5]!;
    row[box] = bytes[BOX_BYTES * box + 28]! | (bytes[BOX_BYTES * box + 29]! << 8);
    flags[box] = bytes[BOX_BYTES * box + 30]!;
    if (row[box]! < last || row[box]! >= rows || !(value[box]! >= 0) || !Number.isFinite(left[box]!)) {
      throw new GeometryError(`Box ${box} of the flame graph is out of order.`);
    }
    while (last < row[box]!) rowStart[++last] = box;
  }
  while (last < rows) rowStart[++last] = boxes;
  return {
    boxes,
    widthPx: view.getUint32(4, true),
    coarser: (bits & 1) !== 0,
    x0: view.getFloat64(16, true),
    x1: view.getFloat64(24, true),
    total: view.getFloat64(32, true),
    firstDepth: view.getUint32(40, true),
    rows,
    deepest: view.getUint32(60, true),
    matched: view.getFloat64(48, true),
    matching: view.getUint32(56, true),
    left,
    value,
    node,
    name,
    row,
    flags,
    package: new Uint16Array(buffer, packages, boxes),
    kind: new Uint8Array(buffer, packages + 2 * boxes, boxes),
    sides: compared
      ? {
          before: new Float64Array(buffer, sides, boxes),
          after: new Float64Array(buffer, sides + 8 * boxes, boxes),
        }
      : null,
    rowStart,
  };
}
