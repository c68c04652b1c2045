import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import type {
  GraphState,
  HeapState,
  ProfileState,
  TimelineState,
  ViewState,
} from '../../extension/shared/messages';
import { History } from '../../extension/src/editor/history';
import { ownPath, readLink, readsMore, sharedPath, writeLink } from '../../extension/src/links/link';
import { GRAPH, STATE } from './fakes';

const at = (x0: number, others: Partial<TimelineState> = {}): TimelineState => ({ ...STATE, x0, ...others });

/** The place before or after. */
function go(history: History, by: -1 | 1): TimelineState | null {
  const state = history.go(by);
  return state?.model === 'timeline' ? state : null;
}

describe('Back and Forward', () => {
  it('go through the places of a view', () => {
    const history = new History();
    history.record(at(1), 0, 0);
    assert.equal(history.can(-1), false);
    history.record(at(1, { pane: 'flame' }), 1, 5_000);
    history.record(at(1, { pane: 'flame', filter: 'a' }), 2, 10_000);
    assert.equal(go(history, -1)?.filter, '');
    assert.equal(go(history, -1)?.pane, null);
    assert.equal(go(history, -1), null);
    assert.equal(go(history, 1)?.pane, 'flame');
    // what a restored state brings with it isn't a place, nor loses what lies ahead
    history.record(at(1, { pane: 'flame', selection: 3 }), 0, 20_000);
    assert.equal(history.can(1), true);
    // another place does
    history.record(at(4), 1, 30_000);
    assert.equal(history.can(1), false);
    assert.equal(go(history, -1)?.selection, 3);
  });

  it('fast changes of the same parts are one place', () => {
    const history = new History();
    history.record(at(1), 0, 0);
    for (let i = 1; i <= 5; i++) history.record(at(1 + i / 10), i, 5_000 + 300 * i);
    history.record(at(1.5, { pane: 'flame' }), 6, 6_700);
    history.record(at(1.7, { pane: 'flame' }), 7, 9_000);
    assert.equal(go(history, -1)?.x0, 1.5);
    assert.equal(go(history, -1)?.pane, null);
    assert.equal(go(history, -1)?.x0, 1);
    assert.equal(history.can(-1), false);
  });

  it('another object and what is left out for it are two places of a heap dump, however fast', () => {
    const history = new History();
    const graph = { selection: null, without: [], x0: 0, x1: 1, top: 0 } as unknown as GraphState;
    const selection = { is: 'object', object: 3 } as const;
    const [type, object, left] = [{}, { selection }, { selection, without: [selection] }].map(
      (more): ViewState => ({
        ...{ model: 'graph', pane: null, filter: '', compare: null },
        graph: { ...graph, ...more },
      }),
    );
    assert.ok(type && object && left);
    history.record(type, 0, 0);
    history.record(object, 1, 5_000);
    history.record(left, 2, 5_300);
    assert.equal(history.go(-1), object);
    assert.equal(history.go(-1), type);
    // a zoom by the wheel is one place, whatever of the part in view it changes
    history.record({ ...type, graph: { ...graph, x1: 0.5 } } as ViewState, 1, 9_000);
    const zoomed = { ...type, graph: { ...graph, x1: 0.4, top: 2 } } as ViewState;
    history.record(zoomed, 2, 9_300);
    assert.equal(history.go(-1), type);
    // a row that is opened is none
    history.record({ ...type, graph: { ...graph, opened: { types: ['type:1'] } } } as ViewState, 3, 20_000);
    assert.deepEqual([history.can(-1), history.can(1)], [false, true]);
  });

  it('what comes late of an act belongs to its place, and a new page counts anew', () => {
    const history = new History();
    history.record(at(1), 0, 0);
    history.record(at(1, { selection: 7 }), 1, 5_000);
    history.record(at(1, { selection: 7, first: 9, scope: 'cursor' }), 1, 9_000);
    history.restart();
    history.record(at(1, { selection: 7, first: 9, scope: 'cursor', pane: 'steps' }), 0, 20_000);
    assert.equal(go(history, -1)?.selection, null);
    assert.equal(go(history, 1)?.pane, 'steps');
    history.clear();
    assert.equal(go(history, -1), null);
  });
});

