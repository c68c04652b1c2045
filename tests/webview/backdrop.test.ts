// What the picture is measured against, and the outlines of areas in high contrast.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeGeometry, type Geometry } from '../../extension/shared/geometry';
import type { Area, DeviceInfo, MomentAnswer } from '../../extension/shared/protocol.gen';
import { BackdropData } from '../../webview/src/timeline/backdrop-data';
import { momentName } from '../../webview/src/timeline/cursors';
import { legendMoment } from '../../webview/src/timeline/legend-moment';
import { areaShapes } from '../../webview/src/timeline/render/area-patterns';
import { patternOf } from '../../webview/src/timeline/scene/paint';
import {
  limitOf,
  mostOf,
  outlineOf,
  stepsInView,
  type Backdrop,
} from '../../webview/src/timeline/scene/backdrop';
import { ticksX } from '../../webview/src/timeline/render/overlay-model';
import { STEP_Y, stepLabels, type LabelBox } from '../../webview/src/timeline/render/backdrop';
import type { Curve } from '../../webview/src/canvas/marks';
import { extentOf, fitAll } from '../../webview/src/canvas/camera';
import { fittedHeight } from '../../webview/src/timeline/scene/height';
import { withGroups, writeGeometry } from './support/geometry-writer';
import { plain } from './support/plain';

const CURVE: Curve = { x0: 0, x1: 40, highest: Float64Array.of(10, 10, 30, 20) };
const PLOT = { width: 400, height: 100 };

describe('a curve over the picture', () => {
  it('has a corner only where its level changes, and none beside the view', () => {
    const all = { x0: 0, x1: 40, y0: 0, y1: 50 };
    assert.deepEqual(outlineOf(CURVE, all, PLOT), [0, 80, 200, 80, 200, 40, 300, 40, 300, 60, 400, 60]);
    const end = { ...all, x0: 30 };
    assert.deepEqual(outlineOf(CURVE, end, PLOT), [0, 60, 400, 60]);
    assert.deepEqual(outlineOf({ ...CURVE, highest: new Float64Array() }, all, PLOT), []);
  });

  it('says the most that it has in view', () => {
    assert.equal(mostOf(CURVE, { x0: -Infinity, x1: Infinity }), 30);
    assert.equal(mostOf(CURVE, { x0: 0, x1: 15 }), 10);
    assert.equal(mostOf({ ...CURVE, highest: new Float64Array(4) }, { x0: 0, x1: 40 }), null);
  });

  it('and what was free make the limit at which memory ran out', () => {
    const flag = (x: number, free: number | null) => ({ x, free, kind: 'oom', text: '' }) as const;
    assert.equal(limitOf([flag(25, 5), flag(39, 1)], CURVE), 35);
    assert.equal(limitOf([flag(25, null)], CURVE), null);
    assert.equal(limitOf([flag(25, 5)], null), null);
  });
});

describe('marks of steps', () => {
  const steps = Array.from({ length: 8 }, (_, i) => ({ x: 5 * i, text: `step ${i}` }));

  it('are thinned out evenly until they have room', () => {
    const texts = (least: number, view = { x0: 0, x1: 40, y0: 0, y1: 1 }): string[] =>
      stepsInView(steps, view, PLOT, least).map(({ text }) => text.slice(5));
    assert.deepEqual(texts(50), ['0', '1', '2', '3', '4', '5', '6', '7']);
    assert.deepEqual(texts(51), ['0', '2', '4', '6']);
    assert.deepEqual(texts(150), ['0', '4']);
    assert.deepEqual(texts(150, { x0: 12, x1: 22, y0: 0, y1: 1 }), ['3', '4']);
  });
});

