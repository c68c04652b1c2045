// A profile of the sample program: a click opens the line, whose hover has the figure; it is compared with another one,
// and that is restored after the view was hidden. Figures: tests/views/profile.test.ts and compare.test.ts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { writeLater } from './profiles.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'words.pb.gz';
const OTHER = 'later.pb.gz';
const BROKEN = 'broken.pb.gz';
const SHIFT = 4;

let vscode;
let view;
/** The figures of `memlens flame --json` for each function. */
let reported;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1500, height: 1000 },
    prepare: (folder) => {
      writeLater(path.join(folder, FILE), path.join(folder, OTHER), SHIFT);
      writeFileSync(path.join(folder, BROKEN), Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
    },
  });
  reported = await vscode.memlens('flame', FILE);
  await opened(FILE);
  await drawn();
});
test.afterAll(() => vscode?.close());

async function opened(name) {
  await vscode.openFile(name);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
}

const boxes = () => view.frame.evaluate(() => window.memlensFlame.boxes());

async function drawn() {
  await view.locator('.flame[data-pictures]').waitFor();
  await boxesStandStill(view, boxes);
}

const boxOf = async (name) => (await boxes()).find((box) => box.name === name);

async function click(name, modifier) {
  await drawn();
  const box = await boxOf(name);
  const surface = await view.locator('.flame-surface').boundingBox();
  if (modifier) await vscode.page.keyboard.down(modifier);
  await vscode.page.mouse.click(surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2);
  if (modifier) await vscode.page.keyboard.up(modifier);
}

test('Ctrl+click on a box opens its line, whose hover has the figure', async () => {
  const lines = await vscode.lines(FILE);
  const [line] = lines.filter((each) => each.function === 'Index.add').toSorted((a, b) => b.total - a.total);
  const row = reported.rows.find(({ name }) => name.function === 'Index.add');
  await click('Index.add');
  await view.locator('.flame-details h3', { hasText: 'Index.add' }).waitFor();
  const inclusive = view.locator(
    'xpath=//*[contains(@class,"flame-details")]//dt[normalize-space()="Inclusive"]/following-sibling::dd[1]',
  );
  await inclusive.and(view.locator(`[title="${row.bytes.toLocaleString('en-US')} bytes"]`)).waitFor();
  await click('Index.add', 'Control');
  await vscode.atLine('words.py', line.line);
  const hover = await vscode.hoverText('append', { line: 'postings[word].append', expecting: /In use/ });
  assert.ok(hover.includes(line.total.toLocaleString('en-US')), hover);
  await vscode.closeEditor('words.py');
  await drawn();
});

test('every text can be read in every theme', async () => {
  await vscode.screenshot('profile');
  await view.assertLegible(['.headline', '.toolbar', '.flame-toolbar', '.dock', '.status'], 15);
});

const rows = () => view.locator('.compare-row');

test('it is compared with an open profile', async () => {
  await opened(OTHER);
  await opened(FILE);
  await vscode.runCommand('Memlens: Show Comparison');
  await view.locator('.compare-banner .button', { hasText: 'Another Snapshot' }).click();
  const offered = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: OTHER });
  await vscode.pick(offered.filter({ hasText: 'Open now' }));
  await rows().first().waitFor();
  await view
    .locator('.compare-summary')
    .filter({ hasText: /words\.pb\.gz .* → later\.pb\.gz .*▲ \+/ })
    .waitFor();
});

const both = () => view.frame.evaluate(() => window.memlensDifference?.boxes() ?? []);
const inGraph = (selector, options) => view.locator(`.compare-graph ${selector}`, options);
const byName = async (name) => (await both()).filter((box) => box.name === name && !box.more);

async function standsStill() {
  await boxesStandStill(view, both);
}

test('a box shows its change with a sign and a word, and opens its line here', async () => {
  const click = async (name, modifiers) => {
    await standsStill();
    const surface = await inGraph('.flame-surface').boundingBox();
    const [box] = await byName(name);
    await vscode.page.mouse.move(surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2);
    await inGraph('.tooltip', { hasText: name }).waitFor();
    await view.settled();
    const tip = await inGraph('.tooltip').innerText();
    if (modifiers) await vscode.page.keyboard.down(modifiers);
    await vscode.page.mouse.down();
    await vscode.page.mouse.up();
    if (modifiers) await vscode.page.keyboard.up(modifiers);
    return tip;
  };
  assert.match(await click('Index.add'), /▲ \+704 KiB[\s\S]*before 704 KiB · after 1\.37 MiB/);
  await inGraph('.flame-details h3', { hasText: 'Index.add' }).waitFor();
  const lines = await vscode.memlens('flame', FILE, '--by-line', '--diff', OTHER);
  const [line] = lines.rows.filter(({ name }) => name.function === 'Index.add');
  await vscode.screenshot('compare-flame');
  await click('Index.add', 'Control');
  await vscode.atLine('words.py', line.name.line);
  await vscode.closeEditor('words.py');
  await standsStill();
});

test('axe-core finds nothing wrong with the flame graph of both in any theme', async () => {
  await view.assertAccessible(['Compare']);
});

test('the comparison is restored after the view was hidden; a file that fails is reported in place', async () => {
  await vscode.hideAndShow(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  await until(async () => (await byName('Index.add')).length === 1, 'the flame graph of both');
  await rows().first().waitFor();
  await view.settled();
  await view.locator('.toolbar').getByRole('button', { name: 'Compare…' }).click();
  await view.menuItem('Compare with Another…').click();
  await vscode.pick(vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Choose File' }));
  await vscode.choosePath(/^\//, path.join(vscode.folder, BROKEN));
  await view.locator('.compare-banner', { hasText: BROKEN }).waitFor();
  await view.locator('.compare-banner .button', { hasText: 'Choose Another' }).click();
  await vscode.pick(
    vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'another of its values' }),
  );
  await view.locator('.compare-summary', { hasText: 'the same' }).waitFor();
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
