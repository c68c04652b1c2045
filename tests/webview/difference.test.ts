// What a difference flame graph says of a box, and where its pixels say it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  BOX_BYTES,
  decodeFlame,
  FLAME_HEADER_BYTES,
  FLAME_MAGIC,
  type FlameGeometry,
} from '../../extension/shared/flame-geometry';
import { markBoxes, paintFlame } from '../../webview/src/flame/colours';
import {
  changeFigures,
  changeMark,
  changeSentence,
  changeText,
  countText,
  relativeChange,
  SIGNED,
  type Sided,
  sideText,
  turnOf,
} from '../../webview/src/flame/difference';
import { rasteriseFlame } from '../../webview/src/flame/raster';
import { restoreDifference } from '../../webview/src/compare/graph';
import type { SavedDifference } from '../../webview/src/base/saved';
import type { Theme } from '../../webview/src/canvas/theme';

const KIB = 1024;
const WHOLE = { before: 100 * KIB, after: 200 * KIB };
const GREW = { before: 10 * KIB, after: 30 * KIB };
const THEME = { kind: 'dark', background: [0, 0, 0], foreground: [255, 255, 255] } as unknown as Theme;

/** A row of boxes side by side, with what each has before and after. */
function packed(changes: readonly (readonly [number, number])[]): ArrayBuffer {
  const boxes = changes.length;
  const view = new DataView(new ArrayBuffer(FLAME_HEADER_BYTES + (BOX_BYTES + 19) * boxes));
  const total = changes.reduce((sum, [before, after]) => sum + before + after, 0);
  for (const [at, value] of [FLAME_MAGIC, 100, boxes, 2].entries()) view.setUint32(4 * at, value, true);
  view.setFloat64(24, total, true);
  view.setFloat64(32, total, true);
  view.setUint32(44, 1, true);
  let left = 0;
  changes.forEach(([before, after], box) => {
    const at = FLAME_HEADER_BYTES + BOX_BYTES * box;
    view.setFloat64(at, left, true);
    view.setFloat64(at + 8, before + after, true);
    view.setUint32(at + 16, box + 1, true);
    left += before + after;
    const sides = FLAME_HEADER_BYTES + BOX_BYTES * boxes + 8 * box;
    view.setFloat64(sides, before, true);
    view.setFloat64(sides + 8 * boxes, after, true);
  });
  return view.buffer;
}

describe('a change', () => {
  const SIDES: Sided = { whole: WHOLE, scale: 'normalised', before: 'Before', after: 'After' };

  it('is shown by shape and sign, as an amount or in points of the whole', () => {
    assert.equal(changeText(GREW, WHOLE, 'absolute'), '▲ +20 KiB');
    assert.equal(changeText(GREW, WHOLE, 'normalised'), '▲ +5.00 points');
    const fell = { before: 40 * KIB, after: 60 * KIB };
    assert.deepEqual([turnOf(fell, WHOLE, 'absolute'), turnOf(fell, WHOLE, 'normalised')], ['more', 'less']);
    assert.equal(changeText(fell, WHOLE, 'normalised'), '▼ −10.0 points');
    const kept = { before: 20 * KIB, after: 40 * KIB };
    assert.equal(changeText(kept, WHOLE, 'normalised'), '= 0 points');
    assert.equal(changeMark(kept, WHOLE, 'normalised'), '=');
    assert.equal(changeText({ before: 5, after: 5 }, WHOLE, 'absolute'), '= 0 B');
    assert.equal(sideText(GREW.before, WHOLE.before, 'normalised'), '10%');
    assert.equal(changeSentence(GREW, { ...SIDES, scale: 'absolute' }), '10 KiB → 30 KiB, ▲ +20 KiB');
    assert.equal(changeSentence(GREW, SIGNED), '+30 KiB −10 KiB, net ▲ +20 KiB');
    assert.deepEqual(changeFigures(GREW, SIDES), {
      large: '▲ +5.00 points',
      small: 'before 10 KiB (10%) · after 30 KiB (15%)',
    });
  });

  it('is as deep as its part of what the box has, to either side', () => {
    assert.equal(relativeChange({ before: 0, after: 5 }, WHOLE, 'absolute'), 1);
    assert.equal(relativeChange({ before: 5, after: 0 }, WHOLE, 'absolute'), -1);
    assert.equal(relativeChange({ before: 20 * KIB, after: 40 * KIB }, WHOLE, 'normalised'), 0);
    assert.equal(relativeChange({ before: 10, after: 20 }, WHOLE, 'absolute'), 0.5);
    // a difference of differences
    assert.equal(relativeChange({ before: -30, after: -50 }, WHOLE, 'absolute'), -0.4);
    assert.equal(relativeChange({ before: -5, after: 15 }, WHOLE, 'absolute'), 1);
    assert.equal(relativeChange({ before: 15, after: -5 }, WHOLE, 'absolute'), -1);
    // nothing at all on one side isn't a division by zero
    assert.equal(relativeChange({ before: 0, after: 5 }, { before: 0, after: 5 }, 'normalised'), 1);
  });
});

