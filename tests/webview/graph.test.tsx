// A heap dump's tables, details and chart, and a fleet's words: no text is left in English, and what is copied is exact.

import { signal } from '@preact/signals';
import { drawn, drawnUntil, mounted } from './support/dom';
import { mountedPane } from './support/pane';
import { ADDRESSES } from './support/heap-format';
import { assertTranslated } from './support/pseudo';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { render, type VNode } from 'preact';
import type { GraphState, HeapSelection } from '../../extension/shared/messages';
import type {
  ComparedFinding,
  ComparedType,
  ComponentAnswer,
  GraphInfo,
  HeapFormat,
  HeapBookmark,
  HeapOverviewAnswer,
  HeapSeries,
  ImageAnswer,
  ObjectAnswer,
  ObjectRow,
  LeastCutAnswer,
  PathsAnswer,
  ReferenceRow,
  SnapshotFinding,
  TypeRow,
} from '../../extension/shared/protocol.gen';
import type { Api } from '../../webview/src/api';
import { t } from '../../webview/src/base/l10n';
import type { Compare } from '../../webview/src/compare/comparison';
import { FLAME_KEYS } from '../../webview/src/flame/keys';
import { termOf } from '../../webview/src/graph/allocations';
import { bookmarksPane, Note } from '../../webview/src/graph/bookmarks';
import { HeapBookmarks } from '../../webview/src/graph/heap-bookmarks';
import { ComparePane } from '../../webview/src/graph/compare';
import type { GraphSession } from '../../webview/src/graph/session';
import { dominatorsPane } from '../../webview/src/graph/dominators';
import { Inspector } from '../../webview/src/graph/inspector';
import { mayBeDefined, mayHaveSource, selectionMenu } from '../../webview/src/graph/menu';
import { Overview } from '../../webview/src/graph/overview';
import { withoutSameEnd, withoutSameStart } from '../../webview/src/graph/series';
import { restoreGraph } from '../../webview/src/graph/state';
import { threadsPane } from '../../webview/src/graph/threads';
import { typesPane } from '../../webview/src/graph/types';
import { whyPane } from '../../webview/src/graph/why';
import { copiedName, factsOf, setFormat, typeAndModule } from '../../webview/src/graph/words';
import { EVERYTHING } from '../../webview/src/shell/context';
import { graphKeys } from '../../webview/src/graph/key-list';
import type { Pane } from '../../webview/src/shell/pane';

afterEach(() => {
  document.body.replaceChildren();
});

/** For what must not happen. */
const never = (): never => assert.fail('It was called.');
const MIB = 2 ** 20;
const INFO = {
  ...{ model: 'graph', path: '/δ/σ', file_bytes: 9, objects: 9, types: 2, compact_nodes: 3 },
  ...{ shallow_bytes: 4 * MIB, native_bytes: 0, image_types: [] as number[] },
} as GraphInfo;

const row = (object: number, more: Partial<ObjectRow> = {}): ObjectRow => ({
  ...{ object, id: object, type: 'Σ.Δ', name: 'Ω', shallow_bytes: 40, retained_bytes: MIB + 1 },
  ...{ dominator: 0, distance: 3, flags: ['φ'], space: 'χ', file: '/σ/μ.π', line: 8 },
  ...{ native_bytes: null, native_retained_bytes: null, ...more },
});
const OBJECT = { is: 'object', object: 1 } as const;
const TYPE: TypeRow = {
  ...{ number: 1, type: 'Σ.Δ', kind: 'κ', count: 1234, shallow_bytes: 40, retained_bytes: MIB + 1 },
  ...{ file: null, line: null, estimated_count: null, estimated_shallow_bytes: null },
  ...{ unreachable_count: 0, unreachable_bytes: 0 },
  ...{ native_bytes: null, native_retained_bytes: null },
};

/** A view whose server has one answer for each question; `did` is what it was asked to copy or to select. */
function contextWith(
  answers: Readonly<Record<string, unknown>>,
  selection: HeapSelection | null = null,
  info: GraphInfo = INFO,
): GraphSession & { readonly did: unknown[] } {
  const did: unknown[] = [];
  const api = {
    request: (method: string) => ({
      answer: method in answers ? Promise.resolve(answers[method]) : assert.fail(method),
      cancel: () => undefined,
    }),
    post: () => undefined,
  } as unknown as Api;
  const state = { ...restoreGraph(info, null), selection };
  return {
    ...{ api, info, format: ADDRESSES, filter: '', did, state },
    keep: (part: Partial<GraphState>) => Object.assign(state, part),
    wasteOf: signal(null),
    tree: signal('dominators'),
    bookmarks: { of: () => undefined, list: signal([]) },
    copy: (text: string) => did.push(text),
    select: (selected: unknown) => did.push(selected),
    showImages: (filter: string) => did.push({ images: filter }),
    say: () => undefined,
    failed: (error: unknown) => {
      throw error;
    },
  } as unknown as GraphSession & { readonly did: unknown[] };
}

/** What the strip over the picture knows. */
const overviewOf = (
  api: Api,
  native = 0,
  list: (filter: string) => void = never,
): ConstructorParameters<typeof Overview>[0] => ({
  api,
  info: { ...INFO, native_bytes: native },
  list,
  failed: never,
});

/** The details beside a picture; `outline` is told the group of an object. */
function inspectorOf(
  context: GraphSession,
  outline: (group: number | null) => void = () => undefined,
): Inspector {
  return new Inspector(Object.assign(context, { arrange: never, whileShown: () => undefined }), {
    focus: never,
    outline,
  });
}

async function shown(pane: Pane): Promise<HTMLElement> {
  const host = mountedPane(pane);
  // a DOM without layout has no height to draw rows in
  for (const grid of host.querySelectorAll('.grid'))
    Object.defineProperty(grid, 'clientHeight', { value: 220 });
  pane.update(new Set(EVERYTHING));
  await drawn();
  assertTranslated(host, 'a pane');
  return host;
}

const NO_CUT: LeastCutAnswer = {
  ...{ objects: 1, holder: null, count: 1, references: [], freed_bytes: null, freed_native_bytes: null },
};

const OVERVIEW: HeapOverviewAnswer = {
  ...{ objects: 9, shallow_bytes: 4 * MIB, unreachable_objects: 1, unreachable_bytes: MIB },
  ...{ kinds: [{ name: 'κ', objects: 2, shallow_bytes: MIB }], spaces: [], roots: [], flags: [] },
  realms: [
    {
      ...{ object: 3, name: { text: 'σ.π', template: '', values: {} }, filter: 'realm:@7' },
      ...{ objects: 2, shallow_bytes: MIB },
    },
  ],
  strengths: ['strong', 'weak', 'ephemeron'],
};

