import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ageOf, isOlder, oldestFirst, type Age } from '../../extension/src/editor/age';

const age = (name: string, recordedUs: number | null, modifiedMs: number | null): Age => ({
  ...{ name, recordedUs, modifiedMs },
});

it('of two snapshots the earlier one is found by their recording, their files’ times, their names', () => {
  for (const [one, other, older, orderedBy] of [
    // recorded earlier, though copied later
    [age('b', 1, 9), age('a', 2, 3), true, 'recorded'],
    [age('b', 1, 9), age('a', 1, 3), false, 'modified'],
    [age('b', null, 3), age('a', 2, 9), true, 'modified'],
    // a checkout wrote the later one first; other words than these say nothing, and recordings know better
    [age('leak_base.hprof', null, 9), age('leak_after.hprof', null, 3), true, 'named'],
    [age('heap-after.hprof', null, 3), age('heap-before.hprof', null, 9), false, 'named'],
    [age('go-heap.pb.gz', null, 3), age('go-heap-base.pb.gz', null, 9), false, 'named'],
    [age('bert-base.hprof', null, 9), age('bert-large.hprof', null, 3), false, 'modified'],
    [age('database.hprof', null, 9), age('data.hprof', null, 3), false, 'modified'],
    [age('base.hprof', 2, 3), age('after.hprof', 1, 9), false, 'recorded'],
    // copies
    [age('run9', null, 3), age('run10', null, 3), true, 'name'],
    [age('run10', null, 3), age('run9', null, null), false, 'name'],
    [age('a', null, 3), age('a', null, 3), false, 'name'],
  ] as const)
    assert.deepEqual(isOlder(one, other), { older, orderedBy }, `${one.name} ${other.name}`);
  // selected first, though written later; recordings know better
  assert.deepEqual(isOlder(age('b', null, 9), age('a', null, 3), true), { older: true, orderedBy: 'chosen' });
  assert.deepEqual(isOlder(age('b', 2, 9), age('a', 1, 3), true), { older: false, orderedBy: 'recorded' });
});

it('heap dumps stand in the order in which they were taken, whenever their files were copied', () => {
  const order = (...ages: Age[]): string[] =>
    oldestFirst(ages.map((each) => ({ age: each, isRead: each.name !== 'broken' }))).map(
      ({ age: { name } }) => name,
    );
  const [first, second, third] = [age('c', 1e9, 30), age('b', 2e9, 10), age('a', 3e9, 20)];
  assert.deepEqual(order(third, first, second), ['c', 'b', 'a']);
  // one that says nothing of itself: then what is known of all of them
  assert.deepEqual(order(first, second, age('d', null, 15)), ['b', 'd', 'c']);
  assert.deepEqual(order(third, age('broken', null, 2500e3), first, second), ['c', 'b', 'broken', 'a']);
  assert.deepEqual(order(age('run10', null, 3), age('run9', null, 3)), ['run9', 'run10']);
  assert.equal(ageOf('/a/b.hprof', 7, { model: 'graph', written_ms: 5 }).recordedUs, 5000);
  assert.equal(ageOf('/a/b.pb.gz', 7, { model: 'profile', written_ms: 5 }).recordedUs, 5000);
  assert.equal(ageOf('/a/b.hprof', 7, { model: 'graph', written_ms: null }).recordedUs, null);
});
