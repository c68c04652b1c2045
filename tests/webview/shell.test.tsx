// What stands around every view: the summary, the toolbar, menus, and the panel's tabs.

import { drawn, mounted, press } from './support/dom';
import { BareSession } from './support/session';
import { signal } from '@preact/signals';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { render, type VNode } from 'preact';
import type { Action } from '../../extension/shared/commands';
import type { FromWebviewMessage, ViewMethod } from '../../extension/shared/messages';
import type {
  DeviceInfo,
  Evidence,
  FindingsAnswer,
  HeadlineAnswer,
  LineLink,
  SnapshotFinding,
  TextPart,
} from '../../extension/shared/protocol.gen';
import type { Api } from '../../webview/src/api';
import { RequestError } from '../../webview/src/base/request';
import { ScopeBar } from '../../webview/src/timeline/scope';
import { Cursors } from '../../webview/src/timeline/cursors';
import { GRAPH_COMMANDS } from '../../webview/src/graph/commands';
import { PROFILE_COMMANDS } from '../../webview/src/profile/commands';
import { KeyTable, type KeyRow } from '../../webview/src/shell/key-table';
import { TIMELINE_COMMANDS } from '../../webview/src/timeline/commands';
import { tabsOf, type Pane, type PaneOf } from '../../webview/src/shell/pane';
import { Dock } from '../../webview/src/shell/dock';
import { Headline } from '../../webview/src/shell/headline';
import { saver } from '../../webview/src/shell/saver';
import { shareEntries } from '../../webview/src/shell/share';
import { openMenu, type MenuEntry } from '../../webview/src/widgets/menu';
import { Summary } from '../../webview/src/shell/summary';
import { comparing, Toolbar, type ToolbarProps } from '../../webview/src/shell/toolbar';
import { asMarkdown } from '../../webview/src/widgets/copy';
import { openTableMenu } from '../../webview/src/widgets/table-menu';
import { timelineMenu } from '../../webview/src/timeline/menu';
import { element } from '../../webview/src/widgets/dom';

const root = (): HTMLElement => {
  const made = element('div');
  document.body.append(made);
  return made;
};

afterEach(() => {
  document.body.replaceChildren();
});

/** An element that must be there. */
function one(within: ParentNode, selector: string): HTMLElement {
  const found = within.querySelector<HTMLElement>(selector);
  assert.ok(found, `${selector} is there`);
  return found;
}

/** For what must not happen. */
const never = (): never => assert.fail();

const PLACED = { of: ['timeline'], place: 1 } as const;

const texts = (within: ParentNode, selector: string): string[] =>
  [...within.querySelectorAll(selector)].map((each) => each.textContent);

// --- menus -----------------------------------------------------------------------------------------------------------

test('a menu is walked by keys, runs what is chosen, and gives the focus back', () => {
  const button = element('button', {}, new Text('More'));
  document.body.append(button);
  button.focus();
  const ran: string[] = [];
  const item = (text: string, checked?: boolean): MenuEntry => ({
    ...{ text, key: '' },
    ...(checked === undefined ? {} : { checked }),
    run: () => {
      ran.push(text);
    },
  });
  openMenu([item('Open'), null, item('Shown', true), item('Peak')], 10, 10, 'More');
  const menu = one(document, '[role=menu]');
  assert.equal(menu.getAttribute('aria-label'), 'More');
  assert.deepEqual(
    [...menu.children].map((each) => each.getAttribute('role')),
    ['menuitem', 'separator', 'menuitemcheckbox', 'menuitem'],
  );
  const at = (): string | undefined => document.activeElement?.querySelector('.menu-text')?.textContent;
  assert.equal(at(), 'Open');
  press(menu, 'ArrowDown');
  assert.equal(at(), 'Shown');
  assert.equal(document.activeElement?.getAttribute('aria-checked'), 'true');
  press(menu, 'End');
  assert.equal(at(), 'Peak');
  press(menu, 'ArrowDown');
  assert.equal(at(), 'Open');
  press(menu, 'p');
  assert.equal(at(), 'Peak');
  press(menu, 'Enter');
  assert.deepEqual(ran, ['Peak']);
  assert.equal(document.querySelector('[role=menu]'), null);
  assert.equal(document.activeElement, button);
});

