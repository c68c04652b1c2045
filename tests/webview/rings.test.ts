// The rings of a heap dump's dominators: they add up at every zoom, and what is hit is what is drawn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlameGeometry } from '../../extension/shared/flame-geometry';
import { WHOLE, type FlameCamera } from '../../webview/src/flame/camera';
import { angleOf, arcOf, arcsOf, ringBoxAt, ringsOf } from '../../webview/src/graph/rings';
import { groupOf, located } from '../../webview/src/graph/groups';
import { restoreGraph } from '../../webview/src/graph/state';
import { pointsOf } from '../../webview/src/graph/series';
import {
  copiedText,
  idText,
  objectText,
  objectTitle,
  setFormat,
  shortType,
} from '../../webview/src/graph/words';
import { ADDRESSES, NUMBERS } from './support/heap-format';

const TURN = 2 * Math.PI;

/** A root of 100 with children of 50, 30 and 19.5; the first has two, of which the second has one. */
function tree(): FlameGeometry {
  const rows = [
    [[0, 100]],
    [
      [0, 50],
      [50, 30],
      [80, 19.5],
    ],
    [
      [0, 20],
      [20, 30],
    ],
    [[20, 30]],
  ];
  const boxes = rows.flatMap((row, at) => row.map(([left = 0, value = 0]) => ({ left, value, at })));
  const rowStart = Uint32Array.from([0, 1, 4, 6, 7]);
  const count = boxes.length;
  return {
    ...{ boxes: count, widthPx: 1000, coarser: false, x0: 0, x1: 1, total: 100, firstDepth: 0, rows: 4 },
    ...{ deepest: 3, matched: 0, matching: 0, sides: null, rowStart },
    left: Float64Array.from(boxes, ({ left }) => left),
    value: Float64Array.from(boxes, ({ value }) => value),
    node: Uint32Array.from(boxes, (_, box) => box),
    name: Uint32Array.from(boxes, (_, box) => box),
    row: Uint16Array.from(boxes, ({ at }) => at),
    flags: new Uint8Array(count),
    package: new Uint16Array(count),
    kind: new Uint8Array(count),
  };
}

const ZOOMS: readonly FlameCamera[] = [WHOLE, { x0: 0, x1: 0.5, top: 0 }, { x0: 0.13, x1: 0.61, top: 1 }];

test('arcs lie within those of what holds them, and neighbours share their edge', () => {
  const g = tree();
  for (const camera of ZOOMS) {
    const rings = ringsOf(g, camera, 400, 300);
    const arcs = new Map(arcsOf(g, rings, camera));
    for (const [box, { from, to }] of arcs) {
      assert.ok(from >= 0 && to <= TURN && from < to);
      const next = arcs.get(box + 1);
      if (
        next &&
        g.row[box] === g.row[box + 1] &&
        g.left[box + 1] === (g.left[box] ?? 0) + (g.value[box] ?? 0)
      )
        assert.equal(next.from, to);
    }
    const row = [1, 2, 3].map((box) => arcs.get(box)).filter((arc) => arc !== undefined);
    if (camera === WHOLE)
      assert.ok(Math.abs(row.reduce((sum, { from, to }) => sum + to - from, 0) - 0.995 * TURN) < 1e-12);
  }
  assert.equal(angleOf(100, 100, WHOLE), TURN);
});

test('the middle is what fills the view, and the first ring what that holds', () => {
  const g = tree();
  assert.deepEqual([ringsOf(g, WHOLE, 400, 300).centre, ringsOf(g, WHOLE, 400, 300).first], [0, 1]);
  const zoomed = ringsOf(g, { x0: 0.2, x1: 0.5, top: 0 }, 400, 300);
  // the one of 30 below the one of 30
  assert.equal(zoomed.centre, 6);
});

test('there are as many rings as have something in view', () => {
  const g = tree();
  const rings = (x0: number, x1: number): number => ringsOf(g, { x0, x1, top: 0 }, 400, 300).rings;
  assert.deepEqual([rings(0, 1), rings(0, 0.5), rings(0, 0.2), rings(0.5, 1)], [3, 2, 1, 1]);
});

test('a point is on the arc that is drawn there', () => {
  const g = tree();
  for (const camera of ZOOMS) {
    const rings = ringsOf(g, camera, 400, 300);
    for (const [box, arc] of arcsOf(g, rings, camera)) {
      const [radius, turned] = [(arc.inner + arc.outer) / 2, (arc.from + arc.to) / 2];
      const x = rings.centreX + radius * Math.sin(turned);
      const y = rings.centreY - radius * Math.cos(turned);
      assert.equal(ringBoxAt(g, rings, camera, x, y), box);
    }
    assert.equal(ringBoxAt(g, rings, camera, rings.centreX, rings.centreY), rings.centre);
    assert.equal(ringBoxAt(g, rings, camera, 0, 0), -1);
  }
  assert.equal(arcOf(g, 0, ringsOf(g, WHOLE, 400, 300), WHOLE), null);
});

test('a saved state is believed as far as it fits the dump', () => {
  const info = { file_bytes: 10, objects: 5, types: 2, compact_nodes: 3 } as Parameters<
    typeof restoreGraph
  >[0];
  const first = restoreGraph(info, null);
  assert.deepEqual(
    [first.selection, first.order, first.sunburst, first.series],
    [null, 'retained', false, []],
  );
  const kept = { ...first, selection: { is: 'object', object: 4 } as const, sunburst: true, x1: 0.5 };
  assert.deepEqual(restoreGraph(info, kept), kept);
  assert.equal(restoreGraph(info, { ...kept, selection: { is: 'object', object: 5 } }).selection, null);
  assert.equal(restoreGraph(info, { ...kept, fileBytes: 11 }).selection, null);
  const odd = { ...kept, x0: 0.7, series: 'x', order: 'odd' } as unknown as typeof kept;
  const restored = restoreGraph(info, odd);
  assert.deepEqual([restored.x0, restored.x1, restored.series, restored.order], [0, 1, [], 'retained']);
});