describe('a link', () => {
  const link = {
    path: '/work/a b&c.pickle',
    within: 'runs/a b&c.pickle',
    state: at(2, { filter: 'größe>1' }),
  };
  const parse = (text: string): { path: string; query: string } => {
    const { pathname, search } = new URL(text);
    return { path: pathname, query: decodeURIComponent(search.slice(1)) };
  };
  const packed = (value: unknown): { path: string; query: string } => ({
    path: '/open',
    query: `at=${deflateRawSync(JSON.stringify(value)).toString('base64url')}`,
  });

  it('says a file and a place, and is read as it was written', () => {
    const text = writeLink('vscode', 'memlens.memlens', link);
    assert.match(text, /^vscode:\/\/memlens\.memlens\/open\?at=[\w-]+$/);
    assert.deepEqual(readLink(parse(text)), link);
    assert.deepEqual(readLink(parse(writeLink('vscode', 'a.b', { ...link, state: null })))?.state, null);
  });

  it('says no name of a home folder', () => {
    assert.equal(sharedPath('/home/ada/runs/a.pickle', '/home/ada'), '~/runs/a.pickle');
    for (const other of ['/home/adam/a.pickle', '/data/a.pickle', '/home/ada'])
      assert.equal(sharedPath(other, '/home/ada'), other);
    assert.equal(ownPath('~/runs/a.pickle', '/home/bob'), '/home/bob/runs/a.pickle');
    assert.equal(ownPath('/data/a.pickle', '/home/bob'), '/data/a.pickle');
  });

  it('leads to a place of any model', () => {
    const shared = { pane: null, filter: '', compare: null } as const;
    const range = { kind: 'freed', from: 1, to: null } as const;
    const profile: ProfileState = { ...shared, model: 'profile', value: 1, range, flame: null };
    const graph: GraphState = GRAPH;
    for (const state of [profile, { ...profile, range: null }, { ...shared, model: 'graph', graph } as const])
      assert.deepEqual(readLink(parse(writeLink('vscode', 'a.b', { ...link, state })))?.state, state);
    const odd = { ...profile, range: { kind: 'freed', from: 'start', to: null } };
    assert.equal(readLink(packed({ ...link, state: odd }))?.state, null);
  });

  it('opens no second file, and nothing that is in it is believed', () => {
    const compare = { uri: 'file:///etc/passwd' } as unknown as ViewState['compare'];
    const both = { ...link, state: { ...link.state, compare } };
    assert.equal(readLink(parse(writeLink('vscode', 'a.b', both)))?.state?.compare, null);
    assert.equal(readLink(packed(both))?.state, null);
    const heap = { model: 'graph', pane: null, filter: '', compare: null, graph: GRAPH } as HeapState;
    const series = { ...heap, graph: { ...GRAPH, series: ['file:///etc/passwd'] } };
    const written = readLink(parse(writeLink('vscode', 'a.b', { ...link, state: series })))?.state;
    assert.deepEqual(written, heap);
    for (const state of [
      series,
      ...Object.keys(GRAPH).map((name) => ({ ...heap, graph: { ...GRAPH, [name]: { toString: 1 } } })),
      { ...link.state, x0: 'one' },
      { ...link.state, model: 'graph' },
      { ...link.state, filter: 7 },
      [],
      'x',
      { x0: 1 },
    ])
      assert.equal(readLink(packed({ ...link, state }))?.state, null);
    assert.equal(readLink(packed({ ...link, path: 7 })), null);
    assert.equal(readLink(packed(null)), null);
    assert.equal(readLink({ path: '/run', query: packed(link).query }), null);
    assert.equal(readLink({ path: '/open', query: 'at=AAAA' }), null);
    assert.equal(readLink(packed({ ...link, within: 'x'.repeat(100_000) })), null);
  });

  it('has nothing that can’t be shown whole when the user is asked about it', () => {
    const padded = ' '.repeat(1_000);
    const filterOf = (filter: string) =>
      readLink(packed({ ...link, state: { ...link.state, filter } }))?.state?.filter;
    assert.equal(filterOf(`main.py${padded}in:/etc/passwd`), '');
    assert.equal(filterOf('main.py in:/etc/passwd'), 'main.py in:/etc/passwd');
    assert.equal(filterOf(`main.py${padded}`), `main.py${padded}`);
    assert.equal(readLink(packed({ ...link, path: `/${'./'.repeat(1_000)}etc/passwd` })), null);
  });

  it('asks before a filter reads other files or runs a query', () => {
    const reading = ['in:/etc/passwd', '-in:a', 'a, IN : b', 'query:"SELECT 1"', 'retained-by:"in:x"'];
    // a colon isn't the only comparison
    for (const filter of [...reading, 'in=/etc/passwd', 'IN>=a', 'query="SELECT 1"', 'retained-by:"query=x"'])
      assert.ok(readsMore(filter), filter);
    for (const filter of ['', 'main.py', 'type:Session', 'within', 'function:query', 'origin: x'])
      assert.ok(!readsMore(filter), filter);
  });
});
