// A comparison's settings, sets, words, and what is where on its axis.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CompareState, OtherSnapshot } from '../../extension/shared/messages';
import type {
  ComparedRow,
  DeviceInfo,
  ProfileValue,
  SnapshotInfo,
} from '../../extension/shared/protocol.gen';
import type { Api } from '../../webview/src/api';
import {
  Compare,
  restoreCompare,
  sameValue,
  signed,
  type OwnProfile,
  type OwnTimeline,
} from '../../webview/src/compare/comparison';
import { marksOf, waterfallOf } from '../../webview/src/compare/table';
import {
  columnAt,
  curvesOf,
  heightsAt,
  stepAt,
  within,
  type Height,
} from '../../webview/src/timeline/pictures/compare-scene';
import { plain } from './support/plain';

const device = (number: number, events: number): DeviceInfo =>
  ({ device: number, name: plain(`Device ${number}`), events, peak_bytes: 5 }) as unknown as DeviceInfo;
const info = (...devices: DeviceInfo[]): SnapshotInfo =>
  ({ model: 'timeline', devices, default_device: devices[0]?.device ?? 0 }) as unknown as SnapshotInfo;
const opened = (uri: string, devices: DeviceInfo[], more = {}): OtherSnapshot => ({
  ...{
    is: 'open',
    uri,
    name: 'b.pickle',
    file: 'b.pickle',
    info: info(...devices),
    itself: false,
    older: false,
    orderedBy: 'modified',
  },
  ...more,
});

function compared(
  restored: CompareState | null = null,
  shown = device(0, 100),
): { compare: Compare; asked: unknown[] } {
  const asked: unknown[] = [];
  const api = {
    request: (method: string, params: { moments: number[] }) => {
      asked.push([method, params]);
      const moments = params.moments.map((moment) => moment * 2);
      const answer = Promise.resolve({ moments, inferred_steps: true });
      return { answer, cancel: () => undefined };
    },
  } as unknown as Api;
  const own: OwnTimeline = {
    ...{ model: 'timeline', device: shown, axis: 'event' },
    info: info(shown) as OwnTimeline['info'],
  };
  return { compare: new Compare(api, 'a.pickle', restored, own), asked };
}

describe('a comparison', () => {
  const own = device(1, 100);
  const set = {
    device: 1,
    kind: 'live',
    from_moment: null,
    to_moment: null,
    filter: 'x',
    value: null,
  } as const;

  it('begins with the same device, the older file before', () => {
    const { compare } = compared(null, own);
    compare.receive(opened('u', [device(0, 50), device(1, 60)], { older: true }));
    assert.equal(compare.open?.device.device, 1);
    assert.deepEqual(compare.names, { before: 'b.pickle · Device 1', after: 'a.pickle' });
    compare.receive(opened('u', [device(3, 50)]));
    assert.equal(compare.settings.otherFirst, true, 'the same file again keeps its settings');
    compare.receive(opened('v', [device(3, 50)]));
    assert.equal(compare.open.device.device, 3);
    assert.deepEqual(compare.names, { before: 'a.pickle', after: 'b.pickle' });
    compare.receive(opened('w', [own], { itself: true }));
    assert.equal(compare.settings.theirs, 'end', 'beside itself, the peak against the end');
    compare.receive(null);
    assert.equal(compare.state, null);
  });

  it('comes back as it was kept, and believes nothing that is not whole', () => {
    const { compare } = compared();
    compare.receive(opened('u', [device(0, 50)]));
    compare.set({ by: 'stack', offset: 3, byStep: true, otherFirst: true });
    const kept = compare.state;
    const again = compared(restoreCompare(kept)).compare;
    assert.deepEqual(again.state, kept, 'kept on while it is opened');
    again.receive({ is: 'opening', uri: 'u', name: 'b', stage: '', fraction: null });
    assert.deepEqual(again.state, kept);
    again.receive(opened('u', [device(0, 50)]));
    assert.deepEqual(again.state, kept);
    assert.equal(restoreCompare({ ...kept, device: 'x' } as unknown as CompareState), null);
    const mended = restoreCompare({ ...kept, by: 'nothing', offset: NaN } as unknown as CompareState);
    assert.deepEqual([mended?.by, mended?.offset], ['line', 0]);
  });

  it('says which sets are meant on both sides', async () => {
    const { compare, asked } = compared(null, own);
    compare.receive(opened('u', [device(0, 50)]));
    const there = { ...set, device: 0 };
    assert.deepEqual((await compare.sets(set).answer).sets, { of: set, other_of: there });
    compare.set({ theirs: 'end' });
    const end = { ...there, from_moment: 50 };
    assert.deepEqual((await compare.sets(set).answer).sets.other_of, end);
    compare.set({ theirs: 'same', mine: 'end' });
    const both = await compare.sets(set).answer;
    const ends = { of: { ...set, from_moment: 100 }, other_of: end };
    assert.deepEqual(both, { sets: ends, inferredSteps: false });
    compare.set({ mine: 'set' });
    assert.equal(asked.length, 0);
    const between = { ...set, kind: 'survived', from_moment: 3, to_moment: 9 } as const;
    const laid = await compare.sets(between).answer;
    assert.deepEqual(laid, {
      sets: { of: between, other_of: { ...between, device: 0, from_moment: 6, to_moment: 18 } },
      inferredSteps: true,
    });
    const at = { ...set, from_moment: 4 };
    assert.deepEqual((await compare.sets(at).answer).sets.other_of, {
      ...there,
      from_moment: 8,
    });
  });

  it('is shown by shape, sign and word', () => {
    assert.deepEqual([1536, -1024, 0].map(signed), ['▲ +1.50 KiB', '▼ −1 KiB', '= 0 B']);
    const place = (line: number, name = 'f'): ComparedRow['before'] => ({
      ...{ file: 'm.py', line, function: name, kind: 'user', source: 'recorded' },
    });
    const row = (before: ComparedRow['before'], after: ComparedRow['after'], counts = [1, 1]): string[] =>
      marksOf({ before, after, before_count: counts[0], after_count: counts[1] } as unknown as ComparedRow);
    assert.deepEqual(row(place(3), place(3)), []);
    assert.deepEqual(row(place(3), place(12)), ['moved from line 3']);
    const guess = { ...place(3), source: 'inferred' } as ComparedRow['before'];
    assert.deepEqual(row(guess, guess), ['inferred']);
    const library = { ...place(3), kind: 'library' } as ComparedRow['before'];
    assert.deepEqual(row(library, library), ['library']);
    assert.deepEqual(row(place(3, 'old'), place(3)), ['was old']);
    assert.deepEqual(row(null, place(3), [0, 1]), ['only after']);
    assert.deepEqual(row(place(3), place(4), [1, 0]), ['only before', 'moved from line 3']);
  });
});