test('Escape and a press beside it close a menu and run nothing', () => {
  const items: MenuEntry[] = [
    {
      ...{ text: 'Delete', key: '' },
      run: () => {
        assert.fail('nothing was chosen');
      },
    },
  ];
  openMenu(items, 0, 0);
  press(one(document, '[role=menu]'), 'Escape');
  assert.equal(document.querySelector('[role=menu]'), null);
  openMenu(items, 0, 0);
  document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
  assert.equal(document.querySelector('[role=menu]'), null);
});

test('a menu of the timeline offers what the file has, and running what holds changes nothing', () => {
  const ran: string[] = [];
  const run = (action: string): void => void ran.push(action);
  const entries = (time_axis: DeviceInfo['time_axis']): readonly MenuEntry[] => {
    // SAFETY: the menu goes by whether there are events and times.
    const device = { events: 9, time_axis } as DeviceInfo;
    const session = Object.assign(new BareSession(), {
      ...({ device, axis: 'time', areas: { kind: 'line' } } as const),
      colours: { by: 'stack', categories: [] } as const,
    });
    const post = ({ type }: FromWebviewMessage): void => run(type);
    return timelineMenu(
      session,
      false,
      run,
      shareEntries({ post, command: run }, () => 'the summary', 'Timeline'),
    );
  };
  const items = entries({ x0: 0, x1: 9 }).filter((entry) => entry !== null);
  assert.ok(!items.some(({ text }) => text.startsWith('Colours')));
  for (const item of items) item.run();
  assert.ok(
    ran.includes('toggleAxis') &&
      ran.includes('togglePanel') &&
      ran.includes('copy') &&
      ran.includes('copyLink'),
  );
  // one of both axes holds, so only the other one switches
  assert.equal(ran.filter((action) => action === 'toggleAxis').length, 1);
  assert.ok(!entries(null).some((entry) => entry?.text.startsWith('Axis')));
});

// --- the toolbar -----------------------------------------------------------------------------------------------------

test('the toolbar is one stop of Tab, and arrows lead through it', async () => {
  const host = root();
  const Filter = (): VNode => <input type="text" />;
  const picked: string[] = [];
  const posted: FromWebviewMessage[] = [];
  const comparedWith = signal<string | null>(null);
  const props: ToolbarProps = {
    label: 'Memory timeline',
    pickers: signal([
      {
        ...{ label: 'View', key: '', value: 'stacked' },
        options: [
          { value: 'stacked', text: 'Timeline' },
          { value: 'map', text: 'Memory map' },
        ],
        pick: (value: string) => {
          picked.push(value);
        },
      },
    ]),
    ...{ Filter, comparedWith },
    ...comparing(
      {
        post: (message) => {
          posted.push(message);
        },
      },
      never,
    ),
    more: () => [{ text: 'Zoom In', key: '+', run: () => undefined }],
    help: () => undefined,
  };
  render(<Toolbar {...props} />, host);
  await drawn();
  const controls = [...host.querySelectorAll<HTMLElement>('select, input, button')];
  assert.deepEqual(
    controls.map((each) => each.getAttribute('aria-label') ?? each.textContent),
    ['View', '', 'Compare…', 'More'],
  );
  assert.deepEqual(
    controls.map(({ tabIndex }) => tabIndex),
    [0, -1, -1, -1],
  );
  controls[0]?.focus();
  press(one(host, 'select'), 'ArrowRight');
  assert.equal(document.activeElement, controls[1]);
  press(one(host, 'input'), 'ArrowLeft');
  assert.equal(document.activeElement, controls[0]);
  press(one(host, 'select'), 'End');
  assert.equal(document.activeElement, controls[3]);
  await drawn();
  assert.deepEqual(
    controls.map(({ tabIndex }) => tabIndex),
    [-1, -1, -1, 0],
  );
  const view = host.querySelector('select');
  assert.ok(view);
  view.value = 'map';
  view.dispatchEvent(new Event('change', { bubbles: true }));
  assert.deepEqual(picked, ['map']);

  controls[2]?.click();
  assert.deepEqual(posted, [{ type: 'chooseOther' }]);
  comparedWith.value = 'other.pickle';
  await drawn();
  controls[2]?.click();
  assert.deepEqual(texts(document, '[role=menu] .menu-text'), [
    'Show Comparison',
    'Compare with Another…',
    'Stop Comparing',
  ]);
  controls[3]?.click();
  assert.deepEqual(texts(document, '[role=menu][aria-label=More] .menu-text'), ['Zoom In', 'Keys']);
});

