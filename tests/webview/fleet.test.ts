// A fleet's heat map: which rows stand where, in which order, and what they say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeatMap, HeatRow } from '../../extension/shared/protocol.gen';
import {
  cellWords,
  heatOf,
  highestColumn,
  inView,
  level,
  momentText,
  ordered,
  placeName,
  rowHeight,
  rowWords,
  summaryWords,
  LEVELS,
} from '../../webview/src/fleet/layout';

const MIB = 2 ** 20;

function row(snapshot: number, peak: number | null, more: Partial<HeatRow> = {}): HeatRow {
  return {
    ...{
      snapshot,
      name: `rank${snapshot}.pickle`,
      rank: snapshot,
      status: 'ok',
      problem: null,
      size_bytes: 1,
    },
    ...{ peak_bytes: peak, end_bytes: 0, from_median_bytes: 0, outlier: false, ooms: 0, steps: 0, ...more },
  };
}

const rows = [
  row(0, 3 * MIB),
  row(1, 5 * MIB, { outlier: true, ooms: 1, from_median_bytes: 2 * MIB }),
  row(2, null, { status: 'damaged', problem: 'It breaks off.', end_bytes: null }),
  row(3, 5 * MIB),
];
const values = [
  [1, 2, 3],
  [5, 4, Number.NaN],
  [Number.NaN, Number.NaN, Number.NaN],
  [4, 5, 4],
].flat();
const map: HeatMap = {
  ...{ place: '/job', unit: 'microseconds', x0: 0, x1: 3000, columns: 3, left_out: 0, median_bytes: 3 * MIB },
  ...{ outliers: 1, rows, highest_bytes: '' },
};
const heat = heatOf(map, Float32Array.from(values, (each) => each * MIB).buffer);

test('rows are ordered by peak, by when it was, or by name; those without a figure stand last', () => {
  assert.deepEqual(ordered(heat, 'name'), [0, 1, 2, 3]);
  assert.deepEqual(ordered(heat, 'peak'), [1, 3, 0, 2]);
  assert.deepEqual(ordered(heat, 'moment'), [1, 3, 0, 2]);
  assert.deepEqual(
    [0, 1, 2, 3].map((each) => highestColumn(heat, each)),
    [2, 0, null, 1],
  );
});

test('only the rows in view are drawn, and rows are as low as it takes and no lower than can be seen', () => {
  assert.deepEqual(inView(100, 205, 20, 10_000), [5, 16]);
  assert.deepEqual(inView(0, 500, 20, 4), [0, 4]);
  assert.deepEqual(inView(10_000, 500, 20, 4), [4, 4]);
  assert.equal(rowHeight('named', 10_000, 600), 20);
  assert.deepEqual(
    [4, 100, 10_000, 0].map((count) => rowHeight('all', count, 600)),
    [20, 6, 2, 20],
  );
});

test('colours go from nothing to the most of all', () => {
  assert.equal(heat.highest, 5 * MIB);
  assert.deepEqual(
    [0, heat.highest, 2 * heat.highest].map((each) => level(each, heat.highest)),
    [0, LEVELS - 1, LEVELS - 1],
  );
  assert.equal(level(0, 0), 0);
});

test('words for rows, places and moments', () => {
  assert.deepEqual(rowWords(rows[1] ?? row(1, 0)), [
    'peak 5 MiB, 2 MiB above the median: an outlier',
    '0 B at the end',
    '1 out-of-memory event',
  ]);
  assert.deepEqual(rowWords(rows[2] ?? row(1, 0)), ['damaged: It breaks off.']);
  assert.equal(cellWords(heat, 1, 1), 'at most 4 MiB live at 1 ms');
  assert.equal(cellWords(heat, 1, 2), 'nothing recorded at 2 ms');
  assert.equal(momentText({ ...heat, map: { ...map, unit: 'steps', x1: 3 } }, 2), 'step 2');
  const clock = { ...map, x0: 1_700_000_000_000_000, x1: 1_700_000_003_000_000 };
  assert.equal(momentText({ ...heat, map: clock }, 1), '2023-11-14 22:13:21 UTC');
  assert.equal(
    summaryWords(heat),
    '4 snapshots · median peak 3 MiB · 1 outlier · 1 out of memory · 1 not read',
  );
});

test('a place is called by its last part', () => {
  const names = ['/shared/job17', 's3://bucket/job17/', '/shared/job17/*.pickle'].map(placeName);
  assert.deepEqual(names, ['job17', 'job17', 'job17/*.pickle']);
});

test('a map of another size than its rows is refused', () => {
  assert.throws(() => heatOf(map, new ArrayBuffer(4)), /another size/);
});
