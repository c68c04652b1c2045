// Makes packed flame graphs for tests, as the server does: a tree laid out by plain arithmetic.

import { BOX_BYTES, FLAME_HEADER_BYTES, FLAME_MAGIC } from '../../../extension/shared/flame-geometry';

export interface MadeBox {
  left: number;
  value: number;
  node: number;
  name: number;
  row: number;
  flags?: number;
  kind?: number;
  package?: number;
}

/** `boxes` in the order of rows and from left to right. */
export function writeFlame(boxes: readonly MadeBox[], total: number, widthPx = 1000): ArrayBuffer {
  const buffer = new ArrayBuffer(FLAME_HEADER_BYTES + (BOX_BYTES + 3) * boxes.length);
  const view = new DataView(buffer);
  const rows = Math.max(0, ...boxes.slice(-1).map(({ row }) => row)) + 1;
  [FLAME_MAGIC, widthPx, boxes.length, 0].forEach((word, i) => {
    view.setUint32(4 * i, word, true);
  });
  view.setFloat64(24, total, true);
  view.setFloat64(32, total, true);
  view.setUint32(44, rows, true);
  view.setUint32(60, rows - 1, true);
  const packages = FLAME_HEADER_BYTES + BOX_BYTES * boxes.length;
  boxes.forEach((box, i) => {
    const at = FLAME_HEADER_BYTES + BOX_BYTES * i;
    view.setFloat64(at, box.left, true);
    view.setFloat64(at + 8, box.value, true);
    view.setUint32(at + 16, box.node, true);
    view.setUint32(at + 20, box.name, true);
    view.setUint16(at + 28, box.row, true);
    view.setUint8(at + 30, box.flags ?? 0);
    view.setUint16(packages + 2 * i, box.package ?? 0, true);
    view.setUint8(packages + 2 * boxes.length + i, box.kind ?? 0);
  });
  return buffer;
}

/** A random tree: each box is parted among children, with something left over at its right. */
export function madeTree(random: () => number, depth: number, total: number): MadeBox[] {
  let row: MadeBox[] = [{ left: 0, value: total, node: 0, name: 0xffffffff, row: 0 }];
  const all = [...row];
  for (let at = 1; at <= depth; at++) {
    const next: MadeBox[] = [];
    for (const parent of row) {
      let left = parent.left;
      const end = parent.left + parent.value * random();
      while (left < end && next.length < 3000) {
        const value = Math.max(1, Math.floor((end - left) * (0.2 + 0.8 * random())));
        next.push({ left, value, node: all.length + next.length, name: all.length + next.length, row: at });
        left += value;
      }
    }
    if (next.length === 0) break;
    all.push(...next);
    row = next;
  }
  return all;
}
