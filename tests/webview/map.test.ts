// The memory map's lanes and the allocator state's blocks: what stands where, in figures and words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MapLanesAnswer, SegmentState } from '../../extension/shared/protocol.gen';
import { NO_ALLOCATION, type Geometry } from '../../extension/shared/geometry';
import {
  activeNear,
  blockAt,
  decodeBlocks,
  isLeftOut,
  nextActive,
  stateOf,
} from '../../webview/src/timeline/scene/blocks';
import { hitTest, pixelBox } from '../../webview/src/timeline/scene/hit';
import { groupName, laneAt, laneTicks, laneWords, shownLanes } from '../../webview/src/timeline/scene/lanes';
import { plain } from './support/plain';

const LANES: MapLanesAnswer = {
  device: 0,
  top: 700,
  lane_count: 3,
  lanes: [
    { y: 0, size_bytes: 200, address: '0x7f0000000000', expandable: false },
    { y: 210, size_bytes: 100, address: '0x7f0000001000', expandable: false },
    { y: 400, size_bytes: 300, address: '0x7e0000000000', expandable: true },
  ],
  groups: [
    { y: 0, height: 310, stream: '0', pool: null, known: true, lane_count: 2 },
    { y: 400, height: 300, stream: '7', pool: '0, 1', known: true, lane_count: 1 },
  ],
};

test('a height is in a lane or in a gap', () => {
  assert.equal(laneAt(LANES.lanes, 0), LANES.lanes[0]);
  assert.equal(laneAt(LANES.lanes, 199), LANES.lanes[0]);
  for (const gap of [-1, 200, 310, 399, 700]) assert.equal(laneAt(LANES.lanes, gap), null);
  assert.equal(laneAt(LANES.lanes, 400), LANES.lanes[2]);
});

test('labels stand in the middle of what is seen of a lane, where there is room', () => {
  const all = laneTicks(LANES.lanes, { x0: 0, x1: 1, y0: 0, y1: 700 }, 700);
  assert.deepEqual(all.ticks, [
    { at: 100, label: '200 B' },
    { at: 260, label: '100 B' },
    { at: 550, label: '300 B' },
  ]);
  const close = laneTicks(LANES.lanes, { x0: 0, x1: 1, y0: 150, y1: 230 }, 80);
  assert.deepEqual(
    close.ticks.map(({ at }) => at),
    [175, 220],
  );
  assert.deepEqual(laneTicks(LANES.lanes, { x0: 0, x1: 1, y0: 0, y1: 70000 }, 700).ticks, []);
});

test('places are named by address, segment, pool and stream', () => {
  assert.deepEqual(laneWords(LANES, 410, false), [
    'No allocation here',
    '0x7e000000000a in an expandable segment of 300 B at 0x7e0000000000',
    'Private pool (0, 1) on stream 7',
  ]);
  assert.deepEqual(laneWords(LANES, 5, true), [
    '0x7f0000000005 in a segment of 200 B at 0x7f0000000000',
    'Default pool on stream 0',
  ]);
  assert.deepEqual(laneWords(LANES, 205, true), []);
  assert.match(
    shownLanes(LANES, { name: plain('Device 3') }),
    /Device 3: memory map, 3 lanes of segments, 1 group of private pools apart/,
  );
  const unknown = { ...LANES.groups[0]!, known: false };
  assert.equal(groupName(unknown), 'In no segment of the file');
  assert.match(
    shownLanes({ ...LANES, groups: [unknown] }, { name: plain('Pinned host memory') }),
    /names no segments/,
  );
});