describe('a comparison of profiles', () => {
  const value = (name: string, meaning: ProfileValue['meaning'], unit = 'bytes'): ProfileValue => ({
    ...{ name, meaning, unit, title: plain(name), total: 7, count: null, negative: false },
  });
  const profile = (...values: ProfileValue[]): SnapshotInfo =>
    ({ model: 'profile', values, default_value: 0 }) as unknown as SnapshotInfo;
  const mine = [value('alloc_space', 'total'), value('inuse_objects', 'live', 'count'), value('x', 'other')];
  const theirs = [
    value('peak', 'peak'),
    value('total', 'total'),
    value('y', 'other'),
    value('inuse_objects', 'live', 'count'),
  ];
  const set = { device: 0, kind: 'live', from_moment: null, to_moment: null, filter: 'f', value: 0 } as const;
  const none = { request: () => assert.fail('nothing is asked') } as unknown as Api;

  function besides(other: SnapshotInfo, shown = 0): Compare {
    const own = { model: 'profile', info: profile(...mine), value: mine[shown], setValue: () => undefined };
    // SAFETY: as much of a profile as a comparison looks at.
    const compare = new Compare(none, 'a.pb.gz', null, own as unknown as OwnProfile);
    compare.receive({
      ...{ is: 'open', uri: 'u', name: 'b', file: 'b', info: other, itself: false, orderedBy: 'modified' },
      older: true,
    });
    return compare;
  }

  it('puts what measures the same side by side, by name or by meaning', () => {
    assert.deepEqual(
      mine.map((each) => sameValue(each, theirs)),
      [1, 3, null],
    );
    const compare = besides(profile(...theirs));
    assert.deepEqual(
      compare.sharedValues.map((each) => [each.mine, each.theirs]),
      [
        [0, 1],
        [1, 3],
      ],
    );
    assert.deepEqual([compare.otherValue, compare.unlike], [1, null]);
    assert.deepEqual(compare.names, { before: 'b', after: 'a.pb.gz' });
    compare.set({ value: 'peak' });
    assert.equal(compare.otherValue, 0);
    assert.equal(restoreCompare(compare.state)?.value, 'peak');
    compare.set({ value: 'inuse_objects' });
    assert.equal(compare.otherValue, 1, 'bytes do not stand beside counts');
    assert.equal(besides(profile(...theirs), 2).otherValue, null);
  });

  it('asks for all of both: a range of one run is none of another', async () => {
    const compare = besides(profile(...theirs));
    const of = { ...set, kind: 'freed', from_moment: 3, to_moment: 9 } as const;
    const found = await compare.sets(of).answer;
    assert.deepEqual(found.sets, { of: set, other_of: { ...set, value: 1 } });
  });

  it('says in a sentence what cannot be compared', () => {
    assert.match(besides(info(device(0, 5))).unlike ?? '', /is a trace of allocations/);
    assert.match(
      besides(profile(value('cpu', 'other', 'nanoseconds'))).unlike ?? '',
      /no value in common .* “cpu”/,
    );
    const { compare } = compared();
    compare.receive({ ...opened('u', []), info: profile(...theirs) } as OtherSnapshot);
    assert.match(compare.unlike ?? '', /is a profile/);
    compare.receive(opened('v', []));
    assert.match(compare.unlike ?? '', /no device/);
  });
});

