// Everything that is shown around the pictures, in the pseudo-language: no text is left in English. What comes from a
// file is Greek here.

import { drawn, mounted } from './support/dom';
import { mountedPane } from './support/pane';
import { assertTranslated } from './support/pseudo';
import { BareSession } from './support/session';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type {
  AllocationSummary,
  AllocatorStateAnswer,
  AnnotationsAnswer,
  DeviceInfo,
  Frame,
  GrowthAnswer,
  Mark,
  OomAnswer,
  PlacedBookmark,
  StackAnswer,
  StepsAnswer,
  TimelineInfo,
  Totals,
} from '../../extension/shared/protocol.gen';
import type { PictureId } from '../../extension/shared/commands';
import type { Api } from '../../webview/src/api';
import { deviceFigures } from '../../webview/src/base/format';
import type { TimelineSession } from '../../webview/src/timeline/session';
import { Dock } from '../../webview/src/shell/dock';
import { FileBar } from '../../webview/src/shell/file-bar';
import { FilterBox } from '../../webview/src/shell/filter-box';
import { traceTerms, OBJECT_TERMS } from '../../webview/src/shell/filter-terms';
import { graphKeys } from '../../webview/src/graph/key-list';
import { profileKeys } from '../../webview/src/profile/key-list';
import { Help } from '../../webview/src/shell/help';
import { timelineKeys } from '../../webview/src/timeline/key-list';
import type { Pane, PaneTab } from '../../webview/src/shell/pane';
import { EmptyScreen, FailedScreen, ProgressScreen } from '../../webview/src/shell/screens';
import { shareEntries } from '../../webview/src/shell/share';
import { comparing, Toolbar } from '../../webview/src/shell/toolbar';
import { gapParts, gapSentence } from '../../webview/src/timeline/gap';
import { Lanes } from '../../webview/src/timeline/lanes';
import { timelineMenu } from '../../webview/src/timeline/menu';
import type { Missing } from '../../webview/src/timeline/missing-source';
import { Panel } from '../../webview/src/timeline/panel';
import { ScopeBar } from '../../webview/src/timeline/scope';
import type { Selected } from '../../webview/src/timeline/selection';
import { bookmarksPane } from '../../webview/src/timeline/panes/bookmarks';
import { oomPane } from '../../webview/src/timeline/panes/oom';
import { statePane } from '../../webview/src/timeline/panes/state';
import { stepsPane } from '../../webview/src/timeline/panes/steps';
import { element } from '../../webview/src/widgets/dom';
import { Legend } from '../../webview/src/widgets/legend';
import { openMenu } from '../../webview/src/widgets/menu';
import { HoverCard } from '../../webview/src/widgets/hover-card';
import { TooltipCard } from '../../webview/src/timeline/tooltip';
import { plain } from './support/plain';

afterEach(() => {
  document.body.replaceChildren();
});

test('an English text is found, beside what is translated and within it', () => {
  for (const text of ['Open', '[Ðîfférént~~ than [thîs~]]', '4 allocations'])
    assert.throws(() => {
      assertTranslated(element('p', { attributes: { title: '[Ôpén~~]' } }, new Text(text)), text);
    });
});

const nothing = (): void => undefined;
/** For what must not happen. */
const never = (): never => assert.fail();
const GIB = 2 ** 30;

/** What is the same in every language. */
const frame = (kind: Frame['kind'], source: Frame['source'] = 'recorded'): Frame => ({
  ...{ file: '/σ/μ.π', line: 12, function: 'φ', kind, source },
});

const DEVICE: DeviceInfo = {
  ...{ device: 0, name: plain('Δ'), events: 12, allocations: 5, peak_bytes: 4 * GIB, peak_moment: 7 },
  ...{ peak_time_us: 800, live_at_start_bytes: 0, live_at_end_bytes: GIB, live_at_end_count: 2 },
  ...{ reserved_at_end_bytes: 5 * GIB, ooms: 2, time_origin_us: 0 },
  event_axis: { x0: 0, x1: 12 },
  time_axis: { x0: 0, x1: 1200 },
};

