import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { GraphInfo } from '../../extension/shared/protocol.gen';
import { ageOf, isOlder, type Age } from '../../extension/src/editor/age';

const age = (name: string, recordedUs: number | null, modifiedMs: number | null): Age => ({
  ...{ name, recordedUs, modifiedMs },
});

it('of two snapshots the earlier one is found by their recording, their files’ times, their names', () => {
  for (const [one, other, older, orderedBy] of [
    // recorded earlier, though copied later
    [age('b', 1, 9), age('a', 2, 3), true, 'recorded'],
    [age('b', 1, 9), age('a', 1, 3), false, 'modified'],
    [age('b', null, 3), age('a', 2, 9), true, 'modified'],
    // copies
    [age('run9', null, 3), age('run10', null, 3), true, 'name'],
    [age('run10', null, 3), age('run9', null, null), false, 'name'],
    [age('a', null, 3), age('a', null, 3), false, 'name'],
  ] as const)
    assert.deepEqual(isOlder(one, other), { older, orderedBy }, `${one.name} ${other.name}`);
});

it('a heap dump that says when it was taken is as old as that, whenever its file was copied', () => {
  const taken = (written_ms: number | null): Age =>
    ageOf('/dumps/app.hprof', 9, { model: 'graph', written_ms } as GraphInfo);
  assert.equal(taken(1_700_000_000_000).recordedUs, 1.7e15);
  assert.equal(taken(null).recordedUs, null);
});
