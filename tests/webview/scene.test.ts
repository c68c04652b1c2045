// Properties of the camera, the fetch policy, the ticks and the colours, over many random cases.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  between,
  clampCamera,
  extentOf,
  fitAll,
  fromPixelX,
  panBy,
  toPixelX,
  zoomAt,
  type Camera,
  type Extent,
} from '../../webview/src/canvas/camera';
import {
  contrast,
  inkOn,
  oklch,
  parseColour,
  stackPalette,
  type ThemeKind,
} from '../../webview/src/canvas/colour';
import {
  covers,
  isUseful,
  needsPicture,
  NOTHING_ASKED,
  requestFor,
} from '../../webview/src/timeline/scene/fetch';
import { byteTicks, eventTicks, timeTicks } from '../../webview/src/canvas/ticks';
import { generator } from './support/training-run';

const CASES = 500;

function randomExtent(random: () => number): Extent {
  const axis = random() < 0.5 ? 'time' : 'event';
  const x0 = random() < 0.5 ? 0 : random() * 1e6;
  return extentOf({ x0, x1: x0 + 10 ** (random() * 12) }, 10 ** (random() * 12), axis);
}

function randomCamera(random: () => number, extent: Extent): Camera {
  const x = extent.x0 + random() * (extent.x1 - extent.x0);
  const y = random() * extent.top;
  return zoomAt(fitAll(extent), extent, { x, y }, 10 ** (-6 * random()), 10 ** (-3 * random()));
}

function within(camera: Camera, extent: Extent): boolean {
  const slack = 1e-9 * Math.max(Math.abs(extent.x1), 1);
  return (
    camera.x0 >= extent.x0 - slack &&
    camera.x1 <= extent.x1 + slack &&
    camera.y0 >= 0 &&
    camera.y1 <= extent.top * (1 + 1e-12) &&
    camera.x1 > camera.x0 &&
    camera.y1 > camera.y0
  );
}

describe('the camera', () => {
  it('never leaves the data, whatever is done to it', () => {
    const random = generator(1);
    for (let i = 0; i < CASES; i++) {
      const extent = randomExtent(random);
      let camera = fitAll(extent);
      for (let step = 0; step < 20; step++) {
        const at = { x: camera.x0 + random() * (camera.x1 - camera.x0), y: random() * extent.top };
        camera =
          random() < 0.5
            ? zoomAt(camera, extent, at, 10 ** (4 * random() - 3), 10 ** (2 * random() - 1))
            : panBy(camera, extent, random() * 4 - 2, random() * 4 - 2);
        assert.ok(within(camera, extent), JSON.stringify({ camera, extent }));
      }
      assert.deepEqual(clampCamera(camera, extent), camera, 'clamping twice changes nothing');
    }
  });

  it('zooms about the cursor: what is under it stays under it', () => {
    const random = generator(2);
    const plot = { width: 1733, height: 900 };
    let looked = 0;
    for (let i = 0; i < CASES; i++) {
      const extent = extentOf({ x0: 0, x1: 1e12 }, 1e11, 'time');
      const camera = randomCamera(random, extent);
      const px = random() * plot.width;
      const at = { x: fromPixelX(camera, plot, px), y: camera.y0 };
      const closer = zoomAt(camera, extent, at, 0.5, 1);
      if (closer.x1 - closer.x0 <= extent.minWidth * 2) continue;
      looked++;
      assert.ok(Math.abs(toPixelX(closer, plot, at.x) - px) < 0.5);
    }
    assert.ok(looked > CASES / 2, `${looked} cameras`);
  });

  it('keeps a microsecond apart at a trillion of them', () => {
    const extent = extentOf({ x0: 0, x1: 1e12 }, 1e9, 'time');
    const camera = clampCamera({ x0: 999_999_999_000, x1: 999_999_999_010, y0: 0, y1: 1e9 }, extent);
    const plot = { width: 1000, height: 100 };
    const apart = toPixelX(camera, plot, 999_999_999_004) - toPixelX(camera, plot, 999_999_999_003);
    assert.ok(Math.abs(apart - 100) < 0.1);
  });

  it('glides from where it is to where it goes', () => {
    const a = { x0: 0, x1: 1e9, y0: 0, y1: 10 };
    const b = { x0: 4e8, x1: 4e8 + 100, y0: 0, y1: 10 };
    assert.deepEqual(between(a, b, 0), a);
    assert.deepEqual(between(a, b, 1), b);
    const half = between(a, b, 0.5);
    assert.ok(Math.abs(Math.log10(half.x1 - half.x0) - 5.5) < 1e-6, 'spans shrink by equal factors');
  });
});