const allocation = (more: Partial<AllocationSummary> = {}): AllocationSummary => ({
  ...{ allocation: 3, device: 0, address: '0x70', size_bytes: GIB, rounded_bytes: GIB + 512 },
  ...{ start_moment: 2, end_moment: 6, start_time_us: 20, end_time_us: 60, lifetime_us: 40, state: 'freed' },
  ...{ before_trace: false, stream: '0', stack: 1, category: 'gradient (inferred)', label: frame('user') },
  operator: 'Ω',
  ...more,
});
/** Its line, its end and its times are not in the file. */
const bare = allocation({
  ...{ before_trace: true, end_moment: null, end_time_us: null, start_time_us: null, lifetime_us: null },
  ...{ label: null, operator: null, state: 'pending_free' },
});

const TOTALS: Totals = {
  ...{ total_bytes: 8 * GIB, count: 8, live_at_peak_bytes: GIB, live_at_peak_count: 1 },
  ...{ live_at_end_bytes: 0, largest_bytes: GIB, largest_allocation: 3 },
};

const STACK: StackAnswer = {
  ...{ allocation: allocation(), same_stack: TOTALS, inferred_module: 'Λ', stack_of_free: true },
  inferred_block_bytes: 512,
  frames: [frame('user', 'inferred'), frame('library'), frame('native'), frame('library')],
  fx_traces: [{ of: frame('user'), frames: [frame('user', 'fx')] }],
  ...{ forward_frames: [frame('user', 'forward')], freed_frames: [frame('user')] },
};

const INFO: TimelineInfo = {
  // SAFETY: what is shown around a picture reads nothing else of it.
  ...({} as TimelineInfo),
  ...{ model: 'timeline', devices: [DEVICE, { ...DEVICE, device: 1, name: plain('Δ1') }], categories: [] },
};

/** A view whose server has one answer for each question. */
function contextWith(
  answers: Readonly<Record<string, unknown>>,
  more: Partial<TimelineSession> = {},
): TimelineSession {
  const said: string[] = [];
  const api = {
    request: (method: string) => ({ answer: Promise.resolve(answers[method]), cancel: nothing }),
    post: nothing,
  } as unknown as Api;
  const first = { moment: 4, time_us: 400, live_bytes: GIB, live_count: 1, is_peak: false };
  return {
    ...{ api, info: INFO, device: DEVICE, axis: 'time', filter: 'β', set: {}, setName: 'Σ', selected: 3 },
    flags: { ooms: MARKS, untold: 3 },
    cursors: {
      ...{ first, second: null, scope: 'cursor', kind: 'live', step: nothing, place: nothing },
      now: { first, second: null, scope: 'cursor', kind: 'live' },
    },
    names: { allocation: () => undefined, learn: nothing },
    highlight: { kind: 'none' },
    ...{ camera: { x0: 0, x1: 1200, y0: 0, y1: 1 }, bounds: { x0: 0, x1: 1200 } },
    say: (text: string) => said.push(text),
    failed: never,
    ...more,
  } as unknown as TimelineSession;
}

async function assertPane(pane: Pane, what: string): Promise<void> {
  const host = mountedPane(pane);
  pane.update(new Set(['set', 'device', 'cursors', 'filter', 'axis']));
  await drawn();
  assertTranslated(host, what);
  pane.dispose?.();
}

const assertView = (view: VNode, what: string): void => {
  const host = element('div');
  document.body.append(host);
  render(view, host);
  assertTranslated(host, what);
};

// --- panes -----------------------------------------------------------------------------------------------------------

const MARKS: readonly Mark[] = [1, 2].map((event) => ({
  ...{ kind: 'oom', device: 0, event, moment: event, x_time_us: event === 1 ? null : 9 },
  ...{ size_bytes: GIB, device_free_bytes: 0 },
}));