const none = (): VNode => <></>;

test('types: what is copied of the table has exact figures, and a row leads to its type', async () => {
  const context = contextWith({ 'memlens/heapTypes': { rows: [TYPE, { ...TYPE, number: 2 }], total: 2 } });
  const pane = typesPane.make(context);
  const host = await shown(pane);
  host.querySelector<HTMLElement>('.grid-row')?.click();
  assert.deepEqual(context.did.pop(), { is: 'type', kind: 1 });
  host.querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  const lines = String(context.did.pop()).split('\n');
  assert.deepEqual(lines[1]?.split('\t'), ['Σ.Δ', '1,234', '40 B', '1.00 MiB', '25.0%']);
  pane.dispose?.();
});

test('threads: one that is revealed opens, a frame leads to its line, a variable is selected', async () => {
  const frame = { file: '/σ/μ.π', line: 17, function: 'δ.σ.Σ.λ', kind: 'user', source: 'recorded' };
  const figures = { variables: 1, shallow_bytes: 40, retained_bytes: MIB + 1 };
  const thread = { ...figures, name: 'Θ', object: row(1), frames: 1, state: 'waiting', request: 'ΓΕΤ /ζ' };
  const failed = { ...thread, thread: 7, out_of_memory: true, failed_at: frame };
  const other = { ...thread, thread: 8, out_of_memory: false, failed_at: null, state: '', name: '' };
  const parts = [
    { ...figures, part: 'object', depth: null, frame: null, object: row(1) },
    { ...figures, part: 'thread locals', depth: null, frame: null, object: null },
    { ...figures, part: 'frame', depth: 0, frame, object: null },
    { ...figures, part: 'frame', depth: 1, frame: null, object: null, variables: 0 },
  ];
  const variables = [
    { name: 'ρ', kind: 'thread local', object: row(3) },
    { name: '', kind: 'κ', object: row(4) },
  ];
  const context = contextWith({
    'memlens/heapThreads': { rows: [failed, other], total: 2 },
    'memlens/heapStack': { rows: parts, total: 4 },
    'memlens/heapVariables': { rows: variables, total: 2 },
  });
  const places: unknown[] = [];
  context.openFrame = ({ file, line }, beside) => places.push([file, line, beside]);
  const pane = threadsPane.make(context);
  const host = mountedPane(pane);
  for (const grid of host.querySelectorAll('.grid'))
    Object.defineProperty(grid, 'clientHeight', { value: 220 });
  // before there are any rows
  pane.reveal?.({ thread: 7 });
  pane.update(new Set(EVERYTHING));
  await drawn();
  await drawn();
  const rows = (): HTMLElement[] => [...host.querySelectorAll<HTMLElement>('.grid-row')];
  assert.deepEqual(
    rows().map((each) => each.getAttribute('aria-level')),
    ['1', '2', '2', '2', '2', '1'],
  );
  assert.ok(
    rows().every((each) => each.getAttribute('aria-selected') === 'false'),
    'a frame is nothing that is selected',
  );
  rows()[3]?.querySelector<HTMLElement>('.twistie')?.click();
  await drawn();
  await drawn();
  assertTranslated(host, 'threads');
  rows()[3]?.click();
  assert.deepEqual(places, [['/σ/μ.π', 17, false]]);
  rows()[4]?.click();
  assert.deepEqual(context.did.pop(), { is: 'object', object: 3 });
  assert.match(rows()[4]?.textContent ?? '', /^ρ = Δ/);
  host.querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  const lines = String(context.did.pop()).split('\n');
  assert.deepEqual(lines[4]?.split('\t').slice(0, 4), ['δ.σ.Σ.λ μ.π:17', '1', '40 B', '1.00 MiB']);
  // what a variable contains and what a thread handles are contents
  assert.match(lines[5] ?? '', /^ρ = Δ @\S+ "…"\t/);
  assert.doesNotMatch(lines.join('\n'), /Ω|ΓΕΤ/);
  pane.dispose?.();
});

test('a table without rows says so, and dominators are words of any language', async () => {
  const none = contextWith({ 'memlens/heapDominated': { rows: [], total: 0 } });
  const empty = await shown(dominatorsPane.make(none));
  assert.equal(empty.querySelector<HTMLElement>('.heap-none')?.hidden, false);
  const lost = row(1, { distance: null });
  const host = await shown(
    dominatorsPane.make(contextWith({ 'memlens/heapDominated': { rows: [lost], total: 2 } })),
  );
  assert.equal(host.querySelectorAll('.grid-row').length, 2, 'one, and one more to be fetched');
});

test('the facts name the format as its makers do, and what is of one kind has no list of kinds', async () => {
  setFormat(ADDRESSES);
  const facts = factsOf({ ...INFO, references: 1, roots: 1, threads: 0, count_multiplier: 1 });
  assert.ok(facts.includes('HPROF'), facts);
  for (const names of [['κ'], ['κ', 'λ']]) {
    const kinds = names.map((name) => ({ name, objects: 2, shallow_bytes: MIB }));
    const { api } = contextWith({ 'memlens/heapOverview': { ...OVERVIEW, kinds } });
    const overview = new Overview(overviewOf(api), none);
    const host = document.body.appendChild(document.createElement('div'));
    render(<overview.View />, host);
    await drawn();
    assert.equal(host.querySelectorAll('.heap-parts li').length, names.length === 1 ? 0 : 2);
  }
});

test('parts of the heap are filters: a kind, and a frame of a page', async () => {
  const { api } = contextWith({ 'memlens/heapOverview': OVERVIEW });
  const did: string[] = [];
  const overview = new Overview(
    overviewOf(api, 0, (filter) => did.push(filter)),
    none,
  );
  const host = mounted(<overview.View />);
  await drawn();
  for (const at of [0, 2]) {
    host.querySelector<HTMLElement>('[aria-haspopup=menu]')?.click();
    await drawn();
    document.querySelectorAll<HTMLElement>('[role=menuitem]')[at]?.click();
  }
  assert.deepEqual(did, ['kind:"=κ"', 'realm:@7']);
});

