// The flame graph's pixels: what is drawn is what a hit finds, children fill their parent, and names fit their boxes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeFlame, MORE, type FlameGeometry } from '../../extension/shared/flame-geometry';
import {
  besideBox,
  childBox,
  fillingBoxes,
  findBox,
  parentBox,
  factsOf,
} from '../../webview/src/flame/boxes';
import { contrast, inkOn, type ThemeKind } from '../../webview/src/canvas/colour';
import type { Theme } from '../../webview/src/canvas/theme';
import { bounded, covers, panned, requestFor, WHOLE, zoomed } from '../../webview/src/flame/camera';
import { inkOf, paintFlame, unpack } from '../../webview/src/flame/colours';
import { boxAt, pixelOf, rasteriseFlame, rowTop, type FlamePlot } from '../../webview/src/flame/raster';
import { Fitter } from '../../webview/src/flame/text';
import { madeTree, writeFlame } from './support/flame-writer';
import { generator } from './support/training-run';

const INK = { background: 0, more: 1, moreStripe: 1, mark: 2 };
const PLOT: FlamePlot = { width: 397, height: 211, rowHeight: 18, upwards: false };

function randomGraph(seed: number): FlameGeometry {
  const total = 1e6;
  return decodeFlame(writeFlame(madeTree(generator(seed), 14, total), total));
}

/** Each box in a colour of its own: its number and 2. */
const numbered = (g: FlameGeometry): Uint32Array =>
  Uint32Array.from({ length: g.boxes }, (_, box) => box + 2);

function randomCamera(random: () => number): typeof WHOLE {
  const x0 = random() * 0.9;
  return { x0, x1: x0 + (1 - x0) * 10 ** (-3 * random()), top: Math.floor(random() * 5) };
}

describe('a flame graph', () => {
  it('shows at every pixel what a hit finds there, at any zoom, as icicle and as flame', () => {
    const random = generator(1);
    for (let i = 0; i < 16; i++) {
      const g = randomGraph(i);
      const plot = { ...PLOT, upwards: i % 2 === 1 };
      const camera = i < 2 ? WHOLE : randomCamera(random);
      const pixels = new Uint32Array(plot.width * plot.height);
      rasteriseFlame(pixels, g, { plot, camera, colours: numbered(g), ink: INK });
      for (let n = 0; n < 3000; n++) {
        const x = Math.floor(random() * plot.width);
        const y = Math.floor(random() * plot.height);
        const box = boxAt(g, camera, plot, x, y);
        const drawn = pixels[y * plot.width + x];
        // lines between boxes are part of them for the pointer
        if (drawn !== 0) assert.equal(drawn, box + 2, `at ${x}, ${y}`);
        else if (box >= 0) {
          const right = pixelOf((g.left[box] ?? 0) + (g.value[box] ?? 0), g.total, camera, plot.width);
          const top = rowTop(factsOf(g, box).depth, camera, plot);
          assert.ok(x === right - 1 || y === top + plot.rowHeight - 1, `a hole at ${x}, ${y}`);
        }
      }
    }
  });

  it('has children whose widths add up within their parent, wherever the camera is', () => {
    const random = generator(2);
    for (let i = 0; i < 40; i++) {
      const g = randomGraph(i);
      const camera = randomCamera(random);
      for (let row = 1; row < g.rows; row++) {
        let edge = -1;
        let end = -1;
        for (let box = g.rowStart[row] ?? 0; box < (g.rowStart[row + 1] ?? 0); box++) {
          const left = g.left[box] ?? 0;
          const x0 = pixelOf(left, g.total, camera, PLOT.width);
          const x1 = pixelOf(left + (g.value[box] ?? 0), g.total, camera, PLOT.width);
          if (left === end) assert.equal(x0, edge);
          else assert.ok(x0 >= edge);
          const parent = parentBox(g, box);
          assert.ok(parent >= 0);
          assert.ok(x0 >= pixelOf(g.left[parent] ?? 0, g.total, camera, PLOT.width));
          const parentEnd = (g.left[parent] ?? 0) + (g.value[parent] ?? 0);
          assert.ok(x1 <= pixelOf(parentEnd, g.total, camera, PLOT.width));
          edge = x1;
          end = left + (g.value[box] ?? 0);
        }
      }
    }
  });

  it('finds its way from box to box', () => {
    const g = decodeFlame(
      writeFlame(
        [
          { left: 0, value: 100, node: 0, name: 0xffffffff, row: 0 },
          { left: 0, value: 60, node: 1, name: 1, row: 1 },
          { left: 60, value: 30, node: 2, name: 2, row: 1 },
          { left: 90, value: 5, node: 0, name: 7, row: 1, flags: MORE },
          { left: 60, value: 20, node: 3, name: 3, row: 2 },
        ],
        100,
      ),
    );
    assert.equal(childBox(g, 0), 1);
    assert.equal(childBox(g, 1), -1);
    assert.equal(childBox(g, 2), 4);
    assert.equal(childBox(g, 3), -1);
    assert.equal(parentBox(g, 4), 2);
    assert.equal(parentBox(g, 0), -1);
    assert.equal(besideBox(g, 1, 1), 2);
    assert.equal(besideBox(g, 3, 1), -1);
    assert.equal(besideBox(g, 4, -1), -1);
    // the run of thin boxes has its parent's node, and is not its parent
    assert.equal(findBox(g, { node: 0, more: true, left: 90 }), 3);
    assert.equal(findBox(g, { node: 0, more: false, left: 0 }), 0);
    assert.equal(findBox(g, { node: 9, more: false, left: 0 }), -1);
    assert.deepEqual(fillingBoxes(g, { x0: 0.6, x1: 0.8, top: 0 }), [0, 2, 4]);
    assert.deepEqual(fillingBoxes(g, WHOLE), [0]);
  });

  it('refuses what isn’t a flame graph', () => {
    const good = writeFlame([{ left: 0, value: 1, node: 0, name: 0, row: 0 }], 1);
    const broken = (change: (view: DataView) => void): ArrayBuffer => {
      const copy = good.slice(0);
      change(new DataView(copy));
      return copy;
    };
    assert.equal(decodeFlame(good).boxes, 1);
    const wrong = [
      good.slice(0, 40),
      good.slice(0, good.byteLength - 1),
      broken((view) => {
        view.setUint32(0, 1, true);
      }),
      broken((view) => {
        view.setUint16(64 + 28, 9, true);
      }),
      broken((view) => {
        view.setFloat64(64 + 8, NaN, true);
      }),
    ];
    for (const each of wrong) assert.throws(() => decodeFlame(each), { name: 'GeometryError' });
  });
});

