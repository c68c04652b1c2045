/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// The packed geometry of one viewport, as `pyserver/memlens/views/trace/picture/packing.py` describes it.
//
// Decoding creates views of the buffer without copying, and checks everything that drawing relies on, so that drawing
// may index without checks.

import type { Area, GroupedBy } from './protocol.gen';

/** "MLG1", read as a little-endian number. */
export const GEOMETRY_MAGIC = 0x31474c4d;
export const HEADER_BYTES = 64;
export const RECT_BYTES = 12;
/** A rect's `band` with this bit has the number of merged allocations in the other 31. */
export const MERGED_BIT = 0x80000000;
/** The `category` of an allocation without one. */
export const NO_CATEGORY = 255;
/** The allocation of a band of reserved memory. */
export const NO_ALLOCATION = 0xffffffff;
/** The stack of a merged rect without a dominant one. */
export const NO_STACK = 0xffffffff;
/** Neither highlighted nor other allocations dominate a merged rect. */
export const HIGHLIGHTED_NEITHER = 2;

/** Bits of the header: which optional parts are at the end of the buffer. */
const HAS_HIGHLIGHTED = 1;
const HAS_GROUPS = 2;

export class GeometryError extends Error {
  override name = 'GeometryError';
}

/** The areas of a picture by group, from the bottom up. */
export interface Grouped {
  readonly by: GroupedBy;
  readonly areas: readonly Area[];
  /** By band: its area; of reserved memory 0. */
  readonly group: Uint8Array;
  /** By column, and within it by area: live bytes at the column's moment, and the number of allocations. */
  readonly bytes: Float64Array;
  readonly counts: Uint32Array;
}

export interface Geometry {
  readonly columns: number;
  readonly bands: number;
  readonly rects: number;
  /** The bounds that the columns and rows cover: axis units and bytes. */
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
  /** Bytes per unit of a rect's y. */
  readonly yQuantum: number;
  /** The picture is coarser than requested, to limit its size. */
  readonly coarser: boolean;

  /** By column: live bytes at the column's moment, that moment, the live count, and allocations too short to show. */
  readonly total: Float64Array;
  readonly moment: Uint32Array;
  readonly live: Uint32Array;
  readonly passed: Uint32Array;

  /** By band. */
  readonly size: Float64Array;
  readonly allocation: Uint32Array;
  readonly stack: Uint32Array;
  readonly category: Uint8Array;

  /** Six numbers per rect: x0, x1 (columns), y0, y1 (quanta above `y0`), then the two halves of `band`. */
  readonly edges: Uint16Array;
  /** Three numbers per rect; the third is `band`. */
  readonly words: Uint32Array;
  /** By rect: its stack and category; for a merged one the dominant ones, NO_STACK and NO_CATEGORY without any. */
  readonly rectStack: Uint32Array;
  readonly rectCategory: Uint8Array;

  /** By band, 1 if highlighted; by rect, which kind dominates a merged one, else HIGHLIGHTED_NEITHER. Null if not requested. */
  readonly highlighted: Uint8Array | null;
  readonly rectHighlighted: Uint8Array | null;