describe('the fetch policy', () => {
  it('asks for the view and some room, at a column and a row to a pixel', () => {
    const random = generator(3);
    for (let i = 0; i < CASES; i++) {
      const extent = randomExtent(random);
      const camera = randomCamera(random, extent);
      const plot = { width: 200 + Math.floor(random() * 3800), height: 100 + Math.floor(random() * 2000) };
      const asked = requestFor(camera, extent, plot, NOTHING_ASKED);
      assert.ok(covers(asked, camera, plot));
      assert.ok(asked.columns <= 4096 && asked.rows <= 8192 && asked.columns >= 1 && asked.rows >= 1);
      const perColumn = (asked.x1 - asked.x0) / asked.columns;
      assert.ok(Math.abs((perColumn / (camera.x1 - camera.x0)) * plot.width - 1) < 1e-6);
      assert.ok(!needsPicture(asked, camera, extent, plot, true), 'its own answer serves it');
    }
  });

  it('is content with a picture until the view leaves it or its scale is off by two', () => {
    const extent = extentOf({ x0: 0, x1: 1e6 }, 1e9, 'event');
    const plot = { width: 1000, height: 500 };
    const camera = { x0: 4e5, x1: 5e5, y0: 2e8, y1: 4e8 };
    const asked = requestFor(camera, extent, plot, NOTHING_ASKED);
    const moved = (dx: number): Camera => ({ ...camera, x0: camera.x0 + dx, x1: camera.x1 + dx });
    assert.ok(!needsPicture(asked, moved(4e4), extent, plot, false));
    assert.ok(needsPicture(asked, moved(6e4), extent, plot, false));
    const zoomed = (factor: number): Camera => zoomAt(camera, extent, { x: 4.5e5, y: 3e8 }, factor, 1);
    assert.ok(!needsPicture(asked, zoomed(0.6), extent, plot, false));
    assert.ok(needsPicture(asked, zoomed(0.6), extent, plot, true), 'but at rest it wants whole pixels');
    assert.ok(needsPicture(asked, zoomed(0.4), extent, plot, false));
    assert.ok(
      isUseful(asked, zoomed(0.4)) && !isUseful(asked, moved(4e5)) && !isUseful(asked, zoomed(0.001)),
    );
  });
});