// --- the summary -----------------------------------------------------------------------------------------------------

const LINE: LineLink = {
  ...{ file: '/src/train/model.py', line: 39, function: 'forward', frame: 7 },
  source: 'recorded',
};
const EVIDENCE: Evidence = {
  ...{ pane: 'liveSet', by: 'line', event: null, allocation: null },
  of: { device: 0, kind: 'live', from_moment: 4, to_moment: null, filter: '', value: null },
};
const part = (text: string, more: Partial<TextPart> = {}): TextPart => ({
  ...{ text, template: '', values: {}, figure: null, line: null, evidence: null, objects: null },
  ...more,
});
/** A sentence of the server's with parts by their names. */
const sentence = (template: string, values: Readonly<Record<string, TextPart>> = {}): TextPart => ({
  ...part(template.replace(/\{(\w+)\}/g, (_, name: string) => values[name]?.text ?? '')),
  ...{ template, values },
});
const BYTES = { amount: 2 ** 31, unit: 'bytes', kind: 'live', sql: '' } as const;
const HELD = {
  line: part('model.py:39', { line: LINE }),
  size: part('2 GiB', { evidence: EVIDENCE, figure: BYTES }),
};
const finding = (title: string): SnapshotFinding => ({
  ...{ rule: 'dominates', title, text: 'model.py:39 holds 2 GiB.', evidence: EVIDENCE },
  sentence: sentence('{line} holds {size}.', HELD),
  ...{ figure: BYTES, line: LINE, inferred: true },
  ...{ objects: null, evidence_from: [], subject: '', is_note: false, brief: null },
});
const HEADLINE: HeadlineAnswer = {
  rule: 'peak',
  sentences: [
    sentence('Peak {peak}.', { peak: part('4 GiB') }),
    sentence('Held by {line}.', { line: HELD.line }),
  ],
  text: 'Peak 4 GiB. Held by model.py:39.',
  warnings: [{ code: 'ring_buffer', message: sentence('Recording started mid-run.'), device: 0 }],
};

const FINDINGS = [finding('Most memory'), finding('Grows')];
const NEXT = { text: 'Drag over the curve, or {0}.', link: 'compare', press: () => undefined };

/** A server that knows only the summary; `fail` makes it answer with an error. */
function server(
  fail = false,
  headline = HEADLINE,
  findings = FINDINGS,
): Pick<Api, 'request'> & { asked: string[] } {
  const asked: string[] = [];
  const answers: Partial<Record<ViewMethod, HeadlineAnswer | FindingsAnswer>> = {
    'memlens/headline': headline,
    'memlens/findings': { findings },
  };
  return {
    asked,
    // SAFETY: the table has the answer of each method that is asked for.
    request: ((method: ViewMethod) => {
      asked.push(method);
      const problem = {
        code: 'internal',
        message: 'broken',
        advice: '',
        offset: null,
        retry: false,
      } as const;
      return {
        answer: fail ? Promise.reject(new RequestError(problem)) : Promise.resolve(answers[method]),
        cancel: () => undefined,
      };
    }) as unknown as Api['request'],
  };
}

