// Pixels: what the software renderer draws, what a hit finds there, and that the two agree at any scale.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeGeometry, type Geometry } from '../../extension/shared/geometry';
import { rasterise } from '../../webview/src/timeline/render/raster';
import { markStarts } from '../../webview/src/timeline/render/rects';
import type { Palette, PictureStyle } from '../../webview/src/canvas/palette';
import { fitAll, zoomAt, type Camera, type PlotSize } from '../../webview/src/canvas/camera';
import { hitTest, visibleBox } from '../../webview/src/timeline/scene/hit';
import { isHighlighted, paintBands } from '../../webview/src/timeline/scene/paint';
import { pack } from '../../webview/src/canvas/colour';
import { placementOf, snap } from '../../webview/src/timeline/scene/place';
import { deviceExtent } from '../../webview/src/timeline/state';
import { FakeServer } from './support/fake-server';
import { writeGeometry } from './support/geometry-writer';
import { generator, trainingRun } from './support/training-run';

const server = new FakeServer(trainingRun(3, 2));
const [device] = server.info.devices;
assert.ok(device);
const extent = deviceExtent(device, 'event');
const PLOT: PlotSize = { width: 311, height: 207 };
const STYLE: PictureStyle = {
  background: [0, 0, 0],
  merged: [1, 1, 1],
  mergedInk: [1, 1, 1],
  separator: [0, 0, 0],
  separatorShare: 0, // no lines: a band is one colour
};
const OPAQUE = 0xff000000;

function picture(camera: Camera, columns: number, rows: number): Geometry {
  return decodeGeometry(server.viewport({ device: 0, axis: 'event', ...camera, columns, rows }));
}

/** Draws with each band's number as its colour, so that every pixel says whose it is. */
function draw(g: Geometry, camera: Camera): Uint32Array {
  const pixels = new Uint32Array(PLOT.width * PLOT.height);
  const colours = Uint32Array.from({ length: g.bands }, (_, band) => pack([2, band >> 8, band & 0xff]));
  rasterise({ pixels, size: PLOT }, { words: markStarts(g), colours }, placementOf(g, camera, PLOT), STYLE);
  return pixels;
}

