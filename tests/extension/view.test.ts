import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type * as vscode from 'vscode';
import type { ToWebviewMessage, ViewState } from '../../extension/shared/messages';
import { ViewStates } from '../../extension/src/editor/states';
import { SnapshotView } from '../../extension/src/editor/view';
import { ProblemError } from '../../extension/src/server/problem';
import { FakeMemory, FakePanel, FakeServer, GRAPH, INFO, log, responseError, settle, STATE } from './fakes';
import { unpack } from '../../webview/src/unpacking';
import { commands, env, events, settings, Uri } from './vscode';

const PROBLEM = { code: 'not-a-snapshot', message: 'No snapshot', advice: '', offset: null, retry: false };
const OPENED = { snapshot: 's1', info: INFO, heap: null };

let server: FakeServer;
let panel: FakePanel;
let memory: FakeMemory;
let opened: string[];

function makeView(uri = Uri.file('/a.pickle'), leavesOthers = false): SnapshotView {
  const host = {
    openSource: () => Promise.resolve(),
    openObjectSource: () => Promise.resolve(),
    saveText: () => Promise.resolve(),
    locate: () => Promise.resolve(),
    downloadSources: () => Promise.resolve(),
    copyLink: () => Promise.resolve(),
    changeBookmarks: () => Promise.resolve(),
    openAsText: (target: vscode.Uri) => {
      opened.push(target.toString());
      return Promise.resolve();
    },
    chooseSeries: () => Promise.resolve(),
    chooseOther: () => Promise.resolve(),
  };
  const typed = uri as unknown as vscode.Uri;
  const dist = Uri.file('/dist') as unknown as vscode.Uri;
  const states = new ViewStates(memory.typed);
  return new SnapshotView(typed, panel.typed, server.typed, states, host, log, dist, leavesOthers);
}

async function openView(): Promise<SnapshotView> {
  const view = makeView();
  panel.received.fire({ type: 'ready' });
  server.last('memlens/open').resolve(OPENED);
  await settle();
  panel.taken();
  return view;
}

beforeEach(() => {
  server = new FakeServer();
  panel = new FakePanel();
  memory = new FakeMemory();
  opened = [];
});

/** What a page is told first: whether single letters are keys. */
const KEYS = { type: 'keys', single: true } as const;