test('an object in the summary is shown by a click, and its source opened by Ctrl+click', async () => {
  const host = root();
  const objects = { kind: 'object', number: 8, sql: '' } as const;
  const held = sentence('{object} holds 2 GiB.', { object: part('Cache @5', { line: LINE, objects }) });
  const about = { ...finding('Large'), sentence: held, text: held.text, evidence: null, objects };
  const summary = new Summary(
    server(false, { ...HEADLINE, rule: 'heap', sentences: [held] }, [about]),
    [],
    never,
  );
  const done: unknown[] = [];
  render(
    <Headline
      summary={summary}
      session={{
        openFrame: (line) => done.push(line.line),
        showObjects: ({ number }) => done.push(['object', number]),
        ...{ showEvidence: never, copy: never },
      }}
      next={NEXT}
    />,
    host,
  );
  summary.turnTo(0);
  summary.find();
  await drawn();
  const link = one(host, '.headline-text .link');
  link.click();
  link.dispatchEvent(new MouseEvent('click', { bubbles: true, ctrlKey: true }));
  assert.deepEqual(done, [['object', 8], 39]);
  assert.match(link.title, /Ctrl\+click.*model\.py:39/);
  // which therefore has a link of its own beside the finding
  const links = [...host.querySelectorAll<HTMLElement>('.headline-finding .link')].map(
    (each) => each.textContent,
  );
  assert.deepEqual(links.slice(0, 3), ['Cache @5', 'model.py:39', 'Show']);
});

test('brackets and full stops stay beside their links, and the words are as the server says them', async () => {
  const host = root();
  const about = sentence('{objects} ({about})', {
    objects: part('9 Session'),
    about: sentence('in {line}', { line: part('app.js:8', { line: LINE }) }),
  });
  const held = sentence('Most of it is in {about}; “{line}” holds {line}.', {
    about,
    line: part('app.js:9', { line: LINE }),
  });
  const summary = new Summary(server(false, { ...HEADLINE, sentences: [held] }, []), [], never);
  render(
    <Headline
      summary={summary}
      session={{ openFrame: never, showObjects: null, showEvidence: never, copy: never }}
      next={NEXT}
    />,
    host,
  );
  summary.turnTo(0);
  summary.find();
  await drawn();
  assert.deepEqual(texts(host, '.headline-kept'), ['app.js:8);', '“app.js:9”', 'app.js:9.']);
  assert.equal(
    one(host, '.headline-text').textContent.trim(),
    'Most of it is in 9 Session (in app.js:8); “app.js:9” holds app.js:9.',
  );
});

test('a copied summary quotes no text that the program held', async () => {
  const quoted = sentence('“{text}” {n} times', { text: part('Bearer s3cret'), n: part('7') });
  const held = sentence('Most of it is {quoted}.', { quoted });
  const summary = new Summary(server(false, { ...HEADLINE, sentences: [held] }, []), [], never);
  summary.turnTo(0);
  summary.find();
  await drawn();
  assert.equal(summary.text.split('\n')[0], 'Most of it is “…” 7 times.');
});

test('the summary links lines and evidence, copies as text, and counts the warnings', async () => {
  const host = root();
  const api = server();
  const summary = new Summary(api, [], never);
  const done: unknown[] = [];
  render(
    <Headline
      summary={summary}
      session={{
        openFrame: (line, beside) => done.push(['open', line.file, line.line, beside]),
        showObjects: null,
        showEvidence: (evidence) => done.push(['show', evidence.pane]),
        copy: (text) => done.push(['copy', text]),
      }}
      next={NEXT}
    />,
    host,
  );
  summary.turnTo(0);
  await drawn();
  assert.deepEqual(api.asked, [], 'the picture comes first');
  summary.find();
  summary.find();
  await drawn();
  assert.deepEqual(api.asked, ['memlens/headline', 'memlens/findings']);
  assert.equal(one(host, '.headline-text').textContent.trim(), 'Peak 4 GiB. Held by model.py:39.');

  one(host, '.headline-text .link').click();
  const best = one(host, '.headline-finding');
  assert.match(best.textContent, /^Most memory: model\.py:39 holds 2 GiB\. \(inferred\)Show/);
  const links = [...best.querySelectorAll<HTMLElement>('.link')];
  // the line is linked where it stands, and not a second time; the amount beside it is no link
  assert.deepEqual(
    links.map((each) => each.textContent),
    ['model.py:39', 'Show', '1 finding, 1 warning1 finding1'],
  );
  links[1]?.click();
  one(host, '.headline-copy').click();
  assert.deepEqual(done, [
    ['open', '/src/train/model.py', 39, false],
    ['show', 'liveSet'],
    ['copy', 'Peak 4 GiB. Held by model.py:39.\n- model.py:39 holds 2 GiB.\n- model.py:39 holds 2 GiB.'],
  ]);

  const list = one(host, '.headline-list');
  assert.ok(list.hidden);
  const all = one(host, '.headline-all');
  // that which stands there as a whole isn't said again
  assert.equal(all.title, '1 finding, 1 warning');
  all.click();
  await drawn();
  assert.equal(all.getAttribute('aria-expanded'), 'true');
  assert.ok(!list.hidden);
  assert.deepEqual(texts(list, 'h2'), ['Findings', 'Warnings']);
  assert.equal(texts(list, 'ol li').length, 1);
  assert.deepEqual(texts(list, 'ul li'), ['Recording started mid-run.']);
  one(list, '.headline-close').focus();
  press(list, 'Escape');
  await drawn();
  assert.ok(list.hidden);
  assert.equal(document.activeElement, all);
});