test('a type’s assembly or class loader is named by its last part', () => {
  for (const [type, own, module] of [
    ['System.Threading.Timer (C:\\GAC_32\\v4.0\\mscorlib.dll)', 'System.Threading.Timer', 'mscorlib.dll'],
    ['CallbackInfo[] (Ptrs,ElemSize=4) (/usr/lib/App.dll)', 'CallbackInfo[] (Ptrs,ElemSize=4)', 'App.dll'],
    [
      'shop.Session (jdk.internal.loader.ClassLoaders$AppClassLoader)',
      'shop.Session',
      'ClassLoaders$AppClassLoader',
    ],
    ['Shop.Session (my.app.dll)', 'Shop.Session', 'my.app.dll'],
    ['(compiled code)', '(compiled code)', ''],
    ['Session', 'Session', ''],
  ] as const)
    assert.deepEqual(typeAndModule(type), [own, module]);
});

test('rows of the dominator tree that fit the filter, too, are marked', async () => {
  const rows = [row(1, { flags: [] }), row(2, { flags: [] })];
  const answers = { 'memlens/heapDominated': { rows, total: 2, contained: [true, false] } };
  const host = await shown(dominatorsPane.make(contextWith(answers)));
  const marked = [...host.querySelectorAll('.grid-row')].map(
    (each) => each.querySelectorAll('.badge').length,
  );
  assert.deepEqual(marked, [1, 0]);
});

test('the table shows the tree of shortest paths with totals, and asks for the other one', async () => {
  const total = { rows: [row(1, {})], total: 1, contained: null, total_bytes: [3 * MIB] };
  const context = contextWith({ 'memlens/heapDominated': total });
  const chosen: unknown[] = [];
  Object.assign(context, { tree: signal('paths'), showTree: (tree: unknown) => chosen.push(tree) });
  const pane = dominatorsPane.make(context);
  const host = await shown(pane);
  host.querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  const lines = String(context.did.pop()).split('\n');
  // distance, shallow, total, share, retained
  assert.deepEqual(lines[1]?.split('\t').slice(1, 6), ['3', '40 B', '3 MiB', '75.0%', '1.00 MiB']);
  const select = host.querySelector('select');
  assert.equal(select?.value, 'paths');
  select.value = 'dominators';
  select.dispatchEvent(new Event('change', { bubbles: true }));
  assert.deepEqual(chosen, ['dominators']);
});

test('a table that takes long says so, can be given up and be asked for again', async () => {
  const context = contextWith({});
  let [asked, cancelled] = [0, 0];
  Object.assign(context.api, {
    request: () => {
      asked++;
      return { answer: new Promise(() => undefined), cancel: () => cancelled++ };
    },
  });
  const host = await shown(typesPane.make(context));
  const press = async (selector: string): Promise<void> => {
    host.querySelector<HTMLElement>(selector)?.click();
    await drawn();
    assertTranslated(host, selector);
  };
  await press('.heap-waiting .link');
  assert.deepEqual([asked, cancelled, host.querySelector('.heap-waiting')], [1, 1, null]);
  await press('.heap-none .link');
  assert.equal(asked, 2);
  assert.ok(host.querySelector('.heap-waiting'));
});

test('rows that were open are open again in another session of the same dump', async () => {
  const answers = {
    'memlens/heapTypes': { rows: [TYPE, { ...TYPE, number: 2 }], total: 2 },
    'memlens/heapObjects': { rows: [row(3), row(4)], total: 2 },
  };
  const context = contextWith(answers);
  const { state } = context;
  const rows = (host: HTMLElement): string[] =>
    [...host.querySelectorAll('.grid-row')].map((each) => each.getAttribute('aria-level') ?? '');
  const pane = typesPane.make(context);
  const host = await shown(pane);
  host.querySelectorAll<HTMLElement>('.twistie')[1]?.click();
  await drawn();
  assert.deepEqual(rows(host), ['1', '1', '2', '2']);
  pane.dispose?.();

  const next = contextWith(answers);
  Object.assign(next.state, restoreGraph(INFO, JSON.parse(JSON.stringify(state)) as GraphState));
  const restored = await shown(typesPane.make(next));
  await drawn();
  assert.deepEqual(rows(restored), ['1', '1', '2', '2']);

  // the only row opens by itself, and is not kept
  const only = contextWith({ ...answers, 'memlens/heapTypes': { rows: [TYPE], total: 1 } });
  const chain = await shown(typesPane.make(only));
  await drawn();
  assert.deepEqual([rows(chain), only.state.opened], [['1', '2', '2'], {}]);

  assert.deepEqual(restoreGraph({ ...INFO, file_bytes: 8 }, state).opened, {});
  assert.deepEqual(restoreGraph(INFO, { ...state, opened: { types: [7, 'type:2'] } as never }).opened, {
    types: ['type:2'],
  });
  assert.deepEqual(restoreGraph(INFO, { ...state, opened: 'all' as never }).opened, {});
});

test('why something is alive: the chain of an object, and the switches that its dump has', async () => {
  const paths: PathsAnswer = {
    object: row(2),
    paths: [
      {
        ...{ root: row(1), length: 1, left_out: 0 },
        roots: [{ kind: 'ρ', detail: 'τ', file: null, line: null }],
        steps: [
          {
            kind: 'κ',
            name: 'ν',
            object: row(2),
            strength: 'strong',
            is_unread: false,
            freed_bytes: MIB,
            freed_native_bytes: 3 * MIB,
          },
        ],
      },
    ],
    ...{ complete: false, without: null },
  };
  const reference = paths.paths[0]?.steps[0];
  assert.ok(reference);
  const cut: LeastCutAnswer = {
    ...{ objects: 1, holder: row(1), count: 2, freed_bytes: MIB, freed_native_bytes: null },
    references: ['.α', '.β.γ'].map((way) => ({ way, source: row(1), reference })),
  };
  const answers = {
    ...{ 'memlens/heapPaths': paths, 'memlens/heapOverview': OVERVIEW, 'memlens/heapLeastCut': cut },
  };
  const host = await shown(whyPane.make(contextWith(answers, { is: 'object', object: 2 })));
  assert.equal(host.querySelectorAll('.heap-chain li').length, 2);
  assert.equal(host.querySelectorAll('.heap-switch').length, 2);
  const together = host.querySelector('.heap-least-cut')?.textContent ?? '';
  assert.match(together, /2 .*1 MiB.*\.α .*\.β\.γ /s);
  assert.match(host.querySelector('.heap-cut')?.textContent ?? '', /1 MiB .*3 MiB/);
  const nothing = await shown(whyPane.make(contextWith(answers)));
  assert.equal(nothing.querySelectorAll('.heap-switch').length, 0, 'nothing is explained');
});

