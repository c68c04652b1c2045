// Writes packed geometry, as the server does, so that the webview can be tried without one.

import {
  GEOMETRY_MAGIC,
  HEADER_BYTES,
  MERGED_BIT,
  NO_CATEGORY,
  NO_STACK,
  RECT_BYTES,
} from '../../../extension/shared/geometry';

export interface PictureParts {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  yQuantum: number;
  coarser?: boolean;
  columns: { total: number; moment: number; live: number; passed: number }[];
  bands: { size: number; allocation: number; stack: number; category?: number }[];
  /** `band` is a band's number, or `merged` says how many allocations the rect merges. */
  rects: {
    x0: number;
    x1: number;
    y0: number;
    y1: number;
    band?: number;
    merged?: number;
    /** What leads a merged rect. */
    stack?: number;
    category?: number;
  }[];
}

export function writeGeometry(parts: PictureParts): ArrayBuffer {
  const { columns, bands, rects } = parts;
  const columnsEnd = toEight(HEADER_BYTES + 20 * columns.length);
  const bandsEnd = toEight(columnsEnd + 17 * bands.length);
  const rectsEnd = bandsEnd + RECT_BYTES * rects.length;
  const buffer = new ArrayBuffer(rectsEnd + 5 * rects.length);
  const view = new DataView(buffer);
  [GEOMETRY_MAGIC, columns.length, bands.length, rects.length].forEach((n, i) => {
    view.setUint32(4 * i, n, true);
  });
  [parts.x0, parts.x1, parts.y0, parts.y1, parts.yQuantum].forEach((n, i) => {
    view.setFloat64(16 + 8 * i, n, true);
  });
  view.setUint32(56, parts.coarser === true ? 1 : 0, true);
  const moments = HEADER_BYTES + 8 * columns.length;
  columns.forEach((column, i) => {
    view.setFloat64(HEADER_BYTES + 8 * i, column.total, true);
    view.setUint32(moments + 4 * i, column.moment, true);
    view.setUint32(moments + 4 * (columns.length + i), column.live, true);
    view.setUint32(moments + 4 * (2 * columns.length + i), column.passed, true);
  });
  const ids = columnsEnd + 8 * bands.length;
  bands.forEach((band, i) => {
    view.setFloat64(columnsEnd + 8 * i, band.size, true);
    view.setUint32(ids + 4 * i, band.allocation, true);
    view.setUint32(ids + 4 * (bands.length + i), band.stack, true);
    view.setUint8(ids + 8 * bands.length + i, band.category ?? 255);
  });
  rects.forEach((rect, i) => {
    const at = bandsEnd + RECT_BYTES * i;
    [rect.x0, rect.x1, rect.y0, rect.y1].forEach((n, k) => {
      view.setUint16(at + 2 * k, n, true);
    });
    view.setUint32(at + 8, rect.merged === undefined ? (rect.band ?? 0) : MERGED_BIT + rect.merged, true);
    const band = rect.merged === undefined ? bands[rect.band ?? 0] : undefined;
    view.setUint32(rectsEnd + 4 * i, rect.stack ?? band?.stack ?? NO_STACK, true);
    view.setUint8(rectsEnd + 4 * rects.length + i, rect.category ?? band?.category ?? NO_CATEGORY);
  });
  return buffer;
}

export interface GroupParts {
  /** The group of each band. */
  bands: number[];
  groups: number;
  changes: { column: number; group: number; bytes: number; count: number }[];
}

/** The same picture with its groups. */
export function withGroups(packed: ArrayBuffer, { bands, groups, changes }: GroupParts): ArrayBuffer {
  const sums = toEight(packed.byteLength + bands.length);
  const buffer = new ArrayBuffer(sums + 8 + 16 * changes.length);
  new Uint8Array(buffer).set(new Uint8Array(packed));
  new Uint8Array(buffer).set(bands, packed.byteLength);
  const view = new DataView(buffer);
  view.setUint32(60, view.getUint32(60, true) | 2, true);
  view.setUint32(sums, groups, true);
  view.setUint32(sums + 4, changes.length, true);
  changes.forEach(({ column, group, bytes, count }, i) => {
    view.setFloat64(sums + 8 + 8 * i, bytes, true);
    view.setUint32(sums + 8 + 8 * changes.length + 4 * i, count, true);
    view.setUint16(sums + 8 + 12 * changes.length + 2 * i, column, true);
    view.setUint16(sums + 8 + 14 * changes.length + 2 * i, group, true);
  });
  return buffer;
}

function toEight(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