test('the finding that a headline ends with stands below it, with its evidence', async () => {
  const host = root();
  const grows = {
    ...finding('Grows'),
    ...{ text: 'model.py:39 grows to 2 GiB.', sentence: sentence('{line} grows to {size}.', HELD) },
  };
  const headline = { ...HEADLINE, sentences: [...HEADLINE.sentences, grows.sentence] };
  const summary = new Summary(server(false, headline, [finding('Most memory'), grows]), [], never);
  const session = { openFrame: never, showObjects: null, showEvidence: never, copy: never };
  render(<Headline summary={summary} session={session} next={NEXT} />, host);
  summary.turnTo(0);
  summary.find();
  await drawn();
  assert.equal(one(host, '.headline-text').textContent.trim(), 'Peak 4 GiB. Held by model.py:39.');
  assert.match(
    one(host, '.headline-finding').textContent,
    /^Grows: model\.py:39 grows to 2 GiB\. \(inferred\)Show/,
  );
});

test('what a headline says of a line is not repeated below it', async () => {
  const host = root();
  const held = part('2 GiB', { figure: finding('').figure });
  const headline = { ...HEADLINE, sentences: [...HEADLINE.sentences, held] };
  const others = { ...finding('Grows'), figure: { ...finding('').figure, amount: 7 } };
  const session = { openFrame: never, showObjects: null, showEvidence: never, copy: never };
  for (const [found, below, link] of [
    [[finding('Most memory'), others], /^Grows:/, '1 warning'],
    [[finding('Most memory')], null, '1 warning'],
  ] as const) {
    const summary = new Summary(server(false, headline, [...found]), [], never);
    render(<Headline key={link} summary={summary} session={session} next={NEXT} />, host);
    summary.turnTo(0);
    summary.find();
    await drawn();
    const shown = host.querySelector('.headline-finding');
    const next = host.querySelector('.headline-next');
    assert.equal(next?.textContent, below === null ? 'Next: Drag over the curve, or compare.' : undefined);
    if (below === null) assert.equal(shown, null);
    else assert.match(shown?.textContent ?? '', below);
    assert.equal(one(host, '.headline-all').title, link);
  }
});

test('the headline has the first sentence of each part alone, and the list all of them', async () => {
  const host = root();
  const grows = {
    ...finding('Grows'),
    ...{ text: '…', sentence: sentence('{line} grows to {size}. Something keeps it.', HELD) },
  };
  const joined = sentence('{a} {b}', { a: sentence('First here.'), b: sentence('Then this.') });
  const headline = {
    ...HEADLINE,
    sentences: [
      sentence('Peak {peak}. It is high.', { peak: part('4 GiB') }),
      joined,
      // what isn't sentences stays together
      sentence('Held by {held}.', {
        held: sentence('{line} {size}', { line: part('data.py:3'), size: part('1 GiB') }),
      }),
    ],
  };
  const summary = new Summary(server(false, headline, [grows]), [], never);
  const session = { openFrame: never, showObjects: null, showEvidence: never, copy: never };
  render(<Headline summary={summary} session={session} next={NEXT} />, host);
  summary.turnTo(0);
  summary.find();
  await drawn();
  assert.equal(
    one(host, '.headline-text').textContent.trim(),
    'Peak 4 GiB. First here. Held by data.py:3 1 GiB.',
  );
  assert.equal(one(host, '.headline-finding p').textContent, 'Grows: model.py:39 grows to 2 GiB. (inferred)');
  assert.match(one(host, '.headline-list li').textContent, /Something keeps it/);
});

