// Reserved memory's columns, the gap in words, and the marks on the axis: plain logic of the two views.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Gap, Mark, TimelineInfo } from '../../extension/shared/protocol.gen';
import { flagText, markName, markX } from '../../webview/src/timeline/flags';
import { gapParts, gapSentence } from '../../webview/src/timeline/gap';
import {
  columnAt,
  momentIn,
  shownKinds,
  unpackReserved,
  type ReservedColumns,
} from '../../webview/src/timeline/pictures/reserved-data';
import { restoreState } from '../../webview/src/timeline/state';
import { plain } from './support/plain';

const base64 = (values: Float64Array | Uint32Array): string =>
  Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');

const GAP: Gap = {
  reserved_bytes: 100,
  active_bytes: 70,
  allocated_bytes: 60,
  requested_bytes: 50,
  rounding_bytes: 10,
  pending_bytes: 10,
  inactive_split_bytes: 30,
  expandable_free_bytes: 0,
  wholly_free_bytes: 0,
  outside_bytes: 0,
};

describe('reserved memory', () => {
  const packed = Float64Array.from({ length: 8 * 3 }, (_, i) => i);
  const answer = {
    ...{ x0: 10, x1: 40, columns: 3, known: true, peak_reserved_bytes: 2, peak_reserved_moment: 5 },
    bytes: base64(packed),
    first: base64(Uint32Array.of(1, 4, 8)),
    last: base64(Uint32Array.of(3, 7, 9)),
  };

  test('is unpacked kind by kind, the most before the least', () => {
    const kindsIn = ({ kinds }: ReservedColumns): unknown[] =>
      kinds.map(({ kind, highest, lowest }) => [kind, ...highest, ...lowest]);
    const four = [
      ['reserved', 0, 1, 2, 3, 4, 5],
      ['active', 6, 7, 8, 9, 10, 11],
      ['allocated', 12, 13, 14, 15, 16, 17],
      ['requested', 18, 19, 20, 21, 22, 23],
    ];
    assert.deepEqual(kindsIn(unpackReserved(answer, '')), four);
    const filtered = { ...answer, bytes: base64(Float64Array.from({ length: 10 * 3 }, (_, i) => i)) };
    assert.deepEqual(kindsIn(unpackReserved(filtered, 'size>1')), [
      ...four,
      ['fitting', 24, 25, 26, 27, 28, 29],
    ]);
    assert.throws(() => unpackReserved({ ...answer, columns: 4 }, ''));
    assert.throws(() => unpackReserved(answer, 'size>1'));
  });

  test('has a column and a moment at every place, its ends included', () => {
    const data = unpackReserved(answer, '');
    assert.deepEqual(
      [-5, 10, 19.9, 20, 39, 40, 99].map((x) => columnAt(data, x)),
      [0, 0, 0, 1, 2, 2, 2],
    );
    assert.equal(momentIn(data, 25), 7);
  });

  test('is shown in parts that add up, without those that are nothing', () => {
    const parts = gapParts(GAP);
    assert.deepEqual(
      parts.map(({ name }) => name),
      ['Requested', 'Rounding', 'Pending free', 'Inactive in split segments'],
    );
    assert.equal(
      parts.reduce((sum, part) => sum + part.bytes, 0),
      GAP.reserved_bytes,
    );
    assert.equal(
      gapSentence(GAP),
      'Reserved 100 B: 50 B requested, 10 B rounding, 10 B pending free, 30 B inactive in split segments.',
    );
    const nothing = { ...GAP, reserved_bytes: 0, requested_bytes: 0, rounding_bytes: 0 };
    assert.equal(
      gapSentence({ ...nothing, pending_bytes: 0, inactive_split_bytes: 0 }),
      'Reserved 0 B: 0 B requested.',
    );
  });

  test('is not named where the file has no segments', () => {
    assert.deepEqual(shownKinds('size>1', false), ['active', 'allocated', 'requested', 'fitting']);
    assert.deepEqual(shownKinds('', true), ['reserved', 'active', 'allocated', 'requested']);
    const outside = { ...GAP, reserved_bytes: 70, outside_bytes: 70, inactive_split_bytes: 0 };
    assert.equal(
      gapSentence(outside, false),
      'Active 70 B: 50 B requested, 10 B rounding, 10 B pending free. What was reserved is not in the file.',
    );
  });
});

describe('marks', () => {
  const mark: Mark = {
    ...{ kind: 'oom', device: 1, event: 7, moment: 8, x_time_us: 2_000_000 },
    ...{ size_bytes: 60 * 2 ** 20, device_free_bytes: 0 },
  };

  test('stand at their moment, or at their time', () => {
    assert.equal(markX(mark, 'time'), 2_000_000);
    assert.equal(markX(mark, 'event'), 8);
    assert.equal(markX({ ...mark, x_time_us: null }, 'time'), 8);
  });

  const DEVICES = [
    { device: 65_536, name: plain('Pinned host memory') },
    { device: 1, name: plain('Device 1') },
  ];

  test('say what they are, and the device only where there are several', () => {
    assert.equal(flagText(mark), 'Out of memory: 60 MiB');
    assert.equal(flagText({ ...mark, kind: 'snapshot' }), 'Snapshot taken');
    assert.equal(markName({ ...mark, device: 65_536 }, DEVICES), 'Pinned host memory, 2 s: 60 MiB');
    assert.equal(markName(mark, DEVICES), 'Device 1, 2 s: 60 MiB');
    assert.equal(markName({ ...mark, x_time_us: null }, DEVICES.slice(1)), 'event 8: 60 MiB');
  });
});

describe('a snapshot that ran out of memory', () => {
  const device = {
    ...{
      name: plain('Device 0'),
      device: 0,
      events: 5,
      allocations: 1,
      peak_bytes: 9,
      peak_moment: 2,
      peak_time_us: null,
    },
    ...{ live_at_start_bytes: 0, live_at_end_bytes: 9, live_at_end_count: 1, reserved_at_end_bytes: 9 },
    ...{ ooms: 1, event_axis: { x0: 0, x1: 6 }, time_axis: null, time_origin_us: null },
  };
  const info: TimelineInfo = {
    ...{ kind: 'pytorch-snapshot', model: 'timeline', path: '/x', file_bytes: 1 },
    ...{ devices: [device], default_device: 0, categories: [], mixed_stacks: false, warnings: [] },
  };

  test('opens with what is in memory, unless it was left otherwise', () => {
    const first = restoreState(info, null);
    assert.equal(first.pane, 'liveSet');
    assert.equal(restoreState(info, { ...first, pane: null }).pane, null);
    assert.equal(restoreState(info, { ...first, pane: 'oom' }).pane, 'oom');
  });
});
