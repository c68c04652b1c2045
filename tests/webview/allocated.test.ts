// When objects were allocated: choices for a dump in a series, as terms of its filter and back.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { allocatedChoices, allocatedIn, withAllocated } from '../../webview/src/graph/allocated';

const dump = (file: string): { file: string; name: string } => ({ file, name: file.replace(/^.*\//, '') });
const [one, two, three] = [
  dump('1.heapsnapshot'),
  dump('2.heapsnapshot'),
  dump('/else where/3.heapsnapshot'),
];

describe('choices', () => {
  it('are before, between and after the earlier dumps, and before the next one', () => {
    assert.deepEqual(
      allocatedChoices([one, two, three], [dump('5'), dump('6')]).map(({ terms }) => terms),
      [
        '',
        'in:1.heapsnapshot',
        '-in:1.heapsnapshot in:2.heapsnapshot',
        '-in:2.heapsnapshot in:"/else where/3.heapsnapshot"',
        '-in:"/else where/3.heapsnapshot"',
        '-in:5',
      ],
    );
    assert.deepEqual(
      allocatedChoices([one, two], []).map(({ text }) => text),
      [
        'Allocated at any time',
        'Allocated before 1.heapsnapshot',
        'Allocated between 1.heapsnapshot and 2.heapsnapshot',
        'Allocated after 2.heapsnapshot',
      ],
    );
    assert.equal(allocatedChoices([], []).length, 1);
  });

  it('take the place of one another in a filter, and leave its other terms', () => {
    const choices = allocatedChoices([one, dump('a "b".heapsnapshot'), three], []);
    let filter = 'type:"in: x" Session';
    for (const choice of [...choices, ...choices.toReversed()]) {
      filter = withAllocated(filter, choice);
      assert.equal(allocatedIn(filter, choices), choice);
      assert.equal(filter, ['type:"in: x" Session', choice.terms].filter((each) => each !== '').join(' '));
    }
    assert.equal(allocatedIn('in:other', choices), null);
    assert.equal(allocatedIn('-in:1.heapsnapshot Session', choices), null);
  });
});
