import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeGeometry, GeometryError, mergedCount } from '../../extension/shared/geometry';
import { writeGeometry, type PictureParts } from './support/geometry-writer';

const PARTS: PictureParts = {
  x0: -2.5,
  x1: 1e12,
  y0: 1024,
  y1: 4096,
  yQuantum: 512,
  coarser: true,
  columns: [
    { total: 2 ** 40 + 0.5, moment: 7, live: 3, passed: 0 },
    { total: 1024, moment: 4_000_000_000, live: 1, passed: 12 },
    { total: 0, moment: 9, live: 0, passed: 0 },
  ],
  bands: [
    { size: 2 ** 41, allocation: 4_000_000_001, stack: 17, category: 2 },
    { size: 600, allocation: 5, stack: 18 },
  ],
  rects: [
    { x0: 0, x1: 2, y0: 0, y1: 6, band: 1 },
    { x0: 2, x1: 3, y0: 0, y1: 65535, merged: 123_456 },
  ],
};

/** The buffer with one number overwritten. */
function damaged(change: (view: DataView) => void): ArrayBuffer {
  const buffer = writeGeometry(PARTS);
  change(new DataView(buffer));
  return buffer;
}

/** 64 of header, 3 columns of 20 padded to 128, 2 bands of 17 padded to 168. */
const FIRST_RECT = 168;

describe('the packed geometry', () => {
  it('gives back what was written, at odd lengths and large numbers', () => {
    const g = decodeGeometry(writeGeometry(PARTS));
    assert.deepEqual([g.x0, g.x1, g.y0, g.y1, g.yQuantum, g.coarser], [-2.5, 1e12, 1024, 4096, 512, true]);
    assert.deepEqual([...g.total], [2 ** 40 + 0.5, 1024, 0]);
    assert.deepEqual([...g.moment], [7, 4_000_000_000, 9]);
    assert.deepEqual([...g.live, ...g.passed], [3, 1, 0, 0, 12, 0]);
    assert.deepEqual([...g.size], [2 ** 41, 600]);
    assert.deepEqual([...g.allocation, ...g.stack, ...g.category], [4_000_000_001, 5, 17, 18, 2, 255]);
    assert.deepEqual([...g.edges.slice(0, 4)], [0, 2, 0, 6]);
    assert.deepEqual([...g.edges.slice(6, 10)], [2, 3, 0, 65535]);
    assert.equal(mergedCount(g.words[2] ?? 0), 0);
    assert.equal(mergedCount(g.words[5] ?? 0), 123_456);
  });

  it('takes a view that starts anywhere in a larger buffer', () => {
    const packed = new Uint8Array(writeGeometry(PARTS));
    const larger = new Uint8Array(packed.length + 3);
    larger.set(packed, 3);
    assert.equal(decodeGeometry(larger.subarray(3)).bands, 2);
  });

  it('has room for nothing at all', () => {
    const g = decodeGeometry(writeGeometry({ ...PARTS, bands: [], rects: [] }));
    assert.deepEqual([g.columns, g.bands, g.rects], [3, 0, 0]);
  });

  const damages: [string, ArrayBuffer][] = [
    ['an empty buffer', new ArrayBuffer(0)],
    ['a header cut short', writeGeometry(PARTS).slice(0, 63)],
    ['a body cut short', writeGeometry(PARTS).slice(0, -1)],
    [
      'another magic',
      damaged((v) => {
        v.setUint32(0, 0x31474c4e, true);
      }),
    ],
    [
      'a length that overflows 32 bits',
      damaged((v) => {
        v.setUint32(12, 0xffffffff, true);
      }),
    ],
    ['no columns', writeGeometry({ ...PARTS, columns: [], rects: [] })],
    [
      'bounds that aren’t numbers',
      damaged((v) => {
        v.setFloat64(16, NaN, true);
      }),
    ],
    [
      'bounds the wrong way round',
      damaged((v) => {
        v.setFloat64(24, -3, true);
      }),
    ],
    [
      'rows without height',
      damaged((v) => {
        v.setFloat64(48, 0, true);
      }),
    ],
    [
      'a rect without width',
      damaged((v) => {
        v.setUint16(FIRST_RECT + 2, 0, true);
      }),
    ],
    [
      'a rect beyond the columns',
      damaged((v) => {
        v.setUint16(FIRST_RECT + 2, 4, true);
      }),
    ],
    [
      'a rect upside down',
      damaged((v) => {
        v.setUint16(FIRST_RECT + 4, 7, true);
      }),
    ],
    [
      'a band that is not there',
      damaged((v) => {
        v.setUint32(FIRST_RECT + 8, 2, true);
      }),
    ],
  ];
  for (const [what, buffer] of damages) {
    it(`refuses ${what} with a sentence`, () => {
      assert.throws(
        () => decodeGeometry(buffer),
        (error) => error instanceof GeometryError && error.message.endsWith('.'),
      );
    });
  }
});
