import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeGeometry, GeometryError } from '../../extension/shared/geometry';
import type { Area, GroupedBy } from '../../extension/shared/protocol.gen';
import { areaLabels } from '../../webview/src/timeline/render/area-labels';
import { fitText } from '../../webview/src/timeline/render/labels';
import { rasterise } from '../../webview/src/timeline/render/raster';
import { markStarts } from '../../webview/src/timeline/render/rects';
import type { Palette, PictureStyle } from '../../webview/src/canvas/palette';
import { areaOf, colourOfGroup, OTHER } from '../../webview/src/timeline/scene/areas';
import { extentOf } from '../../webview/src/canvas/camera';
import { fittedHeight } from '../../webview/src/timeline/scene/height';
import { hitTest } from '../../webview/src/timeline/scene/hit';
import { bytes } from '../../webview/src/base/format';
import { paintBands, type Highlight } from '../../webview/src/timeline/scene/paint';
import { pack } from '../../webview/src/canvas/colour';
import { placementOf } from '../../webview/src/timeline/scene/place';
import { withGroups, writeGeometry } from './support/geometry-writer';
import { plain } from './support/plain';

const BY: GroupedBy = { by: 'line', attribution: 'mine' };
const place = (file: string, line: number): Area['place'] => ({
  ...{ file, line, function: 'f', kind: 'user', source: 'recorded' },
});
const AREAS: Area[] = [
  {
    key: 1,
    name: plain('No stack'),
    detail: plain(''),
    place: null,
    filter: '',
    colour: 0,
    groups: 1,
    peak_bytes: 40,
  },
  {
    key: 8,
    name: plain('a.py:3'),
    detail: plain('f'),
    place: place('/a.py', 3),
    filter: '',
    colour: 1,
    groups: 1,
    peak_bytes: 30,
  },
  {
    key: OTHER,
    name: plain('Other'),
    detail: plain(''),
    place: null,
    filter: '',
    colour: OTHER,
    groups: 7,
    peak_bytes: 10,
  },
];

/** Two columns of 80 bytes' height: 40 without a stack, 30 of a line with a band of 20, 10 of others; then 10 less. */
const packed = (): ArrayBuffer =>
  withGroups(
    writeGeometry({
      ...{ x0: 0, x1: 2, y0: 0, y1: 100, yQuantum: 1 },
      columns: [
        { total: 80, moment: 1, live: 6, passed: 0 },
        { total: 70, moment: 2, live: 5, passed: 0 },
      ],
      bands: [{ size: 20, allocation: 5, stack: 9 }],
      rects: [
        { x0: 0, x1: 2, y0: 0, y1: 40, merged: 1 },
        { x0: 0, x1: 2, y0: 40, y1: 60, band: 0 },
        { x0: 0, x1: 1, y0: 60, y1: 70, merged: 2 },
        { x0: 0, x1: 1, y0: 70, y1: 80, merged: 3 },
        { x0: 1, x1: 2, y0: 60, y1: 70, merged: 3 },
      ],
    }),
    {
      bands: [1],
      groups: 3,
      changes: [
        { column: 0, group: 0, bytes: 40, count: 2 },
        { column: 0, group: 1, bytes: 30, count: 3 },
        { column: 0, group: 2, bytes: 10, count: 1 },
        { column: 1, group: 1, bytes: 20, count: 2 },
      ],
    },
  );

const palette: Palette = {
  ...{ by: 'stack', categories: [], categoryNames: [], patterns: false },
  stacks: [
    [9, 9, 200],
    [200, 0, 0],
  ],
  none: [90, 90, 90],
  noStack: [60, 60, 80],
  background: [0, 0, 0],
};
const style: PictureStyle = {
  ...{ background: [0, 0, 0], merged: [1, 1, 1], mergedInk: [2, 2, 2] },
  ...{ separator: [0, 0, 0], separatorShare: 0 },
};
const SIZE = { width: 20, height: 100 };
const CAMERA = { x0: 0, x1: 2, y0: 0, y1: 100 };

/** The pixels of a column from the bottom up, as words without alpha. */
function column(highlight: Highlight, x: number): number[] {
  const g = decodeGeometry(packed(), { by: BY, areas: AREAS });
  const pixels = new Uint32Array(SIZE.width * SIZE.height);
  const colours = paintBands(g, palette, highlight);
  rasterise({ pixels, size: SIZE }, { words: markStarts(g), colours }, placementOf(g, CAMERA, SIZE), style);
  return Array.from(
    { length: SIZE.height },
    (_, y) => (pixels[(SIZE.height - 1 - y) * SIZE.width + x] ?? 0) & 0xffffff,
  );
}

