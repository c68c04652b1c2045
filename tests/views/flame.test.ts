// The flame graph of the sample: its boxes, keys, search, forms and what is left out, against the command line.

import { Page, SIZE } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

const SAMPLES = path.resolve('samples');
const FILE = path.join(SAMPLES, 'train.pickle');

/** What `memlens flame --json` prints. */
interface Flame {
  readonly rows: readonly {
    readonly name: { readonly function: string; readonly kind: string };
    readonly bytes: number;
    readonly self_bytes: number;
  }[];
  readonly total_bytes: number;
}

/** What `memlens lines --json` prints. */
interface Lines {
  readonly lines: readonly {
    readonly file: string;
    readonly line: number;
    readonly function: string;
    readonly live_at_peak_bytes: number;
  }[];
}

let server: RealServer;
let page: Page;
let reported: Flame;

before(async () => {
  server = await RealServer.start(SAMPLES);
  reported = await server.memlens(SAMPLES, 'flame', FILE);
  page = await Page.open(server, FILE);
  await page.pane('Flame graph');
});
after(() => server.stop());

const SURFACE = '.flame-surface';
const bar = (label: string): string => `.flame-toolbar select[aria-label="${label}"]`;
const boxes = () => window.memlensFlame?.boxes() ?? [];
const exact = (count: number): string => `${count.toLocaleString('en-US')} bytes`;
const heading = (): string => page.all('.flame-details h3')[0]?.textContent ?? '';
const fact = (name: string): HTMLElement =>
  page.all('.flame-details dt').find(({ textContent }) => textContent === name)!
    .nextElementSibling as HTMLElement;
const press = (button: string): Promise<void> =>
  page.click('.flame-toolbar button', new RegExp(`^${button}$`));

/** The widest box of the user's code that is the only one of its function and suits, up to a share of the width. */
function ownBox(share = 0.6, suits: (name: string) => boolean = () => true) {
  for (const box of boxes().toSorted((a, b) => b.width - a.width)) {
    const rows = reported.rows.filter(({ name }) => name.function === box.name);
    const same = boxes().filter(({ name }) => name === box.name);
    const [row] = rows;
    if (box.more || rows.length !== 1 || same.length !== 1 || box.width > share * SIZE.width) continue;
    if (row?.name.kind === 'user' && suits(box.name)) return { box, row };
  }
  return assert.fail('no box is suitable');
}

test('boxes have the widths of their values', () => {
  let looked = 0;
  for (const row of reported.rows.slice(0, 12)) {
    const own = boxes().filter(({ name }) => name === row.name.function);
    const others = reported.rows.filter(({ name }) => name.function === row.name.function);
    if (own.length !== 1 || others.length !== 1) continue;
    looked++;
    const expected = (SIZE.width * row.bytes) / reported.total_bytes;
    assert.ok(Math.abs(own[0]!.width - expected) <= 1.01, `${row.name.function} is ${own[0]!.width} wide`);
  }
  assert.ok(looked >= 4, `${looked} functions`);
});

test('a click shows a box’s details, a double click zooms to it, the breadcrumb leads back', async () => {
  const { box, row } = ownBox();
  await page.clickAt(SURFACE, box);
  assert.equal(heading(), row.name.function);
  assert.equal(fact('Inclusive').title, exact(row.bytes));
  assert.equal(fact('Self (my code)').title, exact(row.self_bytes));
  await page.clickAt(SURFACE, box, { double: true });
  assert.ok(Math.abs(boxes().find(({ node }) => node === box.node)!.width - SIZE.width) <= 1);
  assert.ok(page.text('.flame-crumbs').includes(box.name));
  await page.click('.flame-reset');
  assert.equal(boxes().find(({ node }) => node === 0)!.width, SIZE.width);
});

test('keys move to callees and callers, and Escape deselects', async () => {
  await page.press(SURFACE, 'Escape');
  await page.press(SURFACE, 'Escape');
  const seen = [];
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp']) {
    await page.press(SURFACE, key);
    seen.push(heading());
  }
  assert.deepEqual(seen.slice(1), ['<module>', 'main', '<module>']);
  const heard = (): string => page.text('[role=status].sr-only');
  await page.press(SURFACE, 'Enter');
  assert.match(heard(), /^Zoomed to <module>: [\d.]+\s\w+$/);
  await page.press(SURFACE, 'Escape');
  assert.equal(page.all('.flame-details:not([hidden]) h3').length, 0);
  await page.press(SURFACE, '0');
  assert.equal(heard(), 'Zoom reset');
});