describe('names of steps', () => {
  it('stand in one row above what is live, where the peak and other labels leave room', () => {
    const steps = [0, 60, 120, 180].map((x, n) => ({ x, text: `step ${n + 1}` }));
    const left = (taken: readonly LabelBox[], wide = 40): string[] =>
      stepLabels(steps, taken, () => wide).map(({ text }) => text.slice(5));
    assert.deepEqual(left([]), ['1', '2', '3', '4']);
    assert.deepEqual(left([{ x0: 130, x1: 150, y: STEP_Y + 3 }]), ['1', '2', '4']);
    // one that is lower takes no room of theirs
    assert.deepEqual(left([{ x0: 0, x1: 400, y: STEP_Y + 40 }]), ['1', '2', '3', '4']);
    assert.deepEqual(left([], 70), ['1', '3']);
    // the air above the highest memory is as high as the row in a picture of usual height
    const { y1 } = fitAll(extentOf({ x0: 0, x1: 1 }, 1000, 'event'));
    assert.ok(200 * (1 - 1000 / y1) > STEP_Y + 5);
  });
});

describe('the height of the picture', () => {
  it('has room for a capacity line that is a little above the peak', () => {
    const of = (capacity: number): number => fitAll(extentOf({ x0: 0, x1: 1 }, 1000, 'event', capacity)).y1;
    assert.deepEqual([0, 900, 1200, 1300, 1301].map(of), [1080, 1080, 1296, 1404, 1080]);
  });

  it('keeps that room where a part of the run comes near it', () => {
    const g = areas();
    const extent = { ...extentOf({ x0: 0, x1: 2 }, 100, 'event', 100), minHeight: 1 };
    assert.equal(fittedHeight([g], { x0: 0, x1: 1 }, extent), 108);
    assert.equal(fittedHeight([g], { x0: 1, x1: 2 }, extent), 40 * 1.08);
  });
});

describe('the moment of the legend', () => {
  it('is said as the tooltip and the table say it: the pointer’s time, or that of the picked moment', () => {
    const g = areas();
    const device = { events: 9, peak_moment: 2 } as DeviceInfo; // SAFETY: the fields that are asked for
    const all = { x0: 0, x1: 2, y0: 0, y1: 100 };
    const plot = { camera: all, bounds: { ...all, top: 100, minWidth: 1, minHeight: 1 } };
    const words = (looked: Parameters<typeof legendMoment>[4]): string | undefined =>
      legendMoment(plot, g, device, 'time', looked)?.words;
    assert.equal(words({ hovered: { column: 0, x: 0.8e6 }, picked: null }), 'At 800 ms');
    const picked = { moment: 1, time_us: 0.25 } as MomentAnswer; // SAFETY: as above
    assert.equal(words({ hovered: null, picked }), `At ${momentName(picked, 'time')}`);
    // the picked moment may be shown by the column before the one that it lies in
    const later = { ...picked, time_us: 1.25 };
    assert.equal(words({ hovered: null, picked: later }), `At ${momentName(later, 'time')}`);
    assert.equal(words({ hovered: { column: 1, x: 1.5 }, picked }), 'At the peak');
  });
});

describe('the axis of events', () => {
  it('has no ticks where there is only the event of the snapshot', () => {
    const labels = (events: number): string[] => {
      const camera = { x0: 0, x1: events + 1, y0: 0, y1: 1 };
      const device = { events } as DeviceInfo; // SAFETY: the field that is asked for
      return ticksX({ device, axis: 'event', camera, plot: PLOT, scale: 1 }).ticks.map(({ label }) => label);
    };
    assert.deepEqual([labels(0), labels(1)], [[], []]);
    assert.deepEqual(labels(2), ['0', '1', '2', '3']);
  });
});

describe('areas in high contrast', () => {
  it('have shapes that lie on each other, and neighbours have different patterns', () => {
    const g = areas();
    assert.ok(g.grouped);
    const shapes = areaShapes(g, g.grouped, { x0: 0, x1: 2, y0: 0, y1: 100 }, { width: 200, height: 100 });
    assert.deepEqual([...(shapes[0]?.xs ?? [])], [0, 100, 200]);
    const edges = shapes.map(({ upper, lower }) => [[...upper], [...lower]]);
    assert.deepEqual(edges, [
      [
        [50, 70],
        [100, 100],
      ],
      [
        [20, 60],
        [50, 70],
      ],
    ]);
    const patterns = Array.from({ length: 21 }, (_, area) => patternOf(area));
    assert.ok(patterns.every((pattern, area) => area === 0 || pattern !== patterns[area - 1]));
  });
});