const SEGMENT: SegmentState = {
  ...{ address: '0x100', size_bytes: 100, allocated_bytes: 40, active_bytes: 60, requested_bytes: 35 },
  ...{ largest_free_bytes: 30, pool_type: 'small', expandable: false, stream: '0', pool: null },
  ...{ reserved_at_moment: null, first_block: 1, block_count: 4, known: true },
};
const ROWS = [
  [0, 10, 10, 3, 1, 1, 2],
  [0, 30, 0, NO_ALLOCATION, NO_ALLOCATION, 0, 255],
  [30, 40, 35, 8, 2, 1, 0],
  [70, 10, 0, NO_ALLOCATION, NO_ALLOCATION, 0, 255],
  [80, 20, 20, 9, 2, 6, 1],
];

function packed(): { blocks: string; block_count: number } {
  const buffer = new ArrayBuffer(34 * ROWS.length);
  const view = new DataView(buffer);
  for (const [i, row] of ROWS.entries()) {
    for (const column of [0, 1, 2]) view.setFloat64(8 * (column * ROWS.length + i), row[column]!, true);
    for (const column of [0, 1]) {
      view.setUint32(24 * ROWS.length + 4 * (column * ROWS.length + i), row[3 + column]!, true);
    }
    view.setUint8(32 * ROWS.length + i, row[5]!);
    view.setUint8(33 * ROWS.length + i, row[6]!);
  }
  return { blocks: Buffer.from(buffer).toString('base64'), block_count: ROWS.length };
}

test('blocks are found by their place on a segment’s bar', () => {
  const blocks = decodeBlocks(packed());
  assert.deepEqual(Array.from(blocks.allocation), [3, NO_ALLOCATION, 8, NO_ALLOCATION, 9]);
  assert.deepEqual(Array.from(blocks.area), [2, 255, 0, 255, 1]);
  assert.equal(blockAt(blocks, SEGMENT, 0.1), 1);
  assert.equal(blockAt(blocks, SEGMENT, 0.3), 2);
  assert.equal(blockAt(blocks, SEGMENT, 1), null);
  assert.deepEqual([stateOf(blocks, 4), isLeftOut(blocks, 4)], [2, true]);
  assert.equal(activeNear(blocks, SEGMENT, 0.29, 0.02), 2);
  assert.equal(activeNear(blocks, SEGMENT, 0.1, 0.02), null);
  assert.equal(nextActive(blocks, SEGMENT, null, 1), 2);
  assert.equal(nextActive(blocks, SEGMENT, 2, 1), 4);
  assert.equal(nextActive(blocks, SEGMENT, 4, 1), null);
  assert.equal(nextActive(blocks, SEGMENT, null, -1), 4);
  assert.throws(() => decodeBlocks({ ...packed(), block_count: 4 }), /not whole/);
});

test('a hit takes the rect on top, and what is reserved isn’t an allocation', () => {
  const g = {
    ...{ columns: 4, bands: 2, rects: 2, x0: 0, x1: 4, y0: 0, y1: 4, yQuantum: 1 },
    allocation: Uint32Array.of(5, NO_ALLOCATION),
    edges: Uint16Array.of(0, 4, 0, 4, 1, 0, 1, 2, 1, 2, 0, 0),
    words: Uint32Array.of(0, 0, 1, 0, 0, 0),
  } as unknown as Geometry;
  const camera = { x0: 0, x1: 4, y0: 0, y1: 4 };
  const plot = { width: 4, height: 4 };
  assert.equal(hitTest(g, camera, plot, 1, 2)?.band, 0);
  const beside = hitTest(g, camera, plot, 3, 2);
  assert.deepEqual([beside?.rect, beside?.band, beside?.merged], [null, null, 0]);
  // of what begins and ends in the middle of a pixel the pixels answer that are drawn
  const low = { width: 4, height: 2 };
  const halves = { ...g, edges: Uint16Array.of(0, 0, 0, 0, 1, 0, 0, 4, 1, 3, 0, 0) };
  assert.deepEqual(pixelBox(halves, camera, low, 1), { x: 0, y: 0, width: 4, height: 1 });
  assert.deepEqual(
    [0, 1].map((y) => hitTest(halves, camera, low, 1, y)?.band ?? null),
    [0, null],
  );
});