test('a path is copied without what the keys of collections contain', async () => {
  const step = (kind: string, name: string): PathsAnswer['paths'][0]['steps'][0] => ({
    ...{ kind, name, object: row(2), strength: 'strong', is_unread: false },
    ...{ freed_bytes: null, freed_native_bytes: null },
  });
  const steps = [step('κ', 'ν'), step('entry', 'σ@κ'), step('κ', '[3]')];
  const paths: PathsAnswer = {
    ...{ object: row(2), complete: true, without: null },
    paths: [{ root: row(1), roots: [], length: 3, left_out: 0, steps }],
  };
  const answers = {
    'memlens/heapPaths': paths,
    'memlens/heapOverview': OVERVIEW,
    'memlens/heapLeastCut': NO_CUT,
  };
  const context = contextWith(answers, { is: 'object', object: 2 });
  const host = await shown(whyPane.make(context));
  assert.match(host.textContent, /σ@κ/);
  host.querySelector<HTMLElement>('h3 .icon-button')?.click();
  const copied = context.did.find((each) => typeof each === 'string') ?? '';
  assert.match(copied, /ν →.*… →.*\[3\] →/s);
  assert.doesNotMatch(copied, /σ@κ/);
  const details = step('entry', 'σ@κ');
  assert.deepEqual([copiedName(details), copiedName({ kind: 'entry', name: '' })], ['…', '']);
});

test('a holder is left out by the menu of its link, and taken back by its chip', async () => {
  const above = row(1, { type: 'Σ.Δ' });
  const paths: PathsAnswer = {
    object: row(2),
    paths: [
      {
        ...{ root: above, roots: [], length: 2, left_out: 0 },
        steps: [
          {
            kind: 'internal',
            name: 'ν',
            object: row(3, { type: 'Σ.Θ' }),
            strength: 'strong',
            is_unread: false,
            freed_bytes: 0,
            freed_native_bytes: 0,
          },
          {
            kind: 'κ',
            name: '[3]',
            object: row(2),
            strength: 'strong',
            is_unread: false,
            freed_bytes: 0,
            freed_native_bytes: 0,
          },
        ],
      },
    ],
    ...{ complete: true, without: null },
  };
  const nothing: PathsAnswer = {
    ...paths,
    ...{
      paths: [],
      without: { objects: [row(3)], freed_objects: 4, freed_bytes: MIB, freed_native_bytes: null },
    },
  };
  const context = contextWith({ 'memlens/heapOverview': OVERVIEW }, { is: 'object', object: 2 });
  const asked: unknown[] = [];
  Object.assign(context, {
    keep: (part: object) => Object.assign(context.state, part),
  });
  Object.assign(context.api, {
    request: (method: string, { without }: { without: readonly unknown[] }) => {
      if (method === 'memlens/heapPaths') asked.push(without);
      const others: Record<string, object> = {
        ...{ 'memlens/heapOverview': OVERVIEW, 'memlens/heapLeastCut': NO_CUT },
      };
      const found = others[method] ?? (without.length > 0 ? nothing : paths);
      return { answer: Promise.resolve(found), cancel: () => undefined };
    },
  });
  const host = await shown(whyPane.make(context));
  const buttons = host.querySelectorAll<HTMLElement>('.heap-leave-out');
  assert.equal(
    buttons.length,
    2,
    'an element of an array has no name to leave out, and what it leads to is last',
  );
  const offered = async (link: number): Promise<HTMLButtonElement[]> => {
    host.querySelectorAll<HTMLElement>('.heap-leave-out')[link]?.click();
    await drawn();
    const menu = document.querySelector<HTMLElement>('.menu');
    if (menu) assertTranslated(menu, 'menu');
    return [...(menu?.querySelectorAll('button') ?? [])];
  };
  assert.equal((await offered(0)).length, 2, 'the root, and all of its type');
  document.body.dispatchEvent(new Event('pointerdown', { bubbles: true }));
  const items = await offered(1);
  assert.equal(items.length, 4, 'the reference of its type, of any, what it leads to, all of that type');
  assert.match(items[0]?.textContent ?? '', /Δ\.ν/);
  items[0]?.click();
  await drawn();
  assertTranslated(host, 'left out');
  assert.equal(host.querySelectorAll('.heap-chain').length, 0);
  assert.equal(host.querySelectorAll('.heap-note:not([hidden])').length, 1, 'nothing else holds it');
  const chip = host.querySelector<HTMLElement>('.heap-left-out .chip');
  assert.match(chip?.textContent ?? '', /Δ\.ν/);
  chip?.click();
  await drawn();
  // the engine's own reference, not a property of its name
  assert.deepEqual(asked, [[], [{ is: 'name', name: 'ν (internal)', type: 'Σ.Δ' }], []]);
  assert.equal(host.querySelector('.heap-left-out'), null);
  assert.equal(host.querySelectorAll('.heap-chain li').length, 3);
});

test('what is left out is restored where the dump is the same', () => {
  const without: GraphState['without'] = [
    { is: 'object', object: 3 },
    { is: 'object', object: 9 },
    { is: 'type', type: 'Σ' },
    { is: 'name', name: 'ν', type: null },
    { is: 'name', name: 'ν', type: 3 } as never,
    { is: 'other' } as never,
  ];
  const saved = { ...restoreGraph(INFO, null), without };
  assert.deepEqual(restoreGraph(INFO, saved).without, [without[0], without[2], without[3]]);
  assert.deepEqual(restoreGraph({ ...INFO, file_bytes: 8 }, saved).without, []);
  assert.deepEqual(restoreGraph(INFO, { ...saved, without: 'all' as never }).without, []);
});