const OOM: OomAnswer = {
  ...{ device: 0, event: 1, moment: 1, time_us: 9, requested_bytes: GIB, driver_bytes: GIB },
  ...{
    device_free_bytes: 0,
    stream: '0',
    pool: 'Π',
    frames: [],
    asked_at: frame('user'),
    asked_by: plain('Ω'),
  },
  gap: {
    ...{ reserved_bytes: 9 * GIB, active_bytes: GIB, allocated_bytes: GIB, requested_bytes: GIB },
    ...{ rounding_bytes: 1, pending_bytes: 2, inactive_split_bytes: 3, expandable_free_bytes: 4 },
    ...{ wholly_free_bytes: 5, outside_bytes: 0 },
  },
  ...{ segments_known: true, verdict: 'fragmented', headline: plain('Η') },
  findings: [true, false].map((advice) => ({
    ...{ code: 'too_large', text: plain('Θ'), advice, frame: frame('user'), allocation: 3 },
  })),
  places: (['other_pool', 'other_size_class', 'other_stream', 'rest', 'usable'] as const).map((why) => ({
    ...{ why, bytes: GIB, pieces: 2, segments: 1, largest_bytes: GIB, largest_address: '0x70' },
  })),
  shared_free_bytes: 4 * GIB,
  pinned: [
    {
      ...{ address: '0x70', size_bytes: GIB, free_bytes: 1, largest_free_bytes: 1, stream: '0', pool: null },
      ...{ expandable: true, large_enough: true, block_count: 3, block_bytes: 4, blocks: [bare] },
    },
  ],
  pinned_count: 4,
  pinning: [
    {
      ...{ frame: null, operator: null, count: 2, bytes: 9, segments: 1, pinned_bytes: 4, alone_bytes: 2 },
      ...{ largest_allocation: 3, stacks: [1] },
    },
  ],
  lines: Array.from({ length: 10 }, () => ({
    ...{ frame: frame('user'), operator: null, bytes: GIB, count: 2, largest_bytes: GIB },
    ...{ largest_allocation: 3, stacks: [1] },
  })),
  ...{ returned_segments: 0, returned_bytes: 0, events_after: 0, retry: null },
};

test('the pane that explains an out-of-memory event', async () => {
  await assertPane(oomPane(contextWith({ 'memlens/oom': OOM })), 'out of memory');
});

test('steps and what grows, known and inferred, by time and by event', async () => {
  const rows = [0, 1].map((from) => ({
    ...{ name: plain('Ψ'), from_moment: from, to_moment: from + 1, start_us: 4, end_us: 5, peak_bytes: GIB },
    ...{ peak_moment: from, live_at_start_bytes: 0, live_at_end_bytes: 1, allocated_bytes: 2 },
    ...{ allocated_count: 3, survivors_bytes: 1, survivors_count: 1, kept_bytes: 1, kept_count: 1 },
  }));
  const growth: GrowthAnswer = {
    ...{ ends: 2, every: 1, moments: [1, 2], first_total_bytes: 0, last_total_bytes: 4, lines: 3 },
    rows: (['every_step', 'steady', 'unsteady'] as const).map((trend) => ({
      ...{ frame: trend === 'steady' ? null : frame('user', 'inferred'), trend, grown_bytes: GIB },
      ...{ slope_bytes: 3, first_bytes: 0, last_bytes: 4, last_count: 2, steps_grown: 1, points: [1, 2] },
      stacks: [1],
    })),
  };
  for (const inferred of [true, false]) {
    const steps: StepsAnswer = {
      ...{ source: 'period', inferred, how: plain('Χ'), sure: null, count: 400, offset: 0, rows },
    };
    const answers = { 'memlens/steps': steps, 'memlens/growth': { ...growth, ends: inferred ? 1 : 2 } };
    const axis = inferred ? 'event' : 'time';
    await assertPane(stepsPane(contextWith(answers, { axis })), 'leaks');
  }
});

test('the allocator’s state', async () => {
  const answer: AllocatorStateAnswer = {
    ...{ moment: 4, time_us: 400, reserved_bytes: 9 * GIB, allocated_bytes: 4, active_bytes: 6 },
    event: { action: 'Α', address: '0x70', size_bytes: GIB, stream: '0' } as AllocatorStateAnswer['event'],
    ...{ requested_bytes: 3, inactive_split_bytes: 2, outside_bytes: 7, segment_count: 400, offset: 0 },
    segments: [true, false].map((known) => ({
      ...{ address: '0x70', size_bytes: GIB, allocated_bytes: 4, active_bytes: 6, requested_bytes: 3 },
      ...{ largest_free_bytes: 8, pool_type: known ? 'small' : 'large', expandable: known, stream: '0' },
      ...{ pool: known ? '1.0' : null, reserved_at_moment: known ? 2 : null, first_block: 0, block_count: 0 },
      known,
    })),
    ...{ block_count: 0, blocks: '', areas: [], truncated: true },
  };
  await assertPane(statePane(contextWith({ 'memlens/allocatorState': answer })), 'segments');
});

test('bookmarks', async () => {
  const list = signal<readonly PlacedBookmark[]>([]);
  // SAFETY: the pane reads the list alone.
  const bookmarks = { list } as unknown as TimelineSession['bookmarks'];
  const pane = bookmarksPane.make(Object.assign(contextWith({}), { bookmarks }));
  const host = mountedPane(pane);
  await drawn();
  assertTranslated(host, 'no bookmarks');
  const at = { moment: 4, time_us: 400, live_bytes: GIB, live_count: 1, is_peak: true };
  list.value = [
    {
      ...{ bookmark: 1, device: 0, device_name: plain('Δ'), note: '', at, x_time_us: 400 },
      allocation: allocation(),
    },
  ];
  await assertPane(pane, 'bookmarks');
});