test('a finding whose first sentence is the headline is one click away', async () => {
  const host = root();
  const holds = sentence('A table retains {size}.', { size: part('6 MiB') });
  const joined = {
    ...finding('Large retained size'),
    ...{ text: 'A table retains 6 MiB. The same bytes: 5 closures keep it.', line: null },
    evidence_from: [{ rule: 'contexts', title: 'Kept by closures', subject: '', figure: finding('').figure }],
  };
  const headline = { ...HEADLINE, rule: 'heap', sentences: [part('9 MiB in 5 objects.'), holds] };
  const summary = new Summary(server(false, headline, [joined]), [], never);
  const session = { openFrame: never, showObjects: null, showEvidence: never, copy: never };
  render(<Headline summary={summary} session={session} next={NEXT} />, host);
  summary.turnTo(0);
  summary.find();
  await drawn();
  assert.equal(host.querySelector('.headline-finding'), null);
  assert.equal(one(host, '.headline-all').title, '1 finding, 1 warning');
  const compares: string[] = [];
  const press = (): number => compares.push('asked');
  render(<Headline summary={summary} session={session} next={{ ...NEXT, press }} />, host);
  one(host, '.headline-next .link').click();
  assert.deepEqual(compares, ['asked']);
});

test('findings that take a while say how far they are, and can be given up and asked for again', async () => {
  const host = root();
  let asked = 0;
  let cancelled = 0;
  let found: ((answer: FindingsAnswer) => void) | undefined;
  // SAFETY: nothing else is asked for.
  const request = ((method: ViewMethod) => {
    const answer =
      method === 'memlens/findingsState'
        ? Promise.resolve({ fraction: 0.25 })
        : method === 'memlens/headline'
          ? Promise.resolve(HEADLINE)
          : new Promise<FindingsAnswer>((resolve) => {
              asked++;
              found = resolve;
            });
    return { answer, cancel: () => cancelled++ };
  }) as unknown as Api['request'];
  const summary = new Summary({ request }, [], never);
  const session = { openFrame: never, showEvidence: never, showObjects: null, copy: never };
  render(<Headline summary={summary} session={session} next={NEXT} />, host);
  const shown = async (): Promise<string> => {
    await drawn();
    return host.querySelector('.headline-searching')?.textContent ?? '';
  };
  const until = async (text: string): Promise<void> => {
    while ((await shown()) !== text) await new Promise((next) => setTimeout(next, 20));
  };
  summary.turnTo(null);
  summary.find();
  assert.equal(await shown(), '', 'those that are there at once say nothing');
  await until('Looking for findings…Cancel');
  assert.equal(one(host, '.headline-searching progress').getAttribute('value'), '0.25');
  one(host, '.headline-searching .link').click();
  await until('Look for findings');
  assert.deepEqual([asked, cancelled], [1, 1]);
  const link = one(host, '.headline-searching .link');
  link.click();
  assert.equal(await shown(), 'Looking for findings…Cancel');
  assert.equal(one(host, '.headline-searching .link'), link, 'the focus stays on it');
  assert.equal(asked, 2);
  found?.({ findings: FINDINGS });
  await until('');
  assert.match(one(host, '.headline-finding').textContent, /^Most memory/);
});