test('the overview, and the details of an object', async () => {
  const reference = (to: number, isUnread = false): ReferenceRow => ({
    ...{ kind: 'κ', name: 'ν', object: row(to), strength: 'strong', is_unread: isUnread },
  });
  const found: ObjectAnswer = {
    ...{ object: row(1), dominator: null, dominated: [row(2)], dominated_total: 3 },
    ...{ roots: [{ kind: 'ρ', detail: '', file: '/σ/μ.π', line: 2 }], roots_total: 31 },
    ...{ fields: [{ name: 'ν', kind: 'κ', value: 'υ' }], fields_total: 41 },
    references: [reference(1), reference(2, true)],
    ...{ references_total: 2, referrers: [], referrers_total: 0, allocated: [], group: 7 },
    ...{ contents: [], contents_total: 0 },
    image: null,
    equal_images: { rows: [], total: 0 },
    extends: [
      { type: 5, object: 8, name: 'σ.Τ' },
      { type: null, object: 9, name: 'Ο' },
    ],
  };
  const context = contextWith(
    {
      ...{ 'memlens/heapObject': found, 'memlens/heapOverview': OVERVIEW },
      'memlens/heapReferences': { rows: [reference(3), reference(1)], offset: 0, total: 2 },
    },
    OBJECT,
  );
  let located = -1;
  const inspector = inspectorOf(context, (group) => {
    located = group ?? -1;
  });
  const overview = new Overview(overviewOf(context.api, 3 * MIB), none);
  const details = mounted(<inspector.View hidden={false} style={{}} />);
  const strip = mounted(<overview.View />);
  inspector.show();
  await drawn();
  assertTranslated(details, 'details');
  assert.equal(located, 7, 'its box is outlined');
  const above = [
    ...details.querySelectorAll<HTMLButtonElement>('button.link.code[title="σ.Τ"], [title="Ο"]'),
  ];
  for (const button of above) button.click();
  assert.deepEqual(context.did.slice(-2), [
    { is: 'type', kind: 5 },
    { is: 'object', object: 9 },
  ]);
  const marked = (): number => details.querySelectorAll('.heap-reference-row .badge').length;
  assert.match(details.textContent, /30.*41.*40/s, 'of many roots and fields the rest is counted');
  assert.equal(marked(), 2, 'it refers to itself, and nothing reads a variable');
  const openers = details.querySelectorAll<HTMLButtonElement>('.heap-opener');
  assert.deepEqual(
    [...openers].map(({ disabled }) => disabled),
    [true, false],
  );
  openers[1]?.click();
  await drawn();
  assert.equal(marked(), 3, 'what that refers to leads back to it');
  assertTranslated(details, 'references');
  inspector.sourceMissing({
    text: 'σ <b>λ</b>',
    lookedFor: ['/σ/λ.π', '<i>λ.π</i> σ'],
    advice: 'Π',
    downloadable: true,
  });
  await drawn();
  const missing = [...details.querySelectorAll('.heap-missing > p, .heap-missing li')];
  assert.match(missing[0]?.textContent ?? '', /^σ <b>λ<\/b> /);
  assert.deepEqual(
    missing.slice(1).map(({ textContent }) => textContent),
    ['/σ/λ.π', '<i>λ.π</i> σ', 'Π'],
    'a place a line, then what can be done',
  );
  assertTranslated(details, 'a missing source');
  assertTranslated(strip, 'overview');
});

test('memory outside of the heap has columns and figures in dumps that know of any', async () => {
  const native = { native_bytes: 12 * MIB, native_retained_bytes: 40 * MIB };
  const info: GraphInfo = { ...INFO, native_bytes: 40 * MIB };
  const types = contextWith(
    {
      'memlens/heapTypes': {
        rows: [
          { ...TYPE, ...native },
          { ...TYPE, ...native, number: 2 },
        ],
        total: 2,
      },
    },
    null,
    info,
  );
  const pane = typesPane.make(types);
  const host = await shown(pane);
  host.querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  const lines = String(types.did.pop()).split('\n');
  assert.deepEqual(lines[1]?.split('\t').slice(-3), ['25.0%', '12 MiB', '40 MiB']);
  pane.dispose?.();
  // of a dump that has hardly any there are no columns, only figures
  const little = contextWith(
    {
      'memlens/heapTypes': {
        rows: [TYPE, { ...TYPE, number: 2 }].map((each) => ({ ...each, ...native })),
        total: 2,
      },
    },
    null,
    {
      ...info,
      shallow_bytes: 20 * info.native_bytes,
    },
  );
  const without = typesPane.make(little);
  (await shown(without)).querySelector<HTMLElement>('.heap-bar .icon-button')?.click();
  assert.equal(
    String(little.did.pop()).split('\n')[0]?.split('\t').length,
    (lines[0]?.split('\t').length ?? 0) - 2,
  );
  without.dispose?.();
  const found: ObjectAnswer = {
    ...{ object: row(1, native), dominator: null, dominated: [], dominated_total: 0, roots: [], fields: [] },
    ...{ roots_total: 0, fields_total: 0 },
    ...{ references: [], references_total: 0, referrers: [], referrers_total: 0, allocated: [], group: 7 },
    ...{ contents: [], contents_total: 0 },
    image: null,
    equal_images: { rows: [], total: 0 },
    extends: [],
  };
  const objects = contextWith({ 'memlens/heapObject': found }, OBJECT, info);
  const inspector = inspectorOf(objects);
  const details = mounted(<inspector.View hidden={false} style={{}} />);
  inspector.show();
  await drawn();
  assertTranslated(details, 'details');
  const figures = [...details.querySelectorAll('.heap-facts dd')].map(({ textContent }) => textContent);
  assert.deepEqual(figures.slice(2, 4), ['12 MiB', '40 MiB']);
  const order = { ...restoreGraph(info, null), order: 'native' } as const;
  assert.equal(restoreGraph(info, order).order, 'native');
  assert.equal(restoreGraph(INFO, order).order, 'retained', 'a dump without it can’t be sorted by it');
});

test('source is offered of what may have some', () => {
  const withLines = { ...ADDRESSES, source_kinds: ['closure', 'object'] };
  const offers = (format: HeapFormat, file: string | null, type: string): boolean =>
    mayHaveSource({ format }, { file, type });
  const defined = (own: string, type: string): boolean =>
    mayBeDefined({ format: withLines }, { kind: own, type });
  assert.deepEqual(
    [
      offers(withLines, '/app/leak.js', 'Session'),
      offers(withLines, null, '(array)'),
      offers(withLines, null, 'system / Map'),
    ],
    [true, false, false],
  );
  assert.deepEqual(
    [
      offers(ADDRESSES, null, 'shop.Session'),
      offers(ADDRESSES, null, 'byte[][]'),
      offers(ADDRESSES, null, '[static vars]'),
    ],
    [true, false, false],
  );
  const made = ['code', 'number', 'object shape', 'string', 'synthetic', 'hidden'];
  assert.deepEqual(
    made.filter((own) => defined(own, 'Σ')),
    [],
  );
  assert.ok(defined('object', 'Session') && defined('closure', 'Function'));
  const menu = (hasSource: boolean): number =>
    selectionMenu(contextWith({}), { is: 'object', object: 1 }, '', hasSource).length;
  assert.equal(menu(true) - menu(false), 1);
});