describe('the ticks', () => {
  it('stand on round values in the view, neither crowded nor alone, with labels of their own', () => {
    const random = generator(4);
    for (let i = 0; i < CASES; i++) {
      const from = random() < 0.3 ? 0 : random() * 10 ** (random() * 12);
      const to = from + 10 ** (0.7 + random() * 11);
      const wanted = 4 + Math.floor(random() * 8);
      for (const made of [
        timeTicks(from, to, wanted),
        byteTicks(from, to, wanted),
        eventTicks(from, to, wanted),
      ]) {
        const { ticks } = made;
        const slack = (to - from) * 1e-6;
        assert.ok(ticks.length <= wanted + 1, `${ticks.length} ticks for ${wanted}`);
        assert.ok(ticks.every((tick) => tick.at >= from - slack && tick.at <= to + slack));
        assert.equal(
          new Set(ticks.map((tick) => tick.label)).size,
          ticks.length,
          JSON.stringify({ from, to, made }),
        );
      }
    }
  });

  it('reads as people write', () => {
    const labels = (made: { ticks: readonly { label: string }[] }): string[] =>
      made.ticks.map((t) => t.label);
    assert.deepEqual(
      labels(byteTicks(0, 1.2 * 2 ** 30, 5)),
      ['0', '0.25 GiB', '0.5 GiB', '0.75 GiB', '1 GiB'].map((l) =>
        l === '0' ? l : l.replace(/^(\S+)/, (n) => Number(n).toFixed(2)),
      ),
    );
    assert.deepEqual(labels(byteTicks(0, 5 * 2 ** 30, 5)), [
      '0',
      '1 GiB',
      '2 GiB',
      '3 GiB',
      '4 GiB',
      '5 GiB',
    ]);
    assert.deepEqual(labels(timeTicks(0, 2_500_000, 5)), ['0', '0.5 s', '1.0 s', '1.5 s', '2.0 s', '2.5 s']);
    assert.deepEqual(labels(timeTicks(0, 400, 4)), ['0', '100 µs', '200 µs', '300 µs', '400 µs']);
    const far = timeTicks(12_345_678_900, 12_345_678_940, 4);
    assert.ok(
      far.base?.endsWith(' +') && far.ticks.every((tick) => /^\+\d+ µs$/.test(tick.label)),
      JSON.stringify(far),
    );
  });
});

describe('the colours', () => {
  it('have an ink that can be read on each of them', () => {
    for (let red = 0; red < 256; red += 5)
      for (let green = 0; green < 256; green += 5)
        for (let blue = 0; blue < 256; blue += 5) {
          const colour = [red, green, blue] as const;
          assert.ok(contrast(inkOn(colour), colour) >= 4.5, String(colour));
        }
  });

  const themes: ThemeKind[] = ['light', 'dark', 'contrast-dark', 'contrast-light'];
  const lab = ([r, g, b]: readonly [number, number, number]): number[] => {
    const [x, y, z] = [r, g, b].map((v) => (v <= 10 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4)) as [
      number,
      number,
      number,
    ];
    const l = Math.cbrt(0.4122214708 * x + 0.5363325363 * y + 0.0514459929 * z);
    const m = Math.cbrt(0.2119034982 * x + 0.6806995451 * y + 0.1073969566 * z);
    const s = Math.cbrt(0.0883024619 * x + 0.2817188376 * y + 0.6299787005 * z);
    return [
      0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
      1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
      0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
    ];
  };

  for (const theme of themes) {
    it(`of stacks near each other differ to the eye (${theme})`, () => {
      const colours = stackPalette(theme).map(lab);
      for (let i = 0; i < colours.length; i++) {
        for (let near = 1; near <= 8; near++) {
          const [a, b] = [colours[i], colours[(i + near) % colours.length]];
          const distance = Math.hypot(...(a ?? []).map((v, k) => v - (b?.[k] ?? 0)));
          assert.ok(distance > 0.04, `stacks ${i} and ${i + near} are ${distance.toFixed(3)} apart`);
        }
      }
    });
  }

  it('are read from what themes write', () => {
    assert.deepEqual(parseColour('#1f1f1f'), [31, 31, 31]);
    assert.deepEqual(parseColour(' #FFF '), [255, 255, 255]);
    assert.deepEqual(parseColour('rgba(255, 0, 0, 0.5)', [0, 0, 255]), [128, 0, 128]);
    assert.deepEqual(parseColour('rgb(1 2 3 / 50%)', [1, 2, 3]), [1, 2, 3]);
    assert.deepEqual(parseColour('#ff000080', [0, 0, 0]), [128, 0, 0]);
    assert.equal(parseColour('transparent'), null);
    assert.deepEqual(oklch(1, 0, 0), [255, 255, 255]);
  });
});