test('a search shows how much matches, and steps through the matches', async () => {
  await page.press(SURFACE, '/');
  await page.type('.flame-search', 'linear');
  await page.waitUntil(() => page.text('.flame-found') !== '', 'the search is answered');
  assert.match(page.text('.flame-found'), /^[\d.]+ [KMG]?i?B \([\d.]+%\) in \d+ box(es)?$/);
  await page.press('.flame-search', 'Enter');
  assert.match(page.text('.flame-found'), /^1\/\d+/);
  assert.notEqual(heading(), '');
  await page.press('.flame-search', 'Escape');
  assert.equal(page.all('.flame-found')[0]?.textContent ?? '', '');
});

test('bottom-up starts where memory is allocated; collapsed libraries are one box', async () => {
  await press('Bottom-up');
  const any: Flame = await server.memlens(SAMPLES, 'flame', FILE, '--any-code');
  const [self] = any.rows.toSorted((a, b) => b.self_bytes - a.self_bytes);
  const [second] = boxes().filter(({ node, y }) => node !== 0 && y < 30);
  assert.equal(second?.name, self!.name.function);
  assert.ok(Math.abs(second.width - (SIZE.width * self!.self_bytes) / reported.total_bytes) <= 1.01);
  await press('Top-down');
  await press('Collapse libraries');
  const names = boxes().map(({ name }) => name);
  assert.ok(names.includes('torch') && !names.includes('_call_impl'), names.join(' '));
  await press('Collapse libraries');
});

test('the tree has the same figures as text; Enter opens the line', async () => {
  const { lines }: Lines = await server.memlens(SAMPLES, 'lines', FILE);
  const linesOf = (name: string) =>
    lines.filter((each) => each.function === name && each.live_at_peak_bytes > 0);
  const { row } = ownBox(1.1, (name) => linesOf(name).length === 1);
  const line = linesOf(row.name.function)[0]!;
  await page.choose(bar('Layout'), 'table');
  const tree = '.flame-tree [role=row][aria-level]';
  const grid = (): HTMLElement => page.one(tree).closest<HTMLElement>('[role=treegrid]')!;
  await page.click(tree);
  // chains of one child open by themselves, so that the first choice is on the screen
  const wanted = (): HTMLElement[] =>
    page.all(tree).filter((each) => each.querySelector('bdi')?.textContent === row.name.function);
  for (let i = 0; i < 60 && wanted().length === 0; i++)
    for (const key of ['ArrowRight', 'ArrowDown']) await page.press(grid(), key);
  await page.click(wanted()[0]!);
  assert.equal(wanted()[0]!.getAttribute('aria-selected'), 'true');
  assert.equal(fact('Inclusive').title, exact(row.bytes));
  const file = (): string => wanted()[0]!.querySelector('.place')!.textContent.split(':')[0]!;
  const base = path.posix.basename(line.file);
  assert.equal(file(), base);
  await press('Full paths');
  assert.equal(file(), line.file);
  await press('Full paths');
  assert.equal(file(), base);
  await page.press(grid(), 'Enter');
  const opened = page.last('openSource')!;
  assert.deepEqual([opened.file, opened.line], [line.file, line.line]);
  await page.choose(bar('Layout'), 'icicle');
});

test('functions are sorted by their own allocations; one is shown between its callers and callees', async () => {
  const { row } = ownBox();
  await page.choose(bar('Layout'), 'functions');
  const functions = (): HTMLElement[] => page.all('.flame-functions .grid-row');
  const names = (): string[] =>
    functions().map((each) => each.querySelector('bdi')!.textContent.toLowerCase());
  const figures = functions().map(
    (each) => each.querySelector<HTMLElement>('div:nth-child(2) span[title]')!.title,
  );
  const bySelf = reported.rows.map(({ self_bytes }) => self_bytes).toSorted((a, b) => b - a);
  assert.ok(figures.length > 5);
  assert.deepEqual(figures.slice(0, 5), bySelf.slice(0, 5).map(exact));
  await page.click('.flame-functions [role=columnheader] button', /^Function$/);
  const shown = names();
  assert.deepEqual(
    shown,
    shown.toSorted((a, b) => (a < b ? -1 : 1)),
  );
  await page.click('.flame-functions [role=columnheader] button', /^Inclusive$/);
  assert.equal(names()[0], reported.rows[0]!.name.function.toLowerCase());

  await page.click('.flame-functions .grid-row', row.name.function);
  assert.ok(page.text('.flame-halves h3').includes(row.name.function));
  // both trees begin with the function and its whole value; above it is its caller
  const heads = page.all('.flame-halves .grid-row[aria-level="1"]');
  assert.deepEqual(
    heads.map((head) => [
      head.querySelector('bdi')!.textContent,
      head.querySelector<HTMLElement>('div:nth-child(2) span[title]')!.title,
    ]),
    [0, 1].map(() => [row.name.function, exact(row.bytes)]),
  );
  // the menu of a row has the actions for its function
  await page.menu(page.one('.flame-functions .grid-row', row.name.function), 'Hide');
  assert.ok(page.text('.flame-chips').includes(`Hidden: ${row.name.function}`));
  await page.click('.flame-chips .chip');
  assert.equal(page.all('.flame-chips .chip').length, 0);
  await page.click('.flame-halves [aria-label="Close callers and callees"]');
  await page.choose(bar('Layout'), 'icicle');
});