test('what is unreachable isn’t asked why it is alive, and flags that most objects have are no badges', async () => {
  const menu = (isReachable: boolean): number =>
    selectionMenu(contextWith({}), { is: 'group', group: 1 }, '', false, isReachable).length;
  assert.equal(menu(true) - menu(false), 1);
  setFormat(ADDRESSES);
  const flagged = row(1, { flags: ['old', 'φ', 'uncollectible'] });
  const rows = { rows: [flagged], total: 1 };
  const host = await shown(dominatorsPane.make(contextWith({ 'memlens/heapDominated': rows })));
  assert.deepEqual(
    [...(host.querySelector('.grid-row')?.querySelectorAll('.badge') ?? [])].map((each) => each.textContent),
    ['φ'],
  );
});

test('the filter for a box of allocation stacks names these, or its function where they are many', () => {
  const of = (stacks: number[], number = 1): string =>
    termOf({ node: { node: number, name: { function: 'ƒ "x"' } }, stacks } as Parameters<typeof termOf>[0]);
  assert.equal(of([7, 3, 4, 9, 5]), 'stack:3-5,7,9');
  assert.equal(of([0]), 'stack:0');
  assert.equal(of([1, 2], 0), '');
  assert.equal(of(Array.from({ length: 1000 }, (_, stack) => 2 * stack)), 'allocated-by:"=ƒ \\"x\\""');
});

test('the keys that are listed are those that the picture has', () => {
  const texts = graphKeys(false).flatMap(([, rows]) => rows.map(([, text]) => text));
  const others = FLAME_KEYS.rows.filter(({ action }) =>
    ['search', 'focus', 'ignore', 'hide', 'collapse', 'sandwich', 'leave'].includes(action),
  );
  assert.equal(others.length, 7);
  assert.deepEqual(
    others.filter(({ text = '' }) => texts.includes(text)),
    [],
  );
});

test('what is wasted in what something retains is looked for at a press, and by the menu', async () => {
  const part = { figure: null, line: null, evidence: null, objects: null, values: {} };
  const objects = { kind: 'query', number: 0, sql: 'SELECT 1' } as const;
  const amount = { ...part, text: '4 KiB', template: '4 KiB', objects };
  const wasted: ComponentAnswer = {
    ...{ objects: 1, retained_objects: 7, retained_bytes: MIB },
    findings: [
      {
        ...{
          rule: 'duplicate_strings',
          title: 'σ <b>',
          text: '2 λ, 4 KiB.',
          evidence: null,
          line: null,
          objects,
        },
        sentence: { ...part, text: '2 λ, 4 KiB.', template: '2 λ, {bytes}.', values: { bytes: amount } },
        ...{
          figure: { amount: 4096, unit: 'bytes', kind: 'shallow', sql: '' },
          inferred: false,
          evidence_from: [],
          is_note: false,
          brief: null,
          subject: '',
        },
      },
    ],
  };
  const found = {
    ...{
      object: row(1),
      dominator: null,
      dominated: [],
      dominated_total: 0,
      roots: [],
      fields: [],
      image: null,
    },
    ...{
      roots_total: 0,
      fields_total: 0,
      equal_images: { rows: [], total: 0 },
      references: [],
      references_total: 0,
    },
    ...{
      referrers: [],
      referrers_total: 0,
      allocated: [],
      group: 7,
      contents: [],
      contents_total: 0,
      extends: [],
    },
  };
  const context = contextWith({ 'memlens/heapObject': found, 'memlens/heapFindings': wasted }, OBJECT);
  Object.assign(context, { showObjects: (shown: unknown) => context.did.push(shown) });
  const inspector = inspectorOf(context);
  const details = mounted(<inspector.View hidden={false} style={{}} />);
  inspector.show();
  await drawn();
  assert.equal(details.querySelector('.heap-waste'), null);
  const entries = selectionMenu(context, OBJECT).filter((entry) => entry !== null);
  entries.find(({ text }) => text === t('Find Waste'))?.run();
  assert.deepEqual(context.did.pop(), OBJECT);
  await drawnUntil(() => details.querySelector('.heap-waste') !== null);
  assertTranslated(details, 'details');
  const item = details.querySelector('.heap-waste li') ?? assert.fail('no finding');
  assert.match(item.textContent, /σ <b>:.* 2 λ, 4 KiB\./);
  for (const link of item.querySelectorAll<HTMLElement>('button.link')) link.click();
  assert.deepEqual(context.did, [objects, objects]);
  item.querySelector<HTMLElement>('.finding-copy')?.click();
  assert.equal(context.did.pop(), '**σ <b>:** 2 λ, 4 KiB.');
});

test('a type leads to what refers to its instances, whatever it is called', () => {
  const context = contextWith({});
  Object.assign(context, { showObjects: (shown: unknown) => context.did.push(shown) });
  const entries = selectionMenu(context, { is: 'type', kind: 1 }, "Σ'); DROP");
  entries.find((entry) => entry?.text === t('Show Referrers'))?.run();
  const sql = "SELECT *\nFROM referrers_by_type('Σ''); DROP')\nLIMIT 100;";
  assert.deepEqual(context.did, [{ kind: 'query', number: 0, sql }]);
});