describe('drawing', () => {
  it('shows at every pixel what a hit finds there, at any zoom of an older picture', () => {
    const random = generator(5);
    for (let i = 0; i < 12; i++) {
      const whole = fitAll(extent);
      const g = picture(whole, 250, 180);
      const at = { x: extent.x0 + random() * (extent.x1 - extent.x0), y: random() * extent.top };
      const camera = zoomAt(whole, extent, at, 10 ** (-1.5 * random()), 10 ** -random());
      const pixels = draw(g, camera);
      for (let n = 0; n < 4000; n++) {
        const x = Math.floor(random() * PLOT.width);
        const y = Math.floor(random() * PLOT.height);
        const { rect = null, band = null } = hitTest(g, camera, PLOT, x, y) ?? {};
        const drawn = pixels[y * PLOT.width + x];
        const colour = band === null ? pack(STYLE.merged) : pack([2, band >> 8, band & 0xff]);
        const found = rect === null ? 0 : (colour | OPAQUE) >>> 0;
        assert.equal(drawn, found, `at ${x}, ${y}`);
      }
    }
  });

  it('leaves no hole and no overlap in a column: its height is the rounded sum', () => {
    const random = generator(6);
    const whole = fitAll(extent);
    for (let i = 0; i < 6; i++) {
      const g = picture(whole, 311, 100 + Math.floor(random() * 200));
      const pixels = draw(g, whole);
      for (let x = 0; x < PLOT.width; x++) {
        let height = 0;
        while (height < PLOT.height && pixels[(PLOT.height - 1 - height) * PLOT.width + x] !== 0) height++;
        for (let y = height; y < PLOT.height; y++) {
          assert.equal(pixels[(PLOT.height - 1 - y) * PLOT.width + x], 0, `a hole in column ${x}`);
        }
        const exact = ((g.total[x] ?? 0) / extent.top) * PLOT.height;
        const rowsPerPixel = (PLOT.height * g.yQuantum) / extent.top;
        assert.ok(
          Math.abs(height - exact) <= 0.5 + 0.5 * rowsPerPixel + 1e-6,
          `column ${x}: ${height} for ${exact}`,
        );
      }
    }
  });

  it('returns where a band is, cut to what is visible', () => {
    const whole = fitAll(extent);
    const g = picture(whole, PLOT.width, PLOT.height);
    const pixels = draw(g, whole);
    let looked = 0;
    for (const [band, allocation] of g.allocation.entries()) {
      const box = visibleBox(g, whole, PLOT, allocation);
      if (!box) continue;
      looked++;
      const colour = (pack([2, band >> 8, band & 0xff]) | OPAQUE) >>> 0;
      for (const [x, y] of [
        [box.x, box.y],
        [box.x + box.width - 1, box.y + box.height - 1],
      ] as const) {
        assert.equal(pixels[y * PLOT.width + x], colour);
      }
    }
    assert.ok(looked > 100, `${looked} bands`);
    assert.equal(visibleBox(g, whole, PLOT, 1e9), null);
  });

  it('highlights the stacks that are asked for and dims the others', () => {
    const g = picture(fitAll(extent), 200, 200);
    const palette: Palette = {
      by: 'stack',
      stacks: [
        [200, 0, 0],
        [0, 200, 0],
      ],
      categories: [],
      categoryNames: [],
      noStack: [8, 8, 8],
      none: [9, 9, 9],
      background: [0, 0, 0],
      patterns: false,
    };
    const highlighted = g.stack[0] ?? 0;
    const highlight = { kind: 'stacks', stacks: new Set([highlighted]) } as const;
    const words = paintBands(g, palette, highlight);
    for (const [band, stack] of g.stack.entries()) {
      assert.equal(isHighlighted(g, band, highlight), stack === highlighted);
      const brightest = Math.max((words[band] ?? 0) & 0xff, ((words[band] ?? 0) >> 8) & 0xff);
      assert.equal(brightest, stack === highlighted ? 200 : 56);
    }
  });

  it('puts an edge between two pixels at the same one in every drawing', () => {
    const size = { width: 994, height: 236 };
    const [top, rim] = [90421751.52000001, 48];
    const bounds = { x0: 0, x1: 1, y0: 0, columns: 994, yQuantum: top / (4 * size.height) };
    const plain = placementOf(bounds, { x0: 0, x1: 1, y0: 0, y1: top }, size);
    const spare = (rim * top) / size.height;
    const wide = { x0: 0, x1: 1, y0: -spare, y1: top + spare };
    const rimmed = placementOf(bounds, wide, { ...size, height: size.height + 2 * rim });
    for (let edge = 0; edge <= 4 * size.height; edge++) {
      const at = snap(edge, plain.scaleY, plain.offsetY);
      assert.equal(at, Math.floor((edge + 2) / 4));
      assert.equal(snap(edge, rimmed.scaleY, rimmed.offsetY) - rim, at);
      // as the shader computes
      assert.equal(snap(edge, Math.fround(plain.scaleY), Math.fround(plain.offsetY)), at);
    }
  });

  it('draws a merged band in its leader’s colour under the hatch, and neutral where none leads', () => {
    const column = { total: 300, moment: 0, live: 60, passed: 0 };
    const merged = { x0: 0, x1: 1, merged: 20 };
    const g = decodeGeometry(
      writeGeometry({
        ...{ x0: 0, x1: 1, y0: 0, y1: 300, yQuantum: 100 },
        columns: [column],
        bands: [],
        rects: [
          { ...merged, y0: 0, y1: 1 },
          { ...merged, y0: 1, y1: 2, stack: 5, category: 1 },
          { ...merged, y0: 2, y1: 3, stack: 4, category: 0 },
        ],
      }),
    );
    const stacks: Palette['stacks'] = [
      [200, 0, 0],
      [0, 200, 0],
    ];
    const palette: Palette = {
      ...{ by: 'stack', stacks, categories: [[0, 0, 200]], none: [9, 9, 9], background: [0, 0, 0] },
      ...{ categoryNames: ['unknown'], noStack: [8, 8, 8] },
      patterns: false,
    };
    const style: PictureStyle = { ...STYLE, merged: [1, 1, 1], mergedInk: [2, 2, 2] };
    const size = { width: 40, height: 30 };
    const shown = (by: Palette['by'], highlight: Parameters<typeof paintBands>[2]): number[][] => {
      const pixels = new Uint32Array(size.width * size.height);
      const camera = { x0: 0, x1: 1, y0: 0, y1: 300 };
      const colours = paintBands(g, { ...palette, by }, highlight);
      rasterise(
        { pixels, size: size },
        { words: markStarts(g), colours },
        placementOf(g, camera, size),
        style,
      );
      // The colours in the middle of each third, the lowest first: the tone and the hatch.
      return [25, 15, 5].map((y) =>
        [...new Set(pixels.slice(y * size.width, (y + 1) * size.width))].map((word) => word & 0xffffff),
      );
    };
    const neutral = [pack([1, 1, 1]), pack([2, 2, 2])];
    const [none, green, red] = shown('stack', { kind: 'none' });
    assert.deepEqual(new Set(none), new Set(neutral));
    assert.deepEqual(new Set(green), new Set([pack([0, 200, 0]), pack([1, 1, 1])]));
    assert.deepEqual(new Set(red), new Set([pack([200, 0, 0]), pack([1, 1, 1])]));
    const [, unnamed, blue] = shown('category', { kind: 'none' });
    assert.deepEqual(new Set(unnamed), new Set(neutral), 'a category that there is not');
    assert.deepEqual(new Set(blue), new Set([pack([0, 0, 200]), pack([1, 1, 1])]));
    const [, highlighted, dim] = shown('stack', { kind: 'stacks', stacks: new Set([5]) });
    assert.ok(highlighted?.includes(pack([0, 200, 0])));
    assert.ok(dim?.includes(pack([56, 0, 0])));
  });
});