test('a group is of one tree, and believed where the dump has that tree and so many nodes', () => {
  for (const tree of ['dominators', 'paths'] as const)
    for (const by of ['type', 'package', 'module'] as const)
      for (const node of [0, 7, 2 ** 32 - 2])
        assert.deepEqual(located(groupOf({ tree, by }, node)), { tree, by, node });
  const group = (by: 'type' | 'package' | 'module', node: number): number =>
    groupOf({ tree: 'dominators', by }, node);
  const ofPaths = (node: number): number => groupOf({ tree: 'paths', by: 'type' }, node);
  assert.deepEqual([group('type', 7), ofPaths(7)], [7, 3 * 2 ** 32 + 7]);
  assert.equal(located(6 * 2 ** 32).by, undefined);
  const info = { file_bytes: 10, objects: 5, compact_nodes: 3, has_modules: false } as Parameters<
    typeof restoreGraph
  >[0];
  const restored = (number: number, dump = info): boolean => {
    const kept = { ...restoreGraph(dump, null), selection: { is: 'group', group: number } as const };
    return restoreGraph(dump, kept).selection !== null;
  };
  assert.deepEqual(
    [group('type', 2), group('package', 2), group('package', 3), group('module', 2), 0.5, -1].map((each) =>
      restored(each),
    ),
    [true, true, false, false, false, false],
  );
  assert.deepEqual(
    [ofPaths(3), ofPaths(6), ofPaths(7)].map((each) => restored(each)),
    [true, true, false],
    'there are no more than objects, roots and what they don’t reach',
  );
  const withModules = { ...info, has_modules: true };
  assert.ok(restored(group('module', 2), withModules));
  const grouped = (dump: typeof info): string =>
    restoreGraph(dump, { ...restoreGraph(dump, null), grouped: 'module' }).grouped;
  assert.deepEqual([grouped(withModules), grouped(info)], ['module', 'type']);
});

test('lines over time stand evenly apart on one scale', () => {
  const [first, middle, last] = pointsOf([0, 5, 10], 10)
    .split(' ')
    .map((point) => point.split(',').map(Number));
  assert.ok(first && middle && last);
  assert.ok(Math.abs((middle[0] ?? 0) - ((first[0] ?? 0) + (last[0] ?? 0)) / 2) < 0.11);
  assert.ok(Math.abs((middle[1] ?? 0) - ((first[1] ?? 0) + (last[1] ?? 0)) / 2) < 0.11);
  assert.ok((first[1] ?? 0) > (last[1] ?? 0));
});

test('what stands for all roots is called so', () => {
  setFormat(NUMBERS);
  const text = (type: string, name = ''): string => objectText({ type, name, id: 1, object: 0 });
  assert.match(text('(synthetic)'), /^\(roots\) /);
  assert.match(text('(synthetic)', '(GC roots)'), /^\(synthetic\) .*GC roots/);
});

test('types are short where there is no room', () => {
  assert.equal(shortType('java.util.HashMap$Node[]'), 'HashMap$Node[]');
  assert.equal(shortType('(array)'), '(array)');
  assert.equal(shortType('Window / https://example.com'), 'Window / https://example.com');
  assert.equal(shortType('System.List<Shop.Session,int>[]'), 'List<Session,int>[]');
  assert.equal(shortType('Shop.Session (App.dll)'), 'Session');
});

test('ids are written as those of the findings are: numbers of V8, addresses of others', () => {
  const texts = [true, false].map((areNumbers) => {
    setFormat(areNumbers ? NUMBERS : ADDRESSES);
    return idText({ id: 0xd6000b00, object: 3 });
  });
  assert.deepEqual(texts, ['@3590327040', '@0xd6000b00']);
  assert.equal(idText({ id: 2 ** 60, object: 3 }), '#3');
});

test('a class is called by its own name, where an object of JavaScript is not taken for one', () => {
  const row = { type: 'java.lang.Class', name: 'com.example.Cart$Row', id: 0x20, object: 3 };
  setFormat(ADDRESSES);
  assert.deepEqual(
    [objectText(row), objectTitle(row)],
    ['class Cart$Row @0x20', 'class com.example.Cart$Row'],
  );
  assert.equal(objectText({ ...row, name: 'java.lang.Class' }), 'class Class @0x20');
  assert.equal(objectText({ ...row, type: 'java.lang.String' }), 'String @0x20 "com.example.Cart$Row"');
  setFormat(NUMBERS);
  assert.equal(objectText({ ...row, type: 'Class' }), 'Class @32 "com.example.Cart$Row"');
});

test('what is copied of an object says what it is, and not what it contains', () => {
  setFormat(NUMBERS);
  const text = (type: string, name: string): string => copiedText({ type, name, id: 1, object: 0 });
  assert.equal(text('(string)', 'Bearer s3cret'), '(string) @1 "…"');
  assert.equal(text('(number)', '4929123412341234'), '(number) @1 "…"');
  assert.equal(text('Function', 'onTick'), 'Function @1 "onTick"');
  assert.equal(text('Session', 'Session'), 'Session @1');
});