test('bookmarks: rows lead to what they keep, and what is selected has its note in the details', async () => {
  const place = { is: 'object', object: 1 } as const;
  const figures = { objects: 1, shallow_bytes: 40, retained_bytes: MIB + 1 };
  const name = { text: 'Σ', template: 'Σ', values: {} };
  const kept: HeapBookmark[] = [
    { ...figures, bookmark: 1, place, note: '<b>ν</b>', object: row(1), name },
    { ...figures, bookmark: 2, place: { is: 'type', kind: 1 }, note: '', object: null, name },
    { ...figures, bookmark: 4, place: { is: 'group', group: 6 }, note: '', object: null, name },
  ];
  const context = contextWith({ 'memlens/heapBookmarks': { bookmarks: kept } }, place);
  const posted: unknown[] = [];
  Object.assign(context.api, { post: (message: unknown) => posted.push(message) });
  const bookmarks = new HeapBookmarks(context.api, never);
  Object.assign(context, { bookmarks, bookmark: (of: unknown) => context.did.push({ bookmark: of }) });
  const pane = bookmarksPane.make(context);
  const host = await shown(pane);
  const notes = [...host.querySelectorAll<HTMLElement>('.bookmark-note')];
  assert.deepEqual(
    notes.map(({ textContent }) => textContent),
    ['<b>ν</b>', 'Σ', '[1 öbjéct: Σ~~~~~]'],
  );
  for (const each of notes) each.click();
  assert.deepEqual(context.did, [place, { is: 'type', kind: 1 }, { is: 'group', group: 6 }]);
  bookmarks.add(place);
  bookmarks.add({ is: 'object', object: 2 });
  bookmarks.delete(kept[1] ?? assert.fail());
  const changes = posted.map((message) => (message as { change: object }).change);
  assert.deepEqual(
    changes.map((change) => ({ ...change, title: '' })),
    [
      { is: 'rename', title: '', bookmark: 1, note: '<b>ν</b>' },
      { is: 'add', title: '', place: { is: 'object', object: 2 } },
      { is: 'delete', title: '', bookmark: 2 },
    ],
  );
  assert.equal(bookmarks.next(place, 1)?.bookmark, 2);
  assert.equal(bookmarks.next(place, -1)?.bookmark, 4);
  assert.equal(bookmarks.next(null, 1)?.bookmark, 1);
  assert.equal(bookmarks.next(null, -1)?.bookmark, 4);
  const note = mounted(<Note selection={place} context={context} />);
  assert.equal(note.querySelector('bdi')?.textContent, '<b>ν</b>');
  assert.equal(mounted(<Note selection={{ is: 'object', object: 2 }} context={context} />).textContent, '');
});

test('an image says its size, or why it isn’t drawn', async () => {
  const image = { width: 1080, height: 1920, layout: 'Σ_8888' };
  const found: ObjectAnswer = {
    ...{ object: row(1), dominator: null, dominated: [], dominated_total: 0, roots: [], fields: [], image },
    ...{ roots_total: 0, fields_total: 0 },
    equal_images: { rows: [row(2)], total: 3 },
    extends: [],
    ...{ references: [], references_total: 0, referrers: [], referrers_total: 0, allocated: [], group: 7 },
    ...{ contents: [], contents_total: 0 },
  };
  const closed: string[] = [];
  const decodes = (bitmap: object | null): void => {
    const make = async (file: Blob): Promise<object> => {
      assert.equal(file.type, 'image/png');
      assert.deepEqual([...new Uint8Array(await file.arrayBuffer())], [1, 2, 3]);
      return bitmap ?? Promise.reject(new Error('no image'));
    };
    Object.assign(globalThis, { createImageBitmap: make });
  };
  const posted: unknown[] = [];
  const shownFor = async (answer: Partial<ImageAnswer>): Promise<HTMLElement> => {
    const whole = { ...image, media: 'image/png', data: 'AQID', every: 2, missing: null, ...answer };
    const context = contextWith({ 'memlens/heapObject': found, 'memlens/heapImage': whole }, OBJECT);
    Object.assign(context.api, { post: (message: unknown) => posted.push(message) });
    const inspector = inspectorOf(context);
    const details = mounted(<inspector.View hidden={false} style={{}} />);
    inspector.show();
    await drawnUntil(() => details.querySelector('section:has(canvas) :is(p.hint, button)') !== null);
    assertTranslated(details, 'details');
    const section = details.querySelector<HTMLElement>('section:has(canvas)') ?? assert.fail('no image');
    // of equal ones some are listed, and the others are in the gallery
    const equal = section.nextElementSibling ?? assert.fail('no equal images');
    assert.equal(equal.querySelectorAll('li').length, 1);
    equal.querySelector<HTMLElement>(':scope > button')?.click();
    assert.deepEqual(context.did, [{ images: '' }]);
    return section;
  };
  const canvasOf = (section: HTMLElement): HTMLCanvasElement | null => section.querySelector('canvas');
  decodes({ width: 540, height: 960, close: () => closed.push('bitmap') });
  const section = await shownFor({});
  const canvas = canvasOf(section);
  assert.deepEqual([canvas?.hidden, canvas?.width, canvas?.height], [false, 540, 960]);
  assert.match(section.querySelector('p')?.textContent ?? '', /^1,080 × 1,920 {2}· {2}Σ_8888 {2}· {2}.*1:2/);
  assert.deepEqual(closed, ['bitmap']);
  if (canvas) canvas.toDataURL = () => 'data:image/png;base64,AQID';
  section.querySelector('button')?.click();
  assert.deepEqual(posted, [{ type: 'saveText', form: 'png', text: 'AQID' }]);
  decodes(null);
  assert.equal(canvasOf(await shownFor({}))?.hidden, true, 'the browser can’t decode it');
  const missing = await shownFor({ data: '', missing: { text: 'σ <b>', template: 'σ <b>', values: {} } });
  assert.equal(missing.querySelector('p')?.textContent, 'σ <b>');
  assert.equal(canvasOf(missing)?.hidden, true);
});