describe('a view', () => {
  it('opens its file at once, and posts its status when the page is ready', async () => {
    const view = makeView();
    assert.deepEqual(server.last('memlens/open').params, { path: '/a.pickle', view: view.id });
    assert.deepEqual(panel.taken(), []);
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken(), [KEYS, { type: 'progress', stage: '', fraction: null }]);
    server.waiting.fire('Looking for a Python');
    assert.deepEqual(panel.taken(), [{ type: 'progress', stage: 'Looking for a Python', fraction: null }]);
    server.progress.fire({ view: view.id, stage: 'reading', fraction: 0.5 });
    server.progress.fire({ view: 'another', stage: 'reading', fraction: 0.6 });
    assert.deepEqual(panel.taken(), [{ type: 'progress', stage: 'reading', fraction: 0.5 }]);
    server.last('memlens/open').resolve(OPENED);
    await settle();
    assert.deepEqual(panel.taken(), [{ type: 'opened', info: INFO, heap: null, state: null }]);
    assert.equal(view.snapshot, 's1');
  });

  it('posts its status and state again to a new page', async () => {
    await openView();
    panel.received.fire({ type: 'state', state: STATE, acts: 0 });
    panel.hide();
    panel.show();
    assert.deepEqual(panel.taken(), []);
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken(), [KEYS, { type: 'opened', info: INFO, heap: null, state: STATE }]);
    assert.equal(server.count('memlens/open'), 1);
  });

  it('says whether single letters are keys, to a page that is ready and when the setting changes', () => {
    settings['singleKeys'] = false;
    makeView();
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken()[0], { type: 'keys', single: false });
    delete settings['singleKeys'];
    const affectsConfiguration = (section: string): boolean => section === 'memlens.singleKeys';
    events.configuration.fire({ affectsConfiguration });
    assert.deepEqual(panel.taken(), [{ type: 'keys', single: true }]);
  });

  it('restores its state in a new window', async () => {
    await openView();
    panel.received.fire({ type: 'state', state: STATE, acts: 0 });
    await settle();
    panel = new FakePanel();
    makeView();
    panel.received.fire({ type: 'ready' });
    server.last('memlens/open').resolve(OPENED);
    await settle();
    assert.deepEqual(panel.taken().at(-1), { type: 'opened', info: INFO, heap: null, state: STATE });
  });

  it('keeps no file that the user did not choose, and nothing but a state, whatever its page reports', async () => {
    const files = (): unknown[] =>
      server.requests
        .filter(({ method }) => method === 'memlens/open')
        .map(({ params }) => params['path'])
        .filter((path) => path !== '/a.pickle');
    const heap = { model: 'graph', pane: null, filter: '', compare: null, graph: GRAPH } as const;
    const compare = { uri: 'file:///other/secret.pickle', by: 'line' } as unknown as ViewState['compare'];
    const series = ['file:///runs/1.pickle', 'file:///runs/2.pickle'];
    const view = await openView();
    const report = async (state: unknown): Promise<unknown> => {
      panel.received.fire({ type: 'state', state: state as ViewState, acts: 0 });
      await settle();
      return new ViewStates(memory.typed).get('file:///a.pickle');
    };
    assert.deepEqual(await report({ ...STATE, compare }), STATE);
    assert.deepEqual(await report({ ...heap, compare, graph: { ...GRAPH, series } }), heap);
    const long = { ...heap, graph: { ...GRAPH, top: 7 } };
    assert.deepEqual(await report({ ...long, filter: 'x'.repeat(8193) }), long);
    assert.deepEqual(await report({ ...heap, filter: '\u{1F600}'.repeat(4096) }), {
      ...heap,
      filter: '\u{1F600}'.repeat(4096),
    });
    assert.deepEqual(await report(heap), heap);
    for (const odd of [
      null,
      7,
      {},
      { ...STATE, x0: '1' },
      { ...heap, graph: null },
      { ...STATE, model: 'x' },
    ])
      assert.deepEqual(await report(odd), heap);
    void view.showSeries([Uri.parse('file:///runs/2.pickle')] as unknown as vscode.Uri[]);
    const chosen = { ...heap, graph: { ...GRAPH, series: series.slice(1) } };
    assert.deepEqual(await report({ ...heap, graph: { ...GRAPH, series } }), chosen);
    panel = new FakePanel();
    makeView();
    // whether it is there is asked of the disk first
    for (const end = Date.now() + 10_000; files().length === 0 && Date.now() < end;)
      await new Promise((resolve) => setTimeout(resolve, 10));
    await settle();
    assert.deepEqual(new Set(files()), new Set(['/runs/2.pickle']));
  });

  it('goes back and forward through what its page reports', async () => {
    const view = await openView();
    const zoomed = { ...STATE, x0: 1.5 };
    panel.received.fire({ type: 'state', state: STATE, acts: 0 });
    panel.received.fire({ type: 'state', state: zoomed, acts: 1 });
    assert.deepEqual([view.canGo(-1), view.canGo(1)], [true, false]);
    panel.received.fire({ type: 'history', by: -1 });
    assert.deepEqual(panel.taken(), [{ type: 'goTo', state: STATE }]);
    assert.deepEqual([view.canGo(-1), view.canGo(1)], [false, true]);
    // the page is made anew: it opens where it went to
    panel.hide();
    panel.show();
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken(), [KEYS, { type: 'opened', info: INFO, heap: null, state: STATE }]);
    panel.received.fire({ type: 'history', by: 1 });
    assert.deepEqual(panel.taken(), [{ type: 'goTo', state: zoomed }]);
  });

  it('queues messages until the page can show them', async () => {
    const view = makeView();
    const message = { type: 'showLine', file: 'a.py', line: 3 } as const;
    view.send(message);
    view.send({ type: 'command', command: 'fit' });
    panel.received.fire({ type: 'ready' });
    server.last('memlens/open').resolve(OPENED);
    await settle();
    assert.deepEqual(panel.taken().slice(-2), [
      { type: 'opened', info: INFO, heap: null, state: null },
      message,
    ]);
    view.send(message);
    assert.deepEqual(panel.taken(), [message]);
  });

  it('carries out a command that its page offered, even if the file is being read again by now', async () => {
    const view = await openView();
    panel.received.fire({ type: 'commands', commands: ['toggleAxis'] });
    const command = { type: 'command', command: 'toggleAxis' } as const;
    server.damaged.fire({ snapshot: 's1', message: 'Damaged.', again: true });
    assert.deepEqual(view.commands, []);
    view.send(command);
    panel.taken();
    server.last('memlens/open').resolve({ ...OPENED, snapshot: 's2' });
    await settle();
    assert.deepEqual(panel.taken(), [{ type: 'opened', info: INFO, heap: null, state: null }, command]);
    // a tab is shown again, and its page is being made
    panel.hide();
    panel.show();
    view.send(command);
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken(), [KEYS, { type: 'opened', info: INFO, heap: null, state: null }, command]);
  });

  it('carries out no command for which nothing is shown: the file could not be read again, or the tab is hidden', async () => {
    const view = await openView();
    panel.received.fire({ type: 'commands', commands: ['toggleAxis'] });
    const command = { type: 'command', command: 'toggleAxis' } as const;
    server.started.fire();
    view.send(command);
    server.last('memlens/open').reject(responseError(-32803, PROBLEM));
    await settle();
    view.send(command);
    panel.received.fire({ type: 'retry' });
    server.last('memlens/open').resolve(OPENED);
    await settle();
    assert.equal(panel.taken().at(-1)?.type, 'opened');
    panel.received.fire({ type: 'commands', commands: ['toggleAxis'] });
    server.started.fire();
    view.send(command);
    panel.hide();
    server.last('memlens/open').resolve(OPENED);
    await settle();
    panel.show();
    panel.received.fire({ type: 'ready' });
    assert.equal(panel.taken().at(-1)?.type, 'opened');
  });

  it('closes its snapshot with its tab', async () => {
    const view = await openView();
    panel.dispose();
    assert.deepEqual(server.last('memlens/close').params, { snapshot: 's1', view: view.id });
  });

  it('cancels reading with its tab, and closes a snapshot that was opened nevertheless', async () => {
    const view = makeView();
    const opening = server.last('memlens/open');
    panel.dispose();
    assert.equal(opening.token?.isCancellationRequested, true);
    assert.equal(server.count('memlens/close'), 0);
    opening.resolve(OPENED);
    await settle();
    assert.deepEqual(server.last('memlens/close').params, { snapshot: 's1', view: view.id });
  });

  it('a file of a name that others have is left to VS Code if it is no snapshot, but not once it was one', async () => {
    const uri = Uri.file('/model.pkl');
    let gone = false;
    panel.onDidDispose(() => {
      gone = true;
    });
    makeView(uri, true);
    panel.received.fire({ type: 'ready' });
    server.last('memlens/open').reject(responseError(-32803, PROBLEM));
    await settle();
    assert.deepEqual(opened, [uri.toString()]);
    assert.ok(gone);

    panel = new FakePanel();
    const view = makeView(uri, true);
    panel.received.fire({ type: 'ready' });
    server.last('memlens/open').resolve(OPENED);
    await settle();
    void view.reload();
    server.last('memlens/open').reject(responseError(-32803, PROBLEM));
    await settle();
    assert.equal(panel.taken().at(-1)?.type, 'failed');
    assert.equal(opened.length, 1);
  });

  it('shows what went wrong, offers the text editor, and can retry', async () => {
    makeView();
    panel.received.fire({ type: 'ready' });
    server.last('memlens/open').reject(responseError(-32803, PROBLEM));
    await settle();
    assert.deepEqual(panel.taken().at(-1), { type: 'failed', problem: PROBLEM, canOpenAsText: true });
    panel.received.fire({ type: 'retry' });
    assert.equal(server.count('memlens/open'), 2);
    server.last('memlens/open').reject(responseError(-32803, { ...PROBLEM, code: 'out-of-memory' }));
    await settle();
    const failed = panel.taken().at(-1);
    assert.ok(failed?.type === 'failed' && !failed.canOpenAsText);
    panel.received.fire({ type: 'openAsText' });
    await settle();
    assert.deepEqual(opened, ['file:///a.pickle']);
  });

  it('offers a Python where the server has none, and opens by itself once it runs', async () => {
    const ran: unknown[][] = [];
    const registered = ['memlens.installPython', 'workbench.action.openSettings'].map((name) =>
      commands.registerCommand(name, (...args) => ran.push([name, ...args])),
    );
    for (const [before, code] of ['no-python', 'no-libraries', 'no-server'].entries()) {
      makeView();
      panel.received.fire({ type: 'ready' });
      server.last('memlens/open').reject(new ProblemError({ ...PROBLEM, code, retry: true }));
      await settle();
      const failed = panel.taken().at(-1);
      assert.ok(failed?.type === 'failed' && failed.problem.code === code && !failed.canOpenAsText);
      panel.received.fire({ type: 'installPython' });
      panel.received.fire({ type: 'openPythonSetting' });
      await settle();
      assert.deepEqual(ran.splice(0), [
        ['memlens.installPython'],
        ['workbench.action.openSettings', 'memlens.interpreter'],
      ]);
      // neither takes the page away
      assert.deepEqual(panel.taken(), []);
      assert.equal(server.count('memlens/open'), 2 * before + 1);
      server.started.fire();
      assert.equal(server.count('memlens/open'), 2 * before + 2);
      panel.dispose();
      panel = new FakePanel();
    }
    for (const each of registered) each.dispose();
  });

  it('can be cancelled while it reads', async () => {
    makeView();
    panel.received.fire({ type: 'ready' });
    panel.received.fire({ type: 'cancelOpen' });
    const opening = server.last('memlens/open');
    assert.equal(opening.token?.isCancellationRequested, true);
    opening.reject(responseError(-32800));
    await settle();
    const failed = panel.taken().at(-1);
    assert.ok(failed?.type === 'failed' && failed.problem.code === 'cancelled' && failed.problem.retry);
  });

  it('opens its file again in a restarted server', async () => {
    const view = await openView();
    server.started.fire();
    assert.equal(server.count('memlens/open'), 2);
    server.last('memlens/open').resolve({ ...OPENED, snapshot: 's2' });
    await settle();
    assert.equal(view.snapshot, 's2');
    assert.equal(panel.taken().at(-1)?.type, 'opened');
    assert.equal(server.count('memlens/close'), 0);
  });

  it('opens its file again when the server has lost it', async () => {
    await openView();
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/stack', params: { allocation: 1 } });
    server.last('memlens/stack').reject(responseError(-32803, { ...PROBLEM, code: 'closed' }));
    await settle();
    assert.equal(server.count('memlens/open'), 2);
  });

  it('opens its file again when its archive was damaged and is remade, and only then', async () => {
    await openView();
    server.damaged.fire({ snapshot: 'another', message: 'Damaged.', again: true });
    server.damaged.fire({ snapshot: 's1', message: 'Damaged, and all there is.', again: false });
    assert.equal(server.count('memlens/open'), 1);
    server.damaged.fire({ snapshot: 's1', message: 'Damaged.', again: true });
    assert.equal(server.count('memlens/open'), 2);
    assert.equal(server.count('memlens/close'), 0);
  });

  it('asks everything anew, by its new name, when whose code is whose follows another setting', async () => {
    const view = await openView();
    panel.taken();
    server.relabelled.fire({ snapshot: 'another', now: 's9' });
    assert.deepEqual(panel.taken(), []);
    server.relabelled.fire({ snapshot: 's1', now: 's2' });
    await settle();
    assert.equal(view.snapshot, 's2');
    assert.deepEqual(
      panel.taken().map(({ type }) => type),
      ['opened'],
    );
    assert.equal(server.count('memlens/open') + server.count('memlens/close'), 1);
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/stack', params: { allocation: 1 } });
    assert.equal(server.last('memlens/stack').params['snapshot'], 's2');
    panel.dispose();
    assert.equal(server.last('memlens/close').params['snapshot'], 's2');
  });

  it('stays open after an internal error, and shows the log', async () => {
    await openView();
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/stack', params: { allocation: 1 } });
    const problem = { ...PROBLEM, code: 'internal' };
    server.last('memlens/stack').reject(responseError(-32803, problem));
    await settle();
    assert.deepEqual(panel.taken(), [{ type: 'response', id: 1, ok: false, problem }]);
    assert.equal(server.count('memlens/open'), 1);
    let shown = 0;
    const command = commands.registerCommand('memlens.showLog', () => (shown += 1));
    panel.received.fire({ type: 'showLog' });
    await settle();
    command.dispose();
    assert.equal(shown, 1);
  });

  it('fails if its file is not on this machine', async () => {
    makeView(Uri.from({ scheme: 'git', path: '/a.pickle' }));
    panel.received.fire({ type: 'ready' });
    await settle();
    const failed = panel.taken().at(-1);
    assert.ok(failed?.type === 'failed');
    assert.match(failed.problem.message, /not a file on this machine/);
    assert.equal(server.count('memlens/open'), 0);
  });
});

