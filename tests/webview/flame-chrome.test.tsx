// What stands around a flame graph and a table of groups: their controls, and the legend of graphs with two sides.

import { drawn, mounted } from './support/dom';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { render } from 'preact';
import type { FlameName } from '../../extension/shared/protocol.gen';
import { SIGNED } from '../../webview/src/flame/difference';
import { ChangeLegend } from '../../webview/src/flame/legend';
import { initialSettings, type FlameSettings } from '../../webview/src/flame/settings';
import { FlameToolbar } from '../../webview/src/flame/toolbar';
import { Controls } from '../../webview/src/live-set/controls';
import type { GroupKind } from '../../webview/src/live-set/tree';
import { KeptAttribution } from '../../webview/src/shell/attribution';
import { element } from '../../webview/src/widgets/dom';

afterEach(() => {
  document.body.replaceChildren();
});

const attribution = (): KeptAttribution =>
  new KeptAttribution({ saved: () => undefined, keep: () => undefined });

const labels = (root: Element): (string | null)[] =>
  [...root.querySelectorAll('.setting-name')].map((each) => each.textContent);

const named = (name: number): FlameName => ({
  ...{ name, function: `f${name}`, file: 'a.py', line: 0, kind: 'user', package: '', is_package: false },
  ...{ source: 'recorded', said: null, declared: '' },
});

function choose(select: HTMLSelectElement | null | undefined, value: string): void {
  assert.ok(select);
  select.value = value;
  select.dispatchEvent(new Event('change', { bubbles: true }));
}

test('the flame graph’s row has what its form needs, and takes back what was done to frames', async () => {
  const settings = initialSettings({ model: 'graph', file_bytes: 1 });
  const changes: Partial<FlameSettings>[] = [];
  const toolbar = new FlameToolbar(
    {
      change: (part) => {
        changes.push(part);
        toolbar.update(Object.assign(settings, part), false);
      },
      goToMatch: () => undefined,
      plot: { surface: document.body },
    },
    false,
    attribution(),
  );
  const root = mounted(<toolbar.View hidden={false} />);
  Object.assign(settings, { focus: named(1), hidden: [named(2), named(3)], packages: ['torch'] });
  toolbar.update(settings, false);
  await drawn();
  const chips = (): string[] => [...root.querySelectorAll('.chip')].map((each) => each.textContent);
  assert.deepEqual(chips(), ['Only f1 ×', 'Hidden: f2 ×', 'Hidden: f3 ×', 'torch collapsed ×']);
  root.querySelectorAll<HTMLElement>('.chip')[1]?.click();
  await drawn();
  assert.deepEqual(changes, [{ hidden: [named(3)] }]);
  assert.deepEqual(chips(), ['Only f1 ×', 'Hidden: f3 ×', 'torch collapsed ×']);
  assert.ok(labels(root).includes('Colours') && !labels(root).includes('Charged to'));

  // what is being typed stays when something else is drawn
  const box = (): HTMLInputElement | null => root.querySelector('.flame-search');
  assert.equal(box(), null);
  toolbar.focusSearch();
  await drawn();
  const search = box();
  assert.ok(search && search === document.activeElement);
  search.value = 'forw';
  toolbar.setFound('3 boxes');
  toolbar.update(settings, true);
  await drawn();
  assert.equal(search.value, 'forw');
  assert.ok(!labels(root).includes('Colours'), 'colours say what became more');
  search.blur();
  await drawn();
  assert.equal(box(), search, 'it stays as long as there is something in it');
  search.value = '';
  search.focus();
  search.blur();
  await drawn();
  assert.equal(box(), null);
  toolbar.update({ ...settings, search: 'forw' }, true);
  await drawn();
  assert.equal(box()?.value, 'forw');

  choose(root.querySelector<HTMLSelectElement>('select'), 'functions');
  await drawn();
  assert.equal(box(), null);
  assert.ok(labels(root).includes('Charged to') && !labels(root).includes('Direction'));
});

test('a line leads to its callers unless something else is chosen', async () => {
  const grouped: (readonly GroupKind[])[] = [];
  const controls = new Controls(['line', 'caller', 'module', 'size'], ['line', 'caller'], attribution());
  controls.by.subscribe((by) => grouped.push(by));
  const root = mounted(<controls.View hidden={false} />);
  for (const [level, kind] of [
    [0, 'module'],
    [0, 'line'],
    [1, 'size'],
    [1, ''],
  ] as const) {
    await drawn();
    choose(root.querySelectorAll('select')[level], kind);
  }
  controls.set('line');
  assert.deepEqual(grouped.slice(1), [
    ['module'],
    ['line', 'caller'],
    ['line', 'size'],
    ['line'],
    ['line', 'caller'],
  ]);
});

test('a level of groups is offered once the one before it is chosen', async () => {
  const grouped: (readonly GroupKind[])[] = [];
  const controls = new Controls(['line', 'module', 'size'], ['line'], attribution());
  controls.by.subscribe((by) => grouped.push(by));
  const root = mounted(<controls.View hidden={false} />);
  await drawn();
  const selects = (): HTMLSelectElement[] => [...root.querySelectorAll('select')];
  assert.equal(selects().length, 2);
  choose(selects()[1], 'size');
  await drawn();
  assert.deepEqual(
    selects().map(({ value }) => value),
    ['line', 'size', ''],
  );
  assert.ok(labels(root).includes('Charged to'));
  choose(selects()[0], 'module');
  await drawn();
  assert.ok(!labels(root).includes('Charged to'), 'a module isn’t a place in code');
  choose(selects()[0], '');
  await drawn();
  assert.deepEqual(grouped.slice(1), [['line', 'size'], ['module', 'size'], []]);
  assert.equal(selects().length, 1);
  controls.showStatus('', 'big is not a size');
  await drawn();
  assert.equal(root.querySelector('[role=alert]')?.textContent, 'big is not a size');
  assert.equal(root.querySelector('.live-set-narrow')?.getAttribute('aria-invalid'), 'true');
});

test('the legend says which way colours go, of a comparison and of values that are negative in part', () => {
  const root = element('div');
  const texts = (): string[] => [...root.querySelectorAll('.compare-sample')].map((each) => each.textContent);
  render(<ChangeLegend sided={SIGNED} />, root);
  assert.deepEqual(texts(), ['▲ more', '= no change', '▼ less']);
  const compared = { ...SIGNED, before: 'Before', after: 'After' };
  render(<ChangeLegend sided={compared} />, root);
  assert.deepEqual(texts(), ['▲ more after', '= the same', '▼ less after']);
  const colours = [...root.querySelectorAll<HTMLElement>('.flame-change')].map(
    (each) => each.style.background,
  );
  assert.equal(new Set(colours).size, 3);
});