test('a comparison: its rows by type, and a series of dumps as lines with a legend', async () => {
  const compared: ComparedType = {
    ...{ type: 'Σ', before_number: 0, after_number: 1, before_count: 1, after_count: 3, new: 2, gone: 0 },
    ...{ before_shallow_bytes: 1, after_shallow_bytes: 9, before_retained_bytes: MIB },
    after_retained_bytes: 3 * MIB,
    ...{ before_native_retained_bytes: null, after_native_retained_bytes: null },
  };
  const side = { objects: 1, shallow_bytes: 4, reachable_bytes: 4, only_objects: 1, only_bytes: 4 };
  const series: HeapSeries = {
    ...{ objects: [1, 2], shallow_bytes: [MIB, 2 * MIB], types_total: 1 },
    types: [
      { type: 'Σ', counts: [1, 2], shallow_bytes: [1, 2], retained_bytes: [MIB, 2 * MIB], grows: true },
    ],
  };
  const answers = {
    'memlens/compareHeaps': { before: side, after: side, matched: 'id', holders: [], paths: [] },
    'memlens/compareHeapTypes': { rows: [compared, { ...compared, type: 'Δ' }], total: 2 },
    'memlens/heapSeries': series,
  };
  const context = Object.assign(contextWith(answers), {
    format: { ...ADDRESSES, has_lasting_ids: true },
  });
  const compare = {
    ...{ ownName: 'α', unlike: null, settings: { otherFirst: true }, open: null },
    other: { is: 'open', uri: 'file:///β', name: 'β', orderedBy: 'modified', older: true, itself: false },
  } as unknown as Compare;
  const outside = {
    ...compared,
    before_native_retained_bytes: 9 * MIB,
    after_native_retained_bytes: 5 * MIB,
  };
  const native = new ComparePane(
    Object.assign(
      contextWith({
        'memlens/compareHeaps': {
          ...{ before: side, after: side, matched: 'type', holders: [], paths: [], knows_native: true },
        },
        'memlens/compareHeapTypes': { rows: [outside, { ...outside, type: 'Δ' }], total: 2 },
      }),
      { compare },
    ),
  );
  const cells = [...(await shown(native)).querySelectorAll('.grid-row > *')].map((cell) => cell.textContent);
  assert.deepEqual(cells.slice(-2), ['5 MiB', '▼ −4 MiB']);
  native.dispose();
  document.body.replaceChildren();
  const pane = new ComparePane(Object.assign(context, { compare }));
  const host = await shown(pane);
  assert.match(host.querySelector('.grid-row')?.textContent ?? '', /Σ3▲ \+220/);
  pane.series.receive(
    (['α.δ', 'β.δ'] as const).map((name, at) => ({
      ...{ is: at === 0 ? 'own' : 'open', uri: name, name, file: name, message: '' },
    })),
  );
  await drawn();
  assertTranslated(host, 'series');
  assert.equal(host.querySelectorAll('.series-line circle').length, 2);
  assert.equal(host.querySelectorAll('.series-legend li').length, 1);
  const allocated = (): HTMLSelectElement | null => host.querySelector('select.dropdown');
  // the own dump is the earlier one
  assert.deepEqual(
    [...(allocated()?.options ?? [])].map(({ value }) => value),
    ['', '-in:β.δ'],
  );
  host.querySelector<HTMLElement>('.grid-row')?.click();
  await drawn();
  assert.ok(host.querySelector('.series-line.marked'));
  pane.dispose();
  render(null, document.body);
});

test('findings compared: those of the own dump lead to its objects, the other’s are words', async () => {
  const part = { figure: null, line: null, evidence: null, objects: null, values: {} };
  const finding = (name: string, amount: number): SnapshotFinding => {
    const objects = { kind: 'object', number: amount, sql: '' } as const;
    const size = { ...part, text: `${amount} B`, template: `${amount} B`, objects };
    return {
      ...{ rule: name, title: name, text: `${name} <i> ${amount} B`, subject: '', inferred: false },
      ...{ evidence: null, line: null, objects, evidence_from: [], is_note: false, brief: null },
      sentence: {
        ...part,
        ...{ text: `${name} <i> ${amount} B`, template: `${name} <i> {size}`, values: { size } },
      },
      figure: { amount, unit: 'bytes', kind: 'retained', sql: '' },
    };
  };
  const compared = (before: SnapshotFinding | null, after: SnapshotFinding | null): ComparedFinding => {
    const [first, second] = [before?.figure.amount ?? 0, after?.figure.amount ?? 0];
    return {
      ...{ rule: 'σ', title: 'σ', subject: '', before, after, difference: second - first },
      change: !before ? 'new' : !after ? 'gone' : first < second ? 'grown' : 'shrunk',
      ...{ before_figure: before?.figure ?? null, after_figure: after?.figure ?? null },
    };
  };
  const rows = [
    compared(finding('λ', 5), finding('σ', 9)),
    compared(null, finding('σ', 3)),
    compared(finding('σ', 2), null),
  ];
  const side = { objects: 1, shallow_bytes: 4, reachable_bytes: 4, only_objects: 1, only_bytes: 4 };
  for (const otherFirst of [true, false]) {
    const context = contextWith({
      'memlens/compareHeaps': { before: side, after: side, matched: 'id', holders: [], paths: [] },
      'memlens/compareHeapTypes': { rows: [], total: 0 },
      'memlens/compareHeapFindings': { rows },
    });
    Object.assign(context, { showObjects: ({ number }: { number: number }) => context.did.push(number) });
    const compare = {
      ...{ ownName: 'α', unlike: null, settings: { otherFirst }, open: null },
      other: { is: 'open', uri: 'file:///β', name: 'β', orderedBy: 'modified', older: true, itself: false },
    } as unknown as Compare;
    const pane = new ComparePane(Object.assign(context, { compare }));
    const host = await shown(pane);
    const choice = [...host.querySelectorAll<HTMLElement>('.choice button')].find(
      ({ textContent }) => textContent === t('Findings'),
    );
    choice?.click();
    await drawnUntil(() => host.querySelector('.heap-compared-findings') !== null);
    assertTranslated(host, 'findings');
    const items = [...host.querySelectorAll<HTMLElement>('.heap-compared-findings li')];
    const figures = items.map((item) => item.querySelector('.heap-compared-figures')?.textContent ?? '');
    assert.match(figures[0] ?? '', /^5 B → 9 B ▲ \+4 B.*σ/);
    assert.match(figures[1] ?? '', /▲ \+3 B$/);
    assert.match(figures[2] ?? '', /▼ −2 B$/);
    assert.equal(host.querySelectorAll('i').length, 0, 'names are text');
    for (const item of items) item.querySelector<HTMLElement>('button.link')?.click();
    assert.deepEqual(context.did, otherFirst ? [9, 3] : [5, 2]);
    assert.equal(items.filter(({ textContent }) => textContent.includes(t('only in {0}', 'β'))).length, 1);
    pane.dispose();
    render(null, document.body);
  }
});

test('dumps are called without the extension that all of them have', () => {
  assert.deepEqual(withoutSameEnd(['a.hprof.zst', 'b.2.hprof.zst']), ['a', 'b.2']);
  assert.deepEqual(withoutSameEnd(['a.1', 'b.1']), ['a.1', 'b.1']);
  assert.deepEqual(withoutSameEnd(['a.hprof', 'b.gcdump']), ['a.hprof', 'b.gcdump']);
  assert.deepEqual(withoutSameStart(['my-app_1', 'my-app_12']), ['1', '12']);
  assert.deepEqual(withoutSameStart(['heap-1', 'heap', 'other']), ['heap-1', 'heap', 'other']);
  assert.deepEqual(withoutSameStart(['heap-', 'heap-1']), ['heap-', 'heap-1']);
});