describe('what is asked for it', () => {
  const base64 = (values: Float64Array): string => Buffer.from(values.buffer).toString('base64');
  const columns = 2;
  const answers: Record<string, unknown> = {
    'memlens/reserved': {
      ...{ x0: 0, x1: 10, columns, known: true, first: '', last: '' },
      bytes: base64(Float64Array.from({ length: 16 }, (_, i) => 100 - i)),
    },
    'memlens/steps': { inferred: true, rows: [{ name: plain('step 0'), start_us: null, from_moment: 3 }] },
    'memlens/overview': { x0: 0, x1: 10, columns, highest: base64(Float64Array.of(7, 8)) },
  };

  it('is asked once a device and axis; the whole only with a filter', async () => {
    const asked: string[] = [];
    let known: Backdrop | null = null;
    const request = (method: string) => {
      asked.push(method);
      return { answer: Promise.resolve(answers[method]), cancel: () => undefined };
    };
    // SAFETY: the answers are those of the methods that are asked
    const data = new BackdropData({ request } as never, (backdrop) => {
      known = backdrop;
    });
    const settled = () => new Promise((done) => setTimeout(done));
    const ask = async (filter: string, changed = false): Promise<Backdrop | null> => {
      data.ask(0, 'event', { x0: 0, x1: 10 }, filter, changed);
      await settled();
      return known;
    };
    assert.deepEqual(await ask(''), {
      reserved: { x0: 0, x1: 10, highest: Float64Array.of(100, 99) },
      whole: null,
      changed: false,
      steps: [{ x: 3, text: 'step 0' }],
      inferred: true,
    });
    assert.deepEqual((await ask('model.py'))?.whole, { x0: 0, x1: 10, highest: Float64Array.of(7, 8) });
    await ask('train.py');
    assert.deepEqual(asked, ['memlens/reserved', 'memlens/steps', 'memlens/overview']);
    assert.equal((await ask(''))?.whole, null);
    // with changes the whole is what was recorded
    const { changed, whole } = (await ask('halve:a', true)) ?? {};
    assert.deepEqual([changed, whole?.highest], [true, Float64Array.of(7, 8)]);
    assert.equal((await ask(''))?.changed, false);
  });
});

/** Two columns of two areas: 50 and 30 bytes, then 30 and 10. */
function areas(): Geometry {
  const named = (key: number): Area => ({
    ...{
      key,
      name: plain(`a.py:${key}`),
      detail: plain(''),
      place: null,
      filter: '',
      colour: key,
      groups: 1,
      peak_bytes: 1,
    },
  });
  const packed = writeGeometry({
    ...{ x0: 0, x1: 2, y0: 0, y1: 100, yQuantum: 1 },
    columns: [
      { total: 80, moment: 1, live: 2, passed: 0 },
      { total: 40, moment: 2, live: 2, passed: 0 },
    ],
    bands: [],
    rects: [
      { x0: 0, x1: 1, y0: 0, y1: 80, merged: 2 },
      { x0: 1, x1: 2, y0: 0, y1: 40, merged: 2 },
    ],
  });
  const changes = [
    { column: 0, group: 0, bytes: 50, count: 1 },
    { column: 0, group: 1, bytes: 30, count: 1 },
    { column: 1, group: 0, bytes: 30, count: 1 },
    { column: 1, group: 1, bytes: 10, count: 1 },
  ];
  const by = { by: 'line', attribution: 'mine' } as const;
  return decodeGeometry(withGroups(packed, { bands: [], groups: 2, changes }), {
    by,
    areas: [named(5), named(6)],
  });
}