test('a summary that fails says so, and leaves the warnings of the file', async () => {
  const host = root();
  const errors: unknown[] = [];
  const notice = { code: 'empty', message: sentence('Nothing was recorded.'), device: null };
  const summary = new Summary(server(true), [notice], (error) => errors.push(error));
  render(
    <Headline
      summary={summary}
      session={{ openFrame: never, showEvidence: never, showObjects: null, copy: never }}
      next={NEXT}
    />,
    host,
  );
  summary.turnTo(0);
  summary.find();
  await drawn();
  // of the headline and of the findings
  assert.equal(errors.length, 2);
  assert.equal(one(host, '.headline-text').textContent, '');
  assert.equal(one(host, '.headline-all').title, '1 warning');
});

// --- the panel -------------------------------------------------------------------------------------------------------

test('the panel has a tab for a few panes and a menu for the others', async () => {
  const opened: string[] = [];
  const revealed: (string | undefined)[] = [];
  const pane = (id: PaneOf['id'], title: string): PaneOf<unknown> => {
    const made: Pane = {
      View: (room) => <section {...room} />,
      Bar: ({ hidden }) => <p class="controls" id={`bar-${id}`} hidden={hidden} />,
      update: () => {
        opened.push(id);
      },
      reveal: ({ query }) => {
        revealed.push(query);
      },
    };
    return { ...PLACED, id, title, usesSet: true, make: () => (id === 'sql' ? Promise.resolve(made) : made) };
  };
  // SAFETY: the cursors ask for nothing else.
  const api = { request: never } as Partial<Api> as Api;
  const cursors = new Cursors({ api, failed: never, filterAsIf: '' });
  const panes = [pane('liveSet', 'What’s in memory'), pane('flame', 'Flame graph'), pane('sql', 'SQL')];
  const tabs = tabsOf({ keys: new KeyTable(TIMELINE_COMMANDS) }, [
    ...panes,
    { ...pane('oom', 'Nothing of it'), offered: () => false },
  ]);
  const session = new BareSession();
  const dock = new Dock(session, tabs, never, 2, ({ hidden }) => (
    <ScopeBar cursors={cursors} name="at the peak" hidden={hidden} />
  ));
  const panel = mounted(<dock.View hidden={false} tall={false} height={200} />);
  session.show('liveSet');
  await drawn();
  assert.deepEqual(texts(panel, '[role=tab]'), ['What’s in memory', 'Flame graph']);
  assert.equal(one(panel, '.scope-text').textContent, 'At the peak');
  const isShown = (id: string): boolean[] =>
    ['pane', 'bar'].flatMap((part) => {
      const found = panel.querySelector<HTMLElement>(`#${part}-${id}`);
      return found ? [!found.hidden] : [];
    });
  assert.deepEqual(isShown('liveSet'), [true, true]);
  assert.deepEqual(isShown('flame'), [], 'made when it is first shown');
  // with Alt it goes forward
  const forward = { key: 'ArrowRight', altKey: true, bubbles: true };
  one(panel, '[role=tab]').dispatchEvent(new KeyboardEvent('keydown', forward));
  assert.equal(dock.shown, 'liveSet');
  press(one(panel, '[role=tab]'), 'ArrowRight');
  await drawn();
  assert.equal(dock.shown, 'flame');
  assert.equal(one(panel, '[aria-selected=true]').textContent, 'Flame graph');
  assert.deepEqual(isShown('liveSet'), [false, false]);
  assert.deepEqual(isShown('flame'), [true, true]);

  one(panel, '.tab-more').click();
  assert.deepEqual(texts(document, '[role=menuitemradio] .menu-text'), ['SQL']);
  one(document, '[role=menuitemradio]').click();
  // its code isn't here yet
  session.revealed.value = { query: 'SELECT 1' };
  assert.deepEqual(isShown('sql'), []);
  await drawn();
  assert.deepEqual(revealed, ['SELECT 1']);
  // what is shown always has a tab
  assert.deepEqual(texts(panel, '[role=tab]'), ['What’s in memory', 'Flame graph', 'SQL']);
  assert.deepEqual(isShown('sql'), [true, true]);
  assert.deepEqual(opened, ['liveSet', 'flame', 'sql']);
});

