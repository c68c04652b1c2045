// How profiles are shown: values in their units, and what samples can be grouped by.

import assert from 'node:assert/strict';
import { afterEach, describe, test } from 'node:test';
import type { ProfileInfo, TimelineInfo } from '../../extension/shared/protocol.gen';
import { groupColumns } from '../../webview/src/live-set/columns';
import { kindsFor } from '../../webview/src/live-set/kinds';
import { countedFigure, figure, figureAndCount, figureIn, setFigures } from '../../webview/src/base/figure';
import { plain } from './support/plain';

const profile: ProfileInfo = {
  ...{ model: 'profile', kind: 'pprof', path: '/a.pb.gz', file_bytes: 1, warnings: [] },
  ...{
    values: [],
    default_value: 0,
    samples: 0,
    stacks: 0,
    mixed_stacks: false,
    has_sizes: false,
    labels: [],
  },
  ...{
    bins: 0,
    end: 0,
    time_unit: 'microseconds',
    series: [],
    has_flow: false,
    has_short_lived: true,
    has_frees: true,
  },
  written_ms: null,
};

const trace: TimelineInfo = {
  ...{ model: 'timeline', kind: 'pytorch', path: '/a.pickle', file_bytes: 1, warnings: [] },
  ...{ devices: [], default_device: 0, categories: [], mixed_stacks: false },
};

describe('figures of a profile', () => {
  afterEach(() => {
    setFigures({ unit: 'bytes', counts: 'allocation' });
  });

  test('are in the unit of the value', () => {
    const written = [
      figureIn(2048, 'bytes'),
      figureIn(-2048, 'bytes'),
      figureIn(12_345, 'count'),
      figureIn(2_500_000, 'nanoseconds'),
      figureIn(3, 'seconds'),
      figureIn(7, 'objects'),
    ];
    assert.deepEqual(written, ['2 KiB', '−2 KiB', '12,345', '2.5 ms', '3 s', '7 objects']);
  });

  test('say what is counted beside them', () => {
    assert.equal(figureAndCount(2048, 1), '2 KiB in 1 allocation');
    setFigures({ unit: 'nanoseconds', counts: 'sample' });
    assert.equal(figureAndCount(5e9, 3), '5 s in 3 samples');
    setFigures({ unit: 'count', counts: 'allocation' });
    assert.deepEqual(
      [figure(1234), figureAndCount(1234, 9), countedFigure(2)],
      ['1,234', '1,234', '2 allocations'],
    );
    setFigures({ unit: 'bytes', counts: null });
    assert.equal(figureAndCount(2048, 0), '2 KiB');
  });
});

describe('columns of hot spots', () => {
  const value = { name: 'v', meaning: 'total' as const, title: plain('V'), count: null, negative: false };
  const many: ProfileInfo = {
    ...profile,
    values: [
      { ...value, unit: 'count', total: 13_187_123 },
      { ...value, unit: 'instrs', total: 123_456_789_012 },
      { ...value, unit: 'bytes', total: 1 },
    ],
  };
  const heads = (name = 'v'): string[] => groupColumns(many, name, '').map((column) => column.name);

  afterEach(() => {
    setFigures({ unit: 'bytes', counts: 'allocation' });
  });

  test('are headed by what is measured', () => {
    assert.deepEqual(heads(), ['Name', 'Bytes', 'Share', 'Count', 'Largest']);
    setFigures({ unit: 'count', counts: 'sample' });
    assert.deepEqual(heads(), ['Name', 'Number', 'Share', 'Samples', 'Largest']);
    setFigures({ unit: 'instrs', counts: null });
    assert.deepEqual(heads(), ['Name', 'Instrs', 'Share', 'Count', 'Largest']);
    const sized = { ...many, has_sizes: true };
    const last = (): string => groupColumns(sized, 'v', '').at(-1)?.title ?? '';
    assert.equal(last(), 'Total of the largest single stack');
    setFigures({ unit: 'bytes', counts: 'allocation' });
    assert.equal(last(), 'The size of the largest block');
    setFigures({ unit: 'instrs', counts: null });
    const [name, figures, , counts] = groupColumns(many, 'freed from 1 s to 2 s', 'By a rule.');
    assert.match(name?.title ?? '', /^By a rule\. /);
    assert.equal(figures?.title, 'Freed from 1 s to 2 s');
    assert.match(counts?.title ?? '', /doesn’t say/);
  });

  test('have room for the largest figure', () => {
    const room = (at: number): number =>
      Number(/(\d+)ch/.exec(groupColumns(many, '', '')[at]?.width ?? '')?.[1]);
    assert.ok(room(3) > '13,187,123'.length);
    setFigures({ unit: 'instrs', counts: 'allocation' });
    assert.ok(room(1) > '123,456,789,012 instrs'.length);
    assert.ok(room(4) > '123,456,789,012 instrs'.length);
  });
});

describe('groups of samples', () => {
  test('are those that the file has', () => {
    assert.deepEqual(kindsFor(profile), ['line', 'caller', 'function', 'file', 'stack', 'package']);
    const labelled = kindsFor({ ...profile, has_sizes: true, labels: ['bytes', 'thread_name'] });
    assert.deepEqual(labelled.slice(6), ['thread', 'label', 'size']);
    assert.ok(!kindsFor({ ...profile, labels: ['bytes'] }).includes('label'));
  });

  test('are not those of traces', () => {
    const ofTrace = kindsFor(trace);
    assert.deepEqual(ofTrace, [
      'line',
      'caller',
      'function',
      'file',
      'module',
      'stack',
      'freed',
      'stream',
      'pool',
      'size',
    ]);
  });
});