// --- around the panes ------------------------------------------------------------------------------------------------

test('details of a device, of an allocation, of a line, and why there are none', async () => {
  const shown = signal<Selected>({ is: 'nothing' });
  const missing = signal<readonly Missing[]>([]);
  const session = {
    ...{ selection: { shown }, missing, device: DEVICE, filter: 'φ', leaveOut: nothing },
    ...{ openFrame: nothing, copy: nothing, select: nothing, setFilter: nothing, api: { post: nothing } },
    ...{ colours: { of: () => [1, 2, 3] as const }, picture: signal<PictureId>('stacked') },
  };
  const sheet = mounted(<Panel hidden={false} style={{}} session={session} run={nothing} />);
  const shows = async (what: string, selected: Selected): Promise<void> => {
    shown.value = selected;
    await drawn();
    assertTranslated(sheet, what);
  };
  for (const events of [12, 0]) {
    session.device = { ...DEVICE, events };
    await shows('a device', { is: 'nothing' });
  }
  await shows('a question', { is: 'waiting', sizeBytes: null });
  missing.value = [{ file: '/σ/μ.π', line: 12, lookedFor: '/σ' }];
  for (const answer of [
    STACK,
    { ...STACK, allocation: bare, frames: [], forward_frames: [], fx_traces: [] },
  ]) {
    session.picture.value = answer === STACK ? 'map' : 'stacked';
    await shows('a stack', { is: 'stack', answer, isAgain: false });
  }
  for (const stacks of [[], [1]]) {
    session.filter = stacks.length > 0 ? 'φ' : '';
    const answer = { file: '/σ/μ.π', line: 3, totals: TOTALS, stacks };
    await shows('a line', { is: 'line', answer, isAgain: false });
  }
  await shows('a problem', { is: 'problem', message: 'Π', advice: 'Α' });
});

test('the tooltip of the picture', () => {
  const tooltip = new HoverCard(TooltipCard);
  document.body.append(tooltip.root);
  const column = { at: 'τ', traced: true, totalBytes: GIB, live: 3, passed: 2 };
  const area = { name: 'Α', detail: 'Β', colour: [1, 2, 3] as const, bytes: 4, count: 2 };
  const band = { sizeBytes: GIB, category: 'activation', colour: [1, 2, 3] as const };
  const merged = { count: 4, bytes: GIB, there: allocation() };
  const empty = { band: null, merged: null, area: null, place: ['Π'], column };
  for (const model of [
    { ...empty, band: { ...band, details: allocation({ lifetime_us: null }) } },
    { ...empty, band: { ...band, details: bare }, area },
    { ...empty, merged },
    { ...empty, merged, area },
  ]) {
    tooltip.show(model, { x: 0, y: 0 }, document.body);
    assertTranslated(tooltip.root, 'the tooltip');
  }
});

test('annotations along the run', async () => {
  const item = { name: 'Σ', x0: 0, x1: 9, from_moment: 1, to_moment: 2, count: 1 };
  const answer: AnnotationsAnswer = {
    lanes: (['annotate', 'annotations', 'compile_context', 'user_metadata'] as const).map((kind, depth) => ({
      ...{ kind, depth },
      items: [
        { ...item, unmatched: 'end' },
        { ...item, to_moment: 1, unmatched: 'start' },
      ],
    })),
    ...{ shown: 2, noise: 3, noise_names: ['Ν'], unmatched: 1 },
  };
  const lanes = new Lanes(contextWith({ 'memlens/annotations': answer }));
  const strip = mounted(<lanes.View />);
  lanes.update(new Set(['device']));
  await drawn();
  assertTranslated(strip, 'annotations');
  lanes.dispose();
});