describe('the bars of a comparison', () => {
  const rows = [-30, 20, -5, 0].map(
    (difference) => ({ difference_bytes: difference }) as unknown as ComparedRow,
  );
  const bars = (addUp: boolean): [number, number][] =>
    [...waterfallOf(rows, 100, addUp).steps.values()].map(({ from, to }) => [from, to]);

  it('lead from the total before to that after, each from where the one above ends', () => {
    assert.deepEqual(bars(true), [
      [100, 70],
      [70, 90],
      [90, 85],
      [85, 85],
    ]);
    const { low, high } = waterfallOf(rows, 100, true);
    assert.deepEqual([low, high], [70, 100]);
  });

  it('begin in the middle where rows do not add up', () => {
    assert.deepEqual(
      bars(false).map(([from, to]) => to - from),
      [-30, 20, -5, 0],
    );
    const { low, high } = waterfallOf(rows, 100, false);
    assert.deepEqual([low, high], [-30, 30]);
  });
});

describe('two curves', () => {
  const pack = (array: ArrayBufferView): string => Buffer.from(array.buffer).toString('base64');
  const curves = curvesOf({
    ...{ x0: 10, x1: 20, columns: 5, extent: { x0: 0, x1: 40 }, peak_bytes: 50, other_peak_bytes: 100 },
    ...{ peak_x: 0, other_peak_x: 0, steps_known: null, other_steps_known: null },
    highest: pack(Float64Array.of(1, 2, 3, 4, NaN)),
    other_highest: pack(Float64Array.of(NaN, 20, 30, 40, 50)),
    lowest: pack(Float64Array.of(1, 1, 3, 4, NaN)),
    other_lowest: pack(Float64Array.of(NaN, 20, 30, 0, 50)),
    moments: pack(Uint32Array.of(5, 6, 7, 8, 9)),
    steps: [
      { name: plain('one'), x: 11 },
      { name: plain('two'), x: 15 },
    ],
  });

  it('are both known at a place, and that one has not begun', () => {
    const height = (most: number, varies = false): Height => ({ most, varies });
    assert.deepEqual(heightsAt(curves, 10), { mine: height(1), other: null });
    assert.deepEqual(heightsAt(curves, 13.9), { mine: height(2, true), other: height(20) });
    assert.deepEqual(heightsAt(curves, 17), { mine: height(4), other: height(40, true) });
    assert.deepEqual(heightsAt(curves, 19.9), { mine: null, other: height(50) });
    assert.deepEqual(heightsAt(curves, 20), { mine: null, other: null });
    assert.deepEqual(
      [9.9, 10, 19.99, 20].map((x) => columnAt(curves, x)),
      [null, 0, 4, null],
    );
    assert.ok(curves.top >= 100);
    assert.deepEqual(
      [10, 11, 14, 15, 99].map((x) => stepAt(curves, x)),
      [null, 'one', 'one', 'two', 'two'],
    );
  });

  it('stay in view', () => {
    const extent = { x0: 0, x1: 40 };
    assert.deepEqual(within({ x0: -5, x1: 5 }, extent, 1), { x0: 0, x1: 10 });
    assert.deepEqual(within({ x0: 35, x1: 50 }, extent, 1), { x0: 25, x1: 40 });
    assert.deepEqual(within({ x0: -100, x1: 100 }, extent, 1), extent);
    assert.deepEqual(within({ x0: 10, x1: 10 }, extent, 4), { x0: 8, x1: 12 });
  });
});