describe('a file that changes on disk', () => {
  const happened = async (state: string): Promise<void> => {
    server.fileState = state;
    events.disk.fire(Uri.file('/b.pickle')); // ignored
    events.focus.fire({ focused: true });
    await settle();
  };

  it('is reported once, with the old content still shown, until it is as before', async () => {
    await openView();
    await happened('changed');
    await happened('changed');
    assert.deepEqual(panel.taken(), [{ type: 'file', of: 'own', state: 'changed' }]);
    await happened('gone');
    await happened('same');
    assert.deepEqual(panel.taken(), [
      { type: 'file', of: 'own', state: 'gone' },
      { type: 'file', of: 'own', state: 'same' },
    ]);
    assert.equal(server.count('memlens/open'), 1);
  });

  it('is reported to a new page, unless the user has dismissed it', async () => {
    await openView();
    await happened('changed');
    panel.received.fire({ type: 'ready' });
    assert.deepEqual(panel.taken().at(-1), { type: 'file', of: 'own', state: 'changed' });
    panel.received.fire({ type: 'dismissFile', of: 'own' });
    await settle();
    panel.taken();
    panel.received.fire({ type: 'ready' });
    assert.equal(panel.taken().at(-1)?.type, 'opened');
  });

  it('is read again on request: numbers in the state are dropped, the visible range is not', async () => {
    await openView();
    const state = { ...STATE, selection: 7, first: 3, second: 9 };
    panel.received.fire({ type: 'state', state, acts: 0 });
    await happened('changed');
    panel.received.fire({ type: 'reload', of: 'own' });
    server.fileState = 'same';
    server.last('memlens/open').resolve({ ...OPENED, snapshot: 's2' });
    await settle();
    const order = server.requests.map(({ method, params }) => [method, params['snapshot'] ?? params['path']]);
    assert.deepEqual(order.slice(-2), [
      ['memlens/close', 's1'],
      ['memlens/open', '/a.pickle'],
    ]);
    assert.deepEqual(panel.taken().at(-1), { type: 'opened', info: INFO, heap: null, state: STATE });
  });

  it('is noticed by file system events', async () => {
    await openView();
    server.fileState = 'changed';
    events.disk.fire(Uri.file('/a.pickle'));
    while (panel.posted.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(panel.taken(), [{ type: 'file', of: 'own', state: 'changed' }]);
  });
});

describe('requests of a view', () => {
  it('are about its own snapshot, whatever the page sends', async () => {
    await openView();
    panel.received.fire({
      ...{ type: 'request', id: 7, method: 'memlens/stack' },
      params: { allocation: 3, snapshot: 'another' },
    });
    assert.deepEqual(server.last('memlens/stack').params, { allocation: 3, snapshot: 's1' });
    server.last('memlens/stack').resolve({ frames: [] });
    await settle();
    assert.deepEqual(panel.taken(), [{ type: 'response', id: 7, ok: true, result: { frames: [] } }]);
  });

  it('are limited to the methods for views', async () => {
    await openView();
    for (const method of ['memlens/close', 'shutdown', 'toString']) {
      panel.received.fire({ type: 'request', id: 1, method, params: {} });
    }
    assert.deepEqual(
      server.requests.map((each) => each.method),
      ['memlens/open'],
    );
  });

  it('return geometry as bytes', async () => {
    await openView();
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/viewport', params: {} });
    server
      .last('memlens/viewport')
      .resolve({ geometry: Buffer.from([1, 2, 3, 255]).toString('base64'), names: [] });
    await settle();
    const [answer] = panel.taken();
    assert.ok(answer?.type === 'response' && answer.ok);
    const { geometry, ...rest } = answer.result as { geometry: unknown };
    assert.ok(geometry instanceof ArrayBuffer);
    assert.deepEqual([[...new Uint8Array(geometry)], rest], [[1, 2, 3, 255], { names: [] }]);
  });

  it('return large results compressed where the page may be on another machine', async (test) => {
    const at = env as { remoteName?: string };
    at.remoteName = 'ssh-remote';
    test.after(() => delete at.remoteName);
    await openView();
    const geometry = Buffer.alloc(50_000, 'stack');
    const ask = async (id: number, result: object): Promise<ToWebviewMessage | undefined> => {
      panel.received.fire({ type: 'request', id, method: 'memlens/viewport', params: {} });
      server.last('memlens/viewport').resolve(result);
      while (panel.posted.length === 0) await settle();
      return panel.taken()[0];
    };
    const answer = await ask(1, { geometry: geometry.toString('base64'), areas: [{ name: 'größer' }] });
    assert.ok(answer?.type === 'packed' && answer.id === 1);
    assert.ok(answer.json.byteLength + (answer.geometry?.byteLength ?? 0) < 1000);
    assert.deepEqual(await unpack(answer), {
      areas: [{ name: 'größer' }],
      geometry: new Uint8Array(geometry).buffer,
    });
    const texts = await ask(2, { names: Array.from({ length: 1000 }, (_, at) => `name ${at}`) });
    assert.ok(texts?.type === 'packed' && texts.geometry === null);
    assert.equal(((await unpack(texts)) as { names: string[] }).names[999], 'name 999');
    const small = await ask(3, { names: [] });
    assert.deepEqual(small, { type: 'response', id: 3, ok: true, result: { names: [] } });
  });

  it('for a viewport are cancelled by newer ones', async () => {
    await openView();
    const ask = (id: number, method: string): void => {
      panel.received.fire({ type: 'request', id, method, params: {} });
    };
    ask(1, 'memlens/viewport');
    ask(2, 'memlens/stack');
    ask(3, 'memlens/viewport');
    const [first, stack, second] = server.requests.slice(1);
    assert.equal(first?.token?.isCancellationRequested, true);
    assert.equal(stack?.token?.isCancellationRequested, false);
    assert.equal(second?.token?.isCancellationRequested, false);
    first.reject(responseError(-32800));
    await settle();
    const [answer] = panel.taken();
    assert.ok(answer?.type === 'response' && !answer.ok && answer.problem.code === 'cancelled');
  });

  it('are cancelled with the page', async () => {
    await openView();
    panel.received.fire({ type: 'request', id: 1, method: 'memlens/live', params: {} });
    panel.hide();
    assert.equal(server.last('memlens/live').token?.isCancellationRequested, true);
  });
});
