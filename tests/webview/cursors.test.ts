// The cursors that a view had are there again in the next one, whatever its figures were about.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api } from '../../webview/src/api';
import { Cursors, type CursorState } from '../../webview/src/timeline/cursors';

// SAFETY: the one request that cursors make.
const api = {
  request: (_method: string, { moment }: { moment: number }) => ({
    answer: Promise.resolve({ moment, time_us: 10 * moment, live_bytes: 0, live_count: 0, is_peak: false }),
    cancel: () => undefined,
  }),
} as unknown as Api;

async function restored(state: CursorState): Promise<CursorState> {
  const cursors = new Cursors({ api, failed: assert.ifError, filterAsIf: '' });
  cursors.turnTo(0, state);
  await new Promise((resolve) => setImmediate(resolve));
  return cursors.state;
}

test('cursors come back with what they were used for, or beside the peak', async () => {
  const states: CursorState[] = [
    { scope: 'peak', kind: 'live', first: null, second: null },
    { scope: 'peak', kind: 'live', first: 7, second: null },
    { scope: 'peak', kind: 'freed', first: 9, second: 4 },
    { scope: 'cursor', kind: 'live', first: 9, second: null },
    { scope: 'cursor', kind: 'live', first: 9, second: 4 },
    { scope: 'between', kind: 'survived', first: 3, second: 4 },
  ];
  for (const state of states) assert.deepEqual(await restored(state), state);
});