test('the keys of panes are those of their model, and a tenth pane says that it has none', () => {
  const pane: PaneOf<unknown> = { ...PLACED, id: 'sql', title: 'SQL', make: never };
  const keysOf = (rows: readonly KeyRow<Action>[]): string[] =>
    tabsOf(
      { keys: new KeyTable(rows) },
      Array.from({ length: 10 }, () => pane),
    ).map(({ key }) => key);
  const numbered: readonly (readonly KeyRow<Action>[])[] = [TIMELINE_COMMANDS, GRAPH_COMMANDS];
  for (const rows of numbered) {
    const keys = keysOf(rows);
    assert.deepEqual(keys, ['1', '2', '3', '4', '5', '6', '7', '8', '9', '']);
    keys.slice(0, 9).forEach((key, at) => {
      const pressed = { key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false };
      assert.equal(new KeyTable(rows).actionOf(pressed), `pane${at + 1}`);
    });
  }
  // of a profile the flame graph is the picture
  assert.deepEqual(new Set(keysOf(PROFILE_COMMANDS)), new Set(['']));
});

test('a state that waits to be saved is saved when the page is left', () => {
  let saved = 0;
  const stop = new AbortController();
  const save = saver(() => saved++, stop.signal);
  const leave = (): boolean => window.dispatchEvent(new Event('pagehide'));
  leave();
  assert.equal(saved, 0, 'nothing was changed');
  save();
  save();
  leave();
  leave();
  assert.equal(saved, 1);
  save();
  document.dispatchEvent(new Event('visibilitychange'));
  assert.equal(saved, 2);
  save();
  save.cancel();
  leave();
  assert.equal(saved, 2, 'it was saved already');
  stop.abort();
});

test('rows of a table without a menu of its own are copied as they are read', () => {
  const posted: FromWebviewMessage[] = [];
  const api = {
    post: (message: FromWebviewMessage) => {
      posted.push(message);
    },
  };
  const host = root();
  host.innerHTML =
    '<table><thead><tr><th>Place</th><th>Difference</th></tr></thead><tbody>' +
    '<tr data-path="/a/b.py:3"><td><bdi>run</bdi><bdi>b.py:3</bdi></td>' +
    '<td title="2,048 bytes more after"><span aria-hidden="true">▲</span>+2 KiB</td></tr></tbody></table>';
  const event = new MouseEvent('contextmenu', { bubbles: true });
  one(host, 'td').dispatchEvent(event);
  assert.ok(openTableMenu(api, event));
  const labels = [...document.querySelectorAll('.menu-text')].map((each) => each.textContent);
  assert.deepEqual(labels, [
    'Copy Name',
    'Copy Path',
    'Copy Row',
    'Copy Table',
    'Copy Table as Markdown',
    'Copy Table as CSV',
  ]);
  for (const [index, text] of [
    [0, 'run b.py:3'],
    [1, '/a/b.py:3'],
    [3, 'Place\tDifference\nrun b.py:3\t+2 KiB'],
    [4, '| Place | Difference |\n| --- | --: |\n| run b.py:3 | +2 KiB |'],
    [5, 'Place,Difference\r\nrun b.py:3,2048\r\n'],
  ] as const) {
    openTableMenu(api, event);
    document.querySelectorAll<HTMLElement>('.menu [role=menuitem]')[index]?.click();
    assert.deepEqual(posted.at(-1), { type: 'copy', text });
  }
});

test('what GitHub makes mentions, links, emoji and formulas of is code in copied Markdown', () => {
  for (const [name, cell] of [
    ['ping @octocat now', 'ping `@octocat` now'],
    ['https://e.org/?q=1 www.e.org', '`https://e.org/?q=1` `www.e.org`'],
    ['#12 GH-7 org/repo#5', '`#12` `GH-7` `org/repo#5`'],
    ['ring::key::of $x$', '`ring::key::of` `$x$`'],
    ['a|`@b`', '`` a\\|`@b` ``'],
    ['__init__ <a> & ~b~ #', '\\_\\_init\\_\\_ \\<a\\> \\& \\~b\\~ \\#'],
  ] as const) {
    assert.equal(asMarkdown({ heads: ['Name'], rows: [[name]] }).split('\n')[2], `| ${cell} |`);
  }
});
