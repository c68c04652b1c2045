import assert from 'node:assert/strict';
import { it } from 'node:test';
import { endOf, mayHaveMessage } from '../../extension/src/commands/explain';

it('only logs with a sign of a message are sent to the server', () => {
  assert.ok(mayHaveMessage('x Out of memory: Killed process 7 (a) total-vm:8kB'));
  assert.ok(mayHaveMessage('python train.py\nKilled\n'));
  assert.ok(mayHaveMessage('FATAL ERROR: Reached heap limit'));
  for (const usual of ['took 137 ms, used 137 MB', 'Killed 3 orcs', 'fatal error: stdio.h: No such file', ''])
    assert.ok(!mayHaveMessage(usual), usual);
});

it('of a long log the end is sent, from the beginning of a line, and lines are counted from the start', () => {
  const lines = Array.from({ length: 1000 }, (_, number) => `line ${number}`);
  const text = lines.join('\n');
  assert.deepEqual(endOf(text, text.length), { end: text, before: 0 });
  const { end, before } = endOf(text, 100);
  assert.ok(end.length <= 100);
  assert.equal(end.split('\n')[0], lines[before]);
  assert.equal(before + end.split('\n').length, 1000);
  assert.deepEqual(endOf('a'.repeat(50), 10), { end: '', before: 0 });
});
