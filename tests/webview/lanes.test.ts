import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describe as inWords, hueOf } from '../../webview/src/timeline/lanes';
import { nameOf, sourceWords } from '../../webview/src/base/format';
import { curve } from '../../webview/src/widgets/sparkline';
import type { AnnotationItem, Frame } from '../../extension/shared/protocol.gen';

const item: AnnotationItem = {
  name: 'ProfilerStep#3',
  x0: 1000,
  x1: 13_000,
  from_moment: 10,
  to_moment: 24,
  count: 1,
  unmatched: null,
};

describe('annotations', () => {
  it('are shown with their time and their events', () => {
    assert.equal(inWords(item, 'time'), 'ProfilerStep#3, 12 ms, events 11 to 24');
    assert.equal(inWords(item, 'event'), 'ProfilerStep#3, events 11 to 24');
    assert.equal(
      inWords({ ...item, to_moment: 10, unmatched: 'end' }, 'event'),
      'ProfilerStep#3, no event of this device, its end is not in the file',
    );
  });
  it('have one colour for one name, whatever its number', () => {
    assert.equal(hueOf('ProfilerStep#3'), hueOf('ProfilerStep#4'));
    assert.equal(
      new Set(['forward', 'backward', 'Optimizer.step#AdamW', 'zero_grad'].map(hueOf)).size > 1,
      true,
    );
  });
});

describe('a small curve', () => {
  it('goes from the left to the right, 0 at the bottom and the largest at the top', () => {
    assert.equal(curve([0, 5, 10]), '1.0,15.0 36.0,8.0 71.0,1.0');
    assert.equal(curve([0]), '1.0,15.0');
    assert.equal(curve([]), '');
  });
});

describe('how a line is known', () => {
  const frame = (source: Frame['source']): Frame => ({
    file: '/p/model.py',
    line: 7,
    function: 'forward',
    kind: 'user',
    source,
  });
  it('is shown wherever the line is, unless it was recorded', () => {
    assert.deepEqual(
      (['recorded', 'forward', 'fx', 'inferred'] as const).map((source) => sourceWords(frame(source))),
      ['', 'forward line', 'FX trace', 'inferred'],
    );
    const named = (source: Frame['source']) =>
      // SAFETY: nameOf reads these two fields alone of what has a label.
      nameOf({ label: frame(source), operator: null } as Parameters<typeof nameOf>[0]);
    assert.equal(named('recorded').place, 'model.py:7');
    assert.equal(named('inferred').place, 'model.py:7 (inferred)');
  });
  it('does not exist for what was allocated before recording, and that is shown', () => {
    const titled = (early: boolean) =>
      // SAFETY: nameOf reads these three fields alone.
      nameOf({ label: null, operator: null, before_trace: early } as Parameters<typeof nameOf>[0]).title;
    assert.equal(titled(true), 'Allocated before recording');
    assert.equal(titled(false), 'No stack');
  });
});
