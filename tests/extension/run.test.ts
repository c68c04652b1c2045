import assert from 'node:assert/strict';
import { it } from 'node:test';
import { bestOf, wordsOf } from '../../extension/src/commands/run';

it('a command line has the words that its quotes make', () => {
  const cases: [string, string[]][] = [
    ['', []],
    ['  ', []],
    ['python train.py --lr 1', ['python', 'train.py', '--lr', '1']],
    [`"/opt/my python/bin/python" 'a b.py'  c`, ['/opt/my python/bin/python', 'a b.py', 'c']],
    [String.raw`a --say="he said \"no\" \\"`, ['a', String.raw`--say=he said "no" \ `.trim()]],
    [String.raw`C:\Python\python.exe x.py ""`, [String.raw`C:\Python\python.exe`, 'x.py', '']],
  ];
  for (const [line, words] of cases) assert.deepEqual(wordsOf(line), words, line);
});

it('what ran out is opened rather than what was there at the end', () => {
  const left = ['end-12.pickle', 'oom-rank10-12.pickle', 'oom-rank2-11.pickle', 'end-11.pickle.partial'];
  assert.equal(bestOf(left), 'oom-rank2-11.pickle');
  assert.equal(
    bestOf(['report.2026.json', 'Heap.2.heapsnapshot', 'Heap.1.heapsnapshot']),
    'Heap.1.heapsnapshot',
  );
  assert.equal(bestOf(['hs_err_pid1.log', 'x.bin']), 'x.bin');
  assert.equal(bestOf([]), undefined);
});
