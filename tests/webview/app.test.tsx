// What of a view's messages is kept while the view's part of the program is loaded.

import { drawn } from './support/dom';
import { NUMBERS } from './support/heap-format';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FromWebviewMessage } from '../../extension/shared/messages';
import type { GraphInfo } from '../../extension/shared/protocol.gen';
import type { Api, HostMessage } from '../../webview/src/api';
import { App } from '../../webview/src/app';

const INFO = {
  ...{ model: 'graph', kind: 'v8', path: '/a.heapsnapshot', file_bytes: 9, objects: 9, types: 2 },
  ...{ compact_nodes: 0, shallow_bytes: 90, native_bytes: 0, image_types: [] as number[], warnings: [] },
} as unknown as GraphInfo;

test('what a heap dump’s report quotes is asked of the user, and taken as they say', async () => {
  const posted: FromWebviewMessage[] = [];
  const asked: unknown[] = [];
  let receive = (_: HostMessage): void => assert.fail('Nobody listens.');
  const api = {
    post: (message: FromWebviewMessage) => posted.push(message),
    request: (method: string, params: unknown) => {
      const isReport = method === 'memlens/report';
      if (isReport) asked.push(params);
      const answer = isReport ? Promise.resolve({ text: 'the report' }) : new Promise(() => undefined);
      return { answer, cancel: () => undefined };
    },
    offer: () => undefined,
    listen: (handler: typeof receive) => {
      receive = handler;
    },
    saved: () => undefined,
    save: () => undefined,
    keep: () => undefined,
  } as unknown as Api;
  const root = document.createElement('div');
  new App(api, root).start();
  // not the view itself, whose code takes a while
  receive({ type: 'opened', info: { ...INFO, model: 'graph' }, heap: NUMBERS, state: null });
  receive({ type: 'takeReport', form: 'markdown', values: true });
  await new Promise((done) => setTimeout(done, 0));
  assert.deepEqual(asked, [{ form: 'markdown', device: null, values: true }]);
  assert.deepEqual(
    posted.filter(({ type }) => type === 'copy'),
    [{ type: 'copy', text: 'the report' }],
  );
});

test('a command that comes before a heap dump’s view is there is carried out by that view', async () => {
  const posted: FromWebviewMessage[] = [];
  let receive = (_: HostMessage): void => assert.fail('Nobody listens.');
  const api = {
    post: (message: FromWebviewMessage) => posted.push(message),
    request: () => ({ answer: new Promise(() => undefined), cancel: () => undefined }),
    offer: () => undefined,
    listen: (handler: typeof receive) => {
      receive = handler;
    },
    saved: () => undefined,
    save: (state: unknown) => posted.push({ type: 'state', state, acts: 0 } as FromWebviewMessage),
    keep: () => undefined,
  } as unknown as Api;
  const root = document.createElement('div');
  document.body.append(root);
  new App(api, root).start();
  receive({ type: 'opened', info: INFO, heap: NUMBERS, state: null });
  receive({ type: 'command', command: 'pane.dominators' });
  const state = (): string | undefined => root.dataset['state'];
  assert.equal(state(), 'loading');
  for (let turns = 0; state() === 'loading' && turns < 500; turns++)
    await new Promise((done) => setTimeout(done, 10));
  await drawn();
  const shown = root.querySelector('.dock [role=tab][aria-selected=true]');
  assert.equal(shown?.textContent, 'Dominators');
});