test('I leaves out a function’s stacks in every view; if nothing is left, the graph says so', async () => {
  const { box, row } = ownBox();
  await page.clickAt(SURFACE, box);
  await page.press(SURFACE, 'i');
  const filter = (): string => (page.one('.filter-input') as HTMLInputElement).value;
  assert.equal(filter(), `-function:"=${row.name.function}"`);
  assert.ok(!boxes().some(({ name }) => name === box.name));
  await page.filter('');
  const [top, ...more] = boxes().filter(({ node, y, height }) => node !== 0 && y < 2 * height);
  assert.deepEqual(more, [], 'all stacks have one outermost function');
  await page.clickAt(SURFACE, top!);
  await page.press(SURFACE, 'i');
  assert.match(page.text('.flame-empty'), /Nothing matches the filter\./);
  await page.filter('');
});

test('a right click in the tables opens the actions for the function', async () => {
  const { row } = ownBox();
  await page.choose(bar('Layout'), 'functions');
  const wanted = (): HTMLElement => page.one('.flame-functions .grid-row', row.name.function);
  await page.click(wanted());
  const callers = '[aria-label^="Callers of"]';
  const menu = (): HTMLElement[] => page.all('.menu');
  const context = async (target: HTMLElement): Promise<void> => {
    target.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true }));
    await page.settled();
    assert.equal(menu().length, 1);
  };
  page.one(callers).focus();
  await context(page.one(`${callers} .grid-row`));
  await page.press('.menu', 'ArrowDown');
  assert.match(document.activeElement?.textContent ?? '', /^Callers and Callees/);
  await page.press(document.activeElement as HTMLElement, 'Escape');
  assert.equal(menu().length, 0);
  assert.equal(document.activeElement?.getAttribute('role'), 'treegrid', 'the rows have the focus again');
  // by keyboard, at the focused row
  await context(page.one(callers));
  await page.click('.menu [role^=menuitem]', /^Focus/);
  assert.ok(page.text('.flame-chips').includes(`Only ${row.name.function}`));
  await page.menu(wanted(), 'Hide');
  assert.ok(page.text('.flame-chips').includes(`Hidden: ${row.name.function}`));
  for (const left of [1, 0]) {
    await page.click('.flame-chips .chip');
    assert.equal(page.all('.flame-chips .chip').length, left);
  }
  await page.click('.flame-halves [aria-label="Close callers and callees"]');
  await page.choose(bar('Layout'), 'icicle');
});

test('a key that is pressed before the details of a clicked box arrive applies to that box', async () => {
  const { box, row } = ownBox();
  const clicked = page.clickAt(SURFACE, box);
  const pressed = page.press(SURFACE, 'h');
  await Promise.all([clicked, pressed]);
  await page.click('.flame-chips .chip', `Hidden: ${row.name.function}`);
  assert.equal(page.all('.flame-chips .chip').length, 0);
});

test('W shows callers and callees of a box’s function; the form is restored with the state that is kept', async () => {
  const { box, row } = ownBox();
  await page.clickAt(SURFACE, box);
  await page.press(SURFACE, 'w');
  assert.ok(page.text('.flame-halves h3').includes(row.name.function));
  await page.choose(bar('Width'), 'count');
  await press('Fold recursion');
  page = await page.reopened();
  assert.ok(page.text('.flame-halves h3').includes(row.name.function));
  assert.equal((page.one(bar('Width')) as HTMLSelectElement).value, 'count');
  assert.equal(page.one('.flame-toolbar button', 'Fold recursion').getAttribute('aria-pressed'), 'true');
});