describe("a flame graph's camera", () => {
  it('zooms around the pointer and never leaves the whole', () => {
    const random = generator(3);
    let camera = WHOLE;
    for (let i = 0; i < 500; i++) {
      const at = random();
      const point = camera.x0 + at * (camera.x1 - camera.x0);
      const next = bounded(zoomed(camera, at, 10 ** (2 * random() - 0.9)), 10, 20);
      assert.ok(next.x0 >= 0 && next.x1 <= 1 && next.x0 < next.x1);
      const inside = next.x0 > 0 && next.x1 < 1;
      if (inside && next.x1 - next.x0 > 1e-9)
        assert.ok(Math.abs(next.x0 + at * (next.x1 - next.x0) - point) < 1e-9);
      camera = bounded(panned(next, random() - 0.5, 3 * random() - 1), 10, 20);
      assert.ok(camera.x0 >= 0 && camera.x1 <= 1 && camera.top >= 0 && camera.top <= 11);
      assert.ok(covers(requestFor(camera, 1000, 12), camera, 1000, 12), JSON.stringify(camera));
    }
  });
});

describe('a name on a box', () => {
  it('is as long as fits, and keeps its beginning and its end', () => {
    const fitter = new Fitter((text) => 7 * Array.from(text).length);
    assert.equal(fitter.fit('forward', 49), 'forward');
    const short = fitter.fit('_wrapped_call_impl', 70);
    assert.ok(
      7 * Array.from(short).length <= 70 && short.startsWith('_wrap') && short.endsWith('impl'),
      short,
    );
    assert.equal(fitter.fit('forward', 14), '');
    assert.equal(fitter.fit('go/parser.(*parser).parseStmt', 7 * 20), '(*parser).parseStmt');
    assert.equal(fitter.fit('go/parser.(*parser).parseStmt', 7 * 20, '▲ '), '▲ parseStmt');
  });
});

describe('the colours of boxes', () => {
  const BLACK = [0, 0, 0] as const;
  const WHITE = [255, 255, 255] as const;
  /** As VS Code's own themes have them: background and foreground. */
  const themes: Record<ThemeKind, readonly [Theme['background'], Theme['foreground']]> = {
    dark: [
      [31, 31, 31],
      [204, 204, 204],
    ],
    light: [WHITE, [59, 59, 59]],
    'contrast-dark': [BLACK, WHITE],
    'contrast-light': [WHITE, [41, 41, 41]],
  };

  for (const [kind, [background, foreground]] of Object.entries(themes))
    it(`stand out from the background, and names from them (${kind})`, () => {
      const theme = { kind, background, foreground, picture: { merged: background } } as unknown as Theme;
      const boxes = 4 * 16 * 40;
      const each = (of: (box: number) => number): number[] =>
        Array.from({ length: boxes }, (_, box) => of(box));
      const g = {
        ...{ boxes, total: boxes, value: each(() => 1), flags: each(() => 0), sides: null },
        ...{
          kind: each((box) => box % 4),
          name: each((box) => (box >> 2) % 16),
          package: each((box) => box >> 6),
        },
      } as unknown as FlameGeometry;
      for (const packed of [...new Set(paintFlame(g, 'package', false, theme)), inkOf(theme).moreStripe]) {
        const colour = unpack(packed);
        assert.ok(contrast(colour, background) >= 3, `${colour.join(' ')}: ${contrast(colour, background)}`);
        assert.ok(contrast(inkOn(colour), colour) >= 4.5);
      }
    });
});