describe('a picture by group', () => {
  it('has what its groups come to in every column', () => {
    const g = decodeGeometry(packed(), { by: BY, areas: AREAS });
    assert.deepEqual([...(g.grouped?.bytes ?? [])], [40, 30, 10, 40, 20, 10]);
    assert.deepEqual([...(g.grouped?.counts ?? [])], [2, 3, 1, 2, 2, 1]);
    for (let at = 0; at < 2; at++) {
      const sum = [0, 1, 2].reduce((all, group) => all + (g.grouped?.bytes[3 * at + group] ?? 0), 0);
      assert.equal(sum, g.total[at]);
    }
  });

  it('refuses what is not as it says', () => {
    const refuse = (data: ArrayBuffer, areas: Area[] | null): void => {
      assert.throws(() => decodeGeometry(data, areas && { by: BY, areas }), GeometryError);
    };
    refuse(packed(), null);
    refuse(packed(), AREAS.slice(0, 2));
    refuse(packed().slice(0, -2), AREAS);
    const changed = (at: number, value: number): ArrayBuffer => {
      const data = packed();
      new DataView(data).setUint16(data.byteLength + at, value, true);
      return data;
    };
    refuse(changed(-8, 3), AREAS); // a group that there isn't
    refuse(changed(-10, 2), AREAS); // a column that there isn't
    refuse(changed(-16, 1), AREAS); // columns out of order
  });

  it('is drawn in the colours of its areas, without a hatch, as high as they are', () => {
    const noStack = pack(palette.noStack);
    const line = pack([200, 0, 0]);
    const other = pack(palette.none);
    const run = (word: number, length: number): number[] => new Array<number>(length).fill(word);
    assert.deepEqual(column({ kind: 'none' }, 3), [
      ...run(noStack, 40),
      ...run(line, 30),
      ...run(other, 10),
      ...run(0, 20),
    ]);
    assert.deepEqual(column({ kind: 'none' }, 13), [
      ...run(noStack, 40),
      ...run(line, 20),
      ...run(other, 10),
      ...run(0, 30),
    ]);
    const highlighted = column({ kind: 'area', key: 8 }, 3);
    assert.deepEqual(highlighted.slice(40, 70), run(line, 30));
    assert.ok(!highlighted.includes(noStack) && !highlighted.includes(other), 'all else is dimmed');
  });

  it('says which area lies under a pixel, and how many allocations that has', () => {
    const g = decodeGeometry(packed(), { by: BY, areas: AREAS });
    const at = (x: number, y: number) => hitTest(g, CAMERA, SIZE, x, SIZE.height - 1 - y);
    assert.deepEqual([at(3, 10)?.area, at(3, 10)?.merged], [0, 2]);
    assert.deepEqual([at(3, 50)?.area, at(3, 50)?.band], [1, 0]);
    assert.deepEqual([at(3, 65)?.area, at(3, 65)?.merged], [1, 3]);
    assert.equal(at(3, 90)?.rect, null);
  });

  it('names areas only where the name lies in them all along', () => {
    const g = decodeGeometry(packed(), { by: BY, areas: AREAS });
    const plot = { width: 800, height: 400 };
    assert.ok(g.grouped);
    const labels = areaLabels(g, g.grouped, CAMERA, plot, 1);
    assert.deepEqual(
      labels.map(({ area }) => area),
      [0, 1, 2],
    );
    for (const { area, y, height, x, width } of labels) {
      for (const px of [x + 1, x + width - 1]) {
        for (const py of [y + 1, y + height - 1]) assert.equal(hitTest(g, CAMERA, plot, px, py)?.area, area);
      }
    }
    const { areas, bytes: of } = g.grouped;
    const sizes = areas.map((_, area) => new Set(of.filter((_, i) => i % areas.length === area)));
    assert.ok(sizes.some(({ size }) => size === 1) && sizes.some(({ size }) => size > 1));
    for (const { area, texts } of labels) {
      const [size = 0, ...others] = sizes[area] ?? [];
      assert.equal(texts.length, others.length === 0 ? 2 : 1, 'the bytes of some moment aren’t those of all');
      if (others.length === 0) assert.ok(texts[0]?.endsWith(`  ${bytes(size)}`));
    }
    assert.deepEqual(areaLabels(g, g.grouped, { ...CAMERA, y1: 10_000 }, plot, 1), [], 'no room');
  });

  it('draws names as they are written, whatever reorders or hides letters', () => {
    const names = ['evil\u202egnp.exe  1 GiB', 'evil\u202egnp.exe'];
    const length = (text: string): number => text.length;
    assert.equal(fitText(names, 40, length), 'evil<U+202E>gnp.exe  1 GiB');
    assert.equal(fitText(names, 22, length), 'evil<U+202E>gnp.exe');
    assert.equal(fitText(names, 16, length), null);
  });

  it('gives rows of a table the colours of their areas', () => {
    const grouped = { by: BY, areas: AREAS };
    assert.deepEqual(colourOfGroup({ key: 8 }, grouped, palette), [200, 0, 0]);
    assert.deepEqual(colourOfGroup({ key: 1 }, grouped, palette), palette.noStack);
    assert.deepEqual(colourOfGroup({ key: 77 }, grouped, palette), palette.none);
  });

  it('finds the area of an allocation by its label', () => {
    const grouped = { by: BY, areas: AREAS };
    const allocation = { operator: null, stack: 1, before_trace: false, category: null, size_bytes: 4096 };
    const of = (label: Area['place']) => areaOf({ ...allocation, label }, grouped)?.key;
    assert.equal(of(place('/a.py', 3)), 8);
    assert.equal(of(place('/a.py', 4)), OTHER);
    assert.equal(areaOf({ ...allocation, label: null, before_trace: true }, grouped)?.key, 1);
    const size = { by: { ...BY, by: 'size' as const }, areas: [{ ...AREAS[1]!, key: 13 }] };
    assert.equal(areaOf({ ...allocation, label: null }, size)?.key, 13);
    assert.equal(areaOf({ ...allocation, label: null }, { by: { ...BY, by: 'module' }, areas: AREAS }), null);
  });

  it('is as high as what is in view', () => {
    const g = decodeGeometry(packed(), { by: BY, areas: AREAS });
    const extent = extentOf({ x0: 0, x1: 2 }, 1000, 'event');
    assert.equal(fittedHeight([g], { x0: 0, x1: 1 }, { ...extent, minHeight: 1 }), 80 * 1.08);
    assert.equal(fittedHeight([g], { x0: 1, x1: 2 }, { ...extent, minHeight: 1 }), 70 * 1.08);
    assert.equal(fittedHeight([], { x0: 1, x1: 2 }, extent), null);
  });
});