  /** Null for a picture in the order of time. Else a merged rect's `band` has its area + 1 (`mergedArea`). */
  readonly grouped: Grouped | null;
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** What an answer says of its groups beside the packed geometry. */
export interface AnsweredGroups {
  readonly by: GroupedBy;
  readonly areas: readonly Area[];
}

/** Decodes a packed viewport. Throws a GeometryError with the reason and the position. */
export function decodeGeometry(
  packed: ArrayBuffer | Uint8Array,
  groups: AnsweredGroups | null = null,
): Geometry {
  if (!LITTLE_ENDIAN) throw new GeometryError('This machine stores numbers big end first.');
  const buffer = aligned(packed);
  if (buffer.byteLength < HEADER_BYTES) {
    throw new GeometryError(`The picture ends within its header, after ${buffer.byteLength} bytes.`);
  }
  const head = new DataView(buffer, 0, HEADER_BYTES);
  const magic = head.getUint32(0, true);
  if (magic !== GEOMETRY_MAGIC) {
    throw new GeometryError(`The picture starts with 0x${magic.toString(16)} instead of "MLG1".`);
  }
  const columns = head.getUint32(4, true);
  const bands = head.getUint32(8, true);
  const rects = head.getUint32(12, true);

  const columnsEnd = toEight(HEADER_BYTES + 20 * columns);
  const bandsEnd = toEight(columnsEnd + 17 * bands);
  const rectsEnd = bandsEnd + RECT_BYTES * rects;
  const highlightedStart = rectsEnd + 5 * rects;
  const parts = head.getUint32(60, true);
  const hasHighlighted = (parts & HAS_HIGHLIGHTED) !== 0;
  const groupsStart = highlightedStart + (hasHighlighted ? bands + rects : 0);
  const isGrouped = (parts & HAS_GROUPS) !== 0;
  if (isGrouped !== (groups !== null)) throw new GeometryError('The picture is not grouped as requested.');
  const sumsStart = toEight(groupsStart + bands);
  if (isGrouped && buffer.byteLength < sumsStart + 8) {
    throw new GeometryError(`The picture ends before its groups, after ${buffer.byteLength} bytes.`);
  }
  const sums = isGrouped ? new Uint32Array(buffer, sumsStart, 2) : null;
  const [groupCount = 0, changes = 0] = sums ?? [];
  const end = sums ? sumsStart + 8 + 16 * changes : groupsStart;
  if (buffer.byteLength !== end) {
    throw new GeometryError(
      `The picture has ${buffer.byteLength} bytes, but ${columns} columns, ${bands} bands and ${rects} rects take ${end}.`,
    );
  }

  const moments = HEADER_BYTES + 8 * columns;
  const ids = columnsEnd + 8 * bands;
  const geometry: Geometry = {
    columns,
    bands,
    rects,
    x0: head.getFloat64(16, true),
    x1: head.getFloat64(24, true),
    y0: head.getFloat64(32, true),
    y1: head.getFloat64(40, true),
    yQuantum: head.getFloat64(48, true),
    coarser: head.getUint32(56, true) !== 0,
    total: new Float64Array(buffer, HEADER_BYTES, columns),
    moment: new Uint32Array(buffer, moments, columns),
    live: new Uint32Array(buffer, moments + 4 * columns, columns),
    passed: new Uint32Array(buffer, moments + 8 * columns, columns),
    size: new Float64Array(buffer, columnsEnd, bands),
    allocation: new Uint32Array(buffer, ids, bands),
    stack: new Uint32Array(buffer, ids + 4 * bands, bands),
    category: new Uint8Array(buffer, ids + 8 * bands, bands),
    edges: new Uint16Array(buffer, bandsEnd, 6 * rects),
    words: new Uint32Array(buffer, bandsEnd, 3 * rects),
    rectStack: new Uint32Array(buffer, rectsEnd, rects),
    rectCategory: new Uint8Array(buffer, rectsEnd + 4 * rects, rects),
    highlighted: hasHighlighted ? new Uint8Array(buffer, highlightedStart, bands) : null,
    rectHighlighted: hasHighlighted ? new Uint8Array(buffer, highlightedStart + bands, rects) : null,
    grouped: groups && {
      ...groups,
      group: new Uint8Array(buffer, groupsStart, bands),
      ...sumsOf(buffer, sumsStart + 8, changes, columns, groups.areas.length),
    },
  };
  if (groups && groupCount > Math.max(groups.areas.length, 1)) {
    throw new GeometryError(`The picture has ${groupCount} groups, but ${groups.areas.length} are named.`);
  }
  checkBounds(geometry);
  checkRects(geometry);
  return geometry;
}

/** The changes of what groups come to, written out for every column. */
function sumsOf(
  buffer: ArrayBuffer,
  start: number,
  changes: number,
  columns: number,
  groups: number,
): Pick<Grouped, 'bytes' | 'counts'> {
  const toBytes = new Float64Array(buffer, start, changes);
  const toCount = new Uint32Array(buffer, start + 8 * changes, changes);
  const columnOf = new Uint16Array(buffer, start + 12 * changes, changes);
  const groupOf = new Uint16Array(buffer, start + 14 * changes, changes);
  const bytes = new Float64Array(columns * groups);
  const counts = new Uint32Array(columns * groups);
  let change = 0;
  for (let column = 0; column < columns; column++) {
    const at = column * groups;
    if (column > 0) {
      bytes.copyWithin(at, at - groups, at);
      counts.copyWithin(at, at - groups, at);
    }
    for (; change < changes && columnOf[change]! <= column; change++) {
      const group = groupOf[change]!;
      if (columnOf[change]! < column || group >= groups) {
        throw new GeometryError(`Change ${change} of the picture's groups is out of order.`);
      }
      bytes[at + group] = toBytes[change]!;
      counts[at + group] = toCount[change]!;
    }
  }
  if (change < changes) throw new GeometryError(`The picture's groups change after its ${columns} columns.`);
  return { bytes, counts };
}

/** The area of a merged rect in a picture by group. */
export function mergedArea(band: number): number {
  return mergedCount(band) - 1;
}

/** The number of allocations that a rect's `band` merges, 0 if it is a single allocation. */
export function mergedCount(band: number): number {
  return band >= MERGED_BIT ? band - MERGED_BIT : 0;
}

function aligned(packed: ArrayBuffer | Uint8Array): ArrayBuffer {
  if (packed instanceof ArrayBuffer) return packed;
  // A view of a larger buffer may start at any offset, but typed arrays must be aligned.
  const copy = new ArrayBuffer(packed.byteLength);
  new Uint8Array(copy).set(packed);
  return copy;
}

function toEight(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}

function checkBounds(g: Geometry): void {
  if (g.columns === 0 || g.columns > 0xffff) {
    throw new GeometryError(`The picture has ${g.columns} columns.`);
  }
  const x = Number.isFinite(g.x0) && Number.isFinite(g.x1) && g.x1 > g.x0;
  const y = Number.isFinite(g.y0) && Number.isFinite(g.y1) && g.y1 >= g.y0;
  if (!x || !y) {
    throw new GeometryError(`The picture covers x ${g.x0} to ${g.x1} and y ${g.y0} to ${g.y1}.`);
  }
  if (!Number.isFinite(g.yQuantum) || g.yQuantum <= 0) {
    throw new GeometryError(`A row of the picture is ${g.yQuantum} bytes high.`);
  }
}

function checkRects(g: Geometry): void {
  const { edges, words, columns, bands } = g;
  const areas = g.grouped?.areas.length ?? 0;
  if (g.grouped?.group.some((area, band) => area >= areas && g.allocation[band] !== NO_ALLOCATION)) {
    throw new GeometryError('A band of the picture is of an area that it does not have.');
  }
  for (let rect = 0; rect < g.rects; rect++) {
    const at = 6 * rect;
    const x0 = edges[at]!;
    const x1 = edges[at + 1]!;
    if (x0 >= x1 || x1 > columns || edges[at + 2]! > edges[at + 3]!) {
      throw new GeometryError(`Rect ${rect} of the picture has no extent or leaves the ${columns} columns.`);
    }
    const band = words[3 * rect + 2]!;
    if (g.grouped && band >= MERGED_BIT && !(mergedArea(band) in g.grouped.areas)) {
      throw new GeometryError(`Rect ${rect} of the picture names area ${mergedArea(band)}.`);
    }
    if (band < MERGED_BIT && band >= bands) {
      throw new GeometryError(`Rect ${rect} of the picture names band ${band} of ${bands}.`);
    }
  }
}