describe('the boxes of a difference', () => {
  const changes = [
    [10, 30],
    [40, 0],
    [10, 10],
  ] as const;
  const whole = { before: 60, after: 40 };

  it('come with what they have on each side', () => {
    const g = decodeFlame(packed(changes));
    assert.deepEqual([...(g.sides?.before ?? [])], [10, 40, 10]);
    assert.deepEqual([...(g.sides?.after ?? [])], [30, 0, 10]);
    assert.equal(g.coarser, false);
    assert.throws(() => decodeFlame(packed(changes).slice(0, -8)), /don't fit/);
  });

  it('have a line above for more, one below for less and none for the same, whatever their colour', () => {
    const g: FlameGeometry = decodeFlame(packed(changes));
    const compared = { whole, scale: 'absolute' } as const;
    const marks = markBoxes(g, compared);
    assert.deepEqual([...marks], [1, 2, 0]);
    assert.equal(new Set(paintFlame(g, compared, false, THEME)).size, 3);
    const plot = { width: 100, height: 18, rowHeight: 18, upwards: false };
    const pixels = new Uint32Array(plot.width * plot.height);
    const ink = { background: 0, more: 7, moreStripe: 7, mark: 9 };
    rasteriseFlame(pixels, g, {
      plot,
      camera: { x0: 0, x1: 1, top: 0 },
      colours: Uint32Array.of(1, 2, 3),
      ink,
      marks,
    });
    const column = (x: number): number[] =>
      Array.from({ length: plot.height }, (_, y) => pixels[y * plot.width + x] ?? -1);
    assert.deepEqual(column(5), [9, 9, ...Array<number>(15).fill(1), 0]);
    assert.deepEqual(column(50), [...Array<number>(15).fill(2), 9, 9, 0]);
    assert.deepEqual(column(90), [...Array<number>(17).fill(3), 0]);
  });
});

describe('how it was shown', () => {
  it('is believed as far as it is whole', () => {
    const first = { scale: 'absolute', width: 'both', flame: null };
    assert.deepEqual(restoreDifference(undefined), first);
    const saved = { scale: 'wide', width: 'after', flame: null } as unknown as SavedDifference;
    assert.deepEqual(restoreDifference(saved), { ...first, width: 'after' });
  });
});

describe('how many there are', () => {
  const sides = { before_bytes: 2 * KIB, before_count: 22, after_bytes: KIB, after_count: 8 };

  it('is the difference where there are two sides, with its sign', () => {
    assert.equal(countText(30, sides), '−14');
    assert.equal(countText(30, { ...sides, before_count: 8, after_count: 22 }), '+14');
    assert.equal(countText(16, { ...sides, before_count: 8 }), '0');
    assert.equal(countText(1234, null), '1,234');
  });
});