test('the filter and its terms, keys, menus, the toolbar and the panel', async () => {
  for (const terms of [traceTerms(['κ']), OBJECT_TERMS]) {
    const { filtering, ...around } = new BareSession();
    const box = new FilterBox({ ...around, filtering, setFilter: nothing }, terms, nothing);
    const row = mounted(<box.View />);
    box.offer();
    filtering.write('β');
    filtering.fits(3, 4, terms === OBJECT_TERMS ? 'objects' : 'allocations');
    await drawn();
    assert.equal(row.querySelectorAll('li').length, terms.filter(({ text }) => !text.includes(':κ')).length);
    assertTranslated(row, 'the filter');
  }
  for (const keys of [timelineKeys(), profileKeys(), graphKeys(true)]) {
    const around = keys.filter(([title]) => !/flåmé|pîctûré/.test(title));
    const help = new Help(around);
    assertView(<help.View />, 'the keys');
  }
  const api = { post: nothing, command: nothing };
  const session = Object.assign(new BareSession(), {
    ...({ device: DEVICE, axis: 'time', areas: { kind: null } } as const),
    colours: { by: 'stack', categories: ['κ'] } as const,
  });
  for (const entries of [
    timelineMenu(session, true, nothing, []),
    comparing(api, nothing).compared(),
    shareEntries(api, () => '', 'Τ').slice(1),
  ]) {
    openMenu(entries, 0, 0);
    const menu = document.querySelector('[role=menu]');
    assert.ok(menu);
    assertTranslated(menu, 'a menu');
    document.body.replaceChildren();
  }
  const pickers = signal([]);
  assertView(
    <Toolbar
      {...{ label: 'Τ', pickers, Filter: () => <></>, comparedWith: signal('Φ') }}
      {...comparing(api, nothing)}
      {...{ more: () => [], help: nothing }}
    />,
    'the toolbar',
  );
  const tabs: readonly PaneTab[] = ['liveSet', 'sql'].map((id) => ({
    ...{ id: id as PaneTab['id'], title: 'Π', key: '1', usesSet: true, make: never },
  }));
  const context = contextWith({});
  const dock = new Dock(session, tabs, nothing, 1, ({ hidden }) => (
    <ScopeBar cursors={context.cursors} name={context.setName} hidden={hidden} />
  ));
  assertView(<dock.View hidden={false} tall={false} height={200} />, 'the panel');
});

test('what stands where no picture is, and what became of the file', async () => {
  assertView(
    <ProgressScreen progress={signal({ stage: 'Σ', fraction: null })} cancel={nothing} />,
    'progress',
  );
  const pressed: string[] = [];
  const press = (name: string): void => void pressed.push(name);
  const problem = { code: 'internal', message: 'Μ', advice: 'Α', offset: 12, retry: true };
  assertView(<FailedScreen {...{ problem, canOpenAsText: true, press }} />, 'a failure');
  for (const [code, buttons] of [
    ['no-python', ['installPython', 'openPythonSetting', 'retry', 'showLog']],
    ['no-libraries', ['openPythonSetting', 'retry', 'showLog']],
    ['no-server', ['retry', 'showLog']],
  ] as const) {
    const screen = mounted(
      <FailedScreen {...{ problem: { ...problem, code }, canOpenAsText: false, press }} />,
    );
    assertTranslated(screen, code);
    const shown = [...screen.querySelectorAll('button')];
    for (const button of shown) button.click();
    assert.deepEqual(pressed.splice(0), buttons);
    assert.deepEqual(
      shown.map((button) => !button.classList.contains('secondary')),
      buttons.map((_, at) => at === (code === 'no-libraries' ? 1 : 0)),
    );
    // they are in the page until something else takes its place
    assert.equal(screen.querySelectorAll('button').length, buttons.length);
  }
  assert.equal(mounted(<EmptyScreen text="Κ" />).textContent, 'Κ');
  for (const state of ['changed', 'gone'] as const) {
    const bar = new FileBar({ post: nothing }, () => 'Φ');
    const rows = mounted(<bar.View />);
    bar.show('own', state);
    bar.show('other', state);
    await drawn();
    assertTranslated(rows, 'files');
  }
});

test('figures of a device, parts of what is reserved, and categories', () => {
  const texts = [
    ...deviceFigures(DEVICE),
    ...deviceFigures({ ...DEVICE, events: 0 }),
    ...gapParts(OOM.gap).flatMap(({ name, why }) => [name, why]),
    ...[gapSentence(OOM.gap), gapSentence(OOM.gap, false)],
  ];
  for (const text of texts) assertTranslated(element('p', {}, new Text(text)), text);
  const names = ['parameter', 'optimizer_state', 'gradient (inferred)', 'unknown'];
  assertView(<Legend names={names} colours={[]} highlighted={null} press={nothing} />, 'the legend');
});
