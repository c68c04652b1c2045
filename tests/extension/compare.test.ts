import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type * as vscode from 'vscode';
import type { OtherSnapshot, ToWebviewMessage } from '../../extension/shared/messages';
import { ViewStates } from '../../extension/src/editor/states';
import { SnapshotView } from '../../extension/src/editor/view';
import { FakeMemory, FakePanel, FakeServer, INFO, log, responseError, settle, STATE } from './fakes';
import { Uri } from './vscode';

const OTHER = Uri.file('/runs/b.pickle') as unknown as vscode.Uri;
const COMPARE = {
  ...{ uri: OTHER.toString(), otherFirst: false, device: 0, mine: 'set', theirs: 'same' },
  ...{ by: 'line', measure: 'own', byStep: false, offset: 0 },
} as const;

let server: FakeServer;
let panel: FakePanel;
let memory: FakeMemory;

async function openView(): Promise<SnapshotView> {
  const host = {
    openSource: () => Promise.resolve(),
    openObjectSource: () => Promise.resolve(),
    openAsText: () => Promise.resolve(),
    saveText: () => Promise.resolve(),
    locate: () => Promise.resolve(),
    downloadSources: () => Promise.resolve(),
    copyLink: () => Promise.resolve(),
    chooseSeries: () => Promise.resolve(),
    changeBookmarks: () => Promise.resolve(),
    chooseOther: (view: SnapshotView) => view.compareWith(OTHER),
  };
  const uri = Uri.file('/a.pickle') as unknown as vscode.Uri;
  const dist = Uri.file('/dist') as unknown as vscode.Uri;
  const view = new SnapshotView(
    uri,
    panel.typed,
    server.typed,
    new ViewStates(memory.typed),
    host,
    log,
    dist,
  );
  panel.received.fire({ type: 'ready' });
  opening('/a.pickle').resolve({ snapshot: 's1', info: INFO });
  await settle();
  return view;
}

/** The latest opening of a file. */
function opening(path: string): FakeServer['requests'][number] {
  const openings = server.requests.filter(
    (each) => each.method === 'memlens/open' && each.params['path'] === path,
  );
  const last = openings.at(-1);
  assert.ok(last, `${path} was opened`);
  return last;
}

const others = (messages: ToWebviewMessage[]): (OtherSnapshot | null)[] =>
  messages.flatMap((message) => (message.type === 'other' ? [message.other] : []));

/** Until the other snapshot is open: the dates of the files are looked for first, which takes its time. */
async function dated(): Promise<void> {
  while (!others(panel.posted).some((other) => other?.is === 'open'))
    await new Promise((resolve) => setTimeout(resolve, 5));
}

beforeEach(() => {
  server = new FakeServer();
  panel = new FakePanel();
  memory = new FakeMemory();
});

describe('the snapshot that a view is compared with', () => {
  it('is opened with a second reference, reports its progress, and is in requests about both', async () => {
    const view = await openView();
    panel.taken();
    panel.received.fire({ type: 'chooseOther' });
    await settle();
    assert.equal(opening('/runs/b.pickle').params['view'], `${view.id}.other`);
    server.progress.fire({ view: `${view.id}.other`, stage: 'reading', fraction: 0.25 });
    server.progress.fire({ view: view.id, stage: 'writing', fraction: 0.5 });
    opening('/runs/b.pickle').resolve({ snapshot: 's2', info: INFO });
    await dated();
    const posted = others(panel.taken());
    assert.deepEqual(
      posted.map((other) => [other?.name, other?.is]),
      [
        ['b.pickle', 'opening'],
        ['b.pickle', 'opening'],
        ['b.pickle', 'open'],
      ],
    );
    assert.ok(posted[1]?.is === 'opening' && posted[1].fraction === 0.25);
    assert.ok(posted[2]?.is === 'open' && !posted[2].itself && !posted[2].older);
    // The page can choose neither of the two.
    const params = { snapshot: 'x', other: 'y', row: 3 };
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/compareStacks', params });
    assert.deepEqual(server.last('memlens/compareStacks').params, { snapshot: 's1', other: 's2', row: 3 });
    panel.received.fire({ type: 'request', id: 2, method: 'memlens/stack', params: { allocation: 1 } });
    assert.deepEqual(server.last('memlens/stack').params, { snapshot: 's1', allocation: 1 });
  });

  it('is released with the view, when it is closed, and when it is replaced', async () => {
    const view = await openView();
    await Promise.all([view.compareWith(OTHER), settle().then(() => { opening('/runs/b.pickle').resolve({ snapshot: 's2', info: INFO }); })]); // oxfmt-ignore
    const released = { snapshot: 's2', view: `${view.id}.other` };
    panel.received.fire({ type: 'closeOther' });
    assert.deepEqual(server.last('memlens/close').params, released);
    assert.deepEqual(others(panel.taken()).at(-1), null);
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/compare', params: {} });
    const refused = panel.taken().at(-1);
    assert.ok(refused?.type === 'response' && !refused.ok && refused.problem.code === 'no-other');
    const again = view.compareWith(OTHER);
    await settle();
    const late = opening('/runs/b.pickle');
    panel.dispose();
    assert.equal(late.token?.isCancellationRequested, true);
    late.resolve({ snapshot: 's3', info: INFO });
    await again;
    assert.deepEqual(server.last('memlens/close').params, { ...released, snapshot: 's3' });
  });

  it('shows a failure, can be retried, and is opened again with a new server or window', async () => {
    const view = await openView();
    panel.taken();
    const chosen = view.compareWith(OTHER);
    await settle();
    const problem = { code: 'file', message: 'There is no file', advice: '', offset: null, retry: true };
    opening('/runs/b.pickle').reject(responseError(-32803, problem));
    await chosen;
    const failed = others(panel.taken()).at(-1);
    assert.ok(failed?.is === 'failed' && failed.problem.message === 'There is no file');
    panel.received.fire({ type: 'retryOther' });
    await settle();
    opening('/runs/b.pickle').resolve({ snapshot: 's2', info: INFO });
    await dated();
    const before = server.count('memlens/open');
    server.started.fire();
    await settle();
    assert.equal(server.count('memlens/open'), before + 2);

    panel.received.fire({ type: 'state', state: { ...STATE, compare: COMPARE }, acts: 0 });
    await settle();
    panel.dispose();
    server = new FakeServer();
    panel = new FakePanel();
    await openView();
    opening('/runs/b.pickle').resolve({ snapshot: 's4', info: INFO });
    await dated();
    assert.ok(others(panel.taken()).some((other) => other?.is === 'open'));
  });
});
