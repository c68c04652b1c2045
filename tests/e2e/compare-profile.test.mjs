// Compares two profiles: the other one is chosen from those that are open; the list of lines and the flame graph of
// both have the figures of the command line, and everything is restored after a reload.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { poorContrasts } from './contrast.mjs';
import { openVSCode } from './harness.mjs';
import { writeLater } from './profiles.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, exactBytes, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const MINE = 'words.pb.gz';
const OTHER = 'later.pb.gz';
const BROKEN = 'broken.pb.gz';
const SHIFT = 4;

let vscode;
let view;
let expected;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1500, height: 1000 },
    prepare: (folder) => {
      writeLater(path.join(folder, MINE), path.join(folder, OTHER), SHIFT);
      writeFileSync(path.join(folder, BROKEN), Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
    },
  });
  expected = await vscode.memlens('compare', MINE, OTHER, '--top', 1000);
  await opened(OTHER);
  view = await opened(MINE);
});
test.afterAll(() => vscode?.close());

async function opened(name) {
  await vscode.openFile(name);
  const found = new SnapshotView(vscode, await vscode.webview());
  await found.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  return found;
}

const rows = () => view.locator('.compare-table tbody tr');
const cells = async (index) => await rows().nth(index).locator('td').allInnerTexts();
const titles = async () =>
  await rows()
    .locator('td:nth-child(2)')
    .evaluateAll((all) => all.map((cell) => cell.title));
const titleOf = (difference) =>
  difference === 0
    ? 'No difference'
    : `${exactBytes(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} after`;

test('it is compared with an open profile, with the figures of the command line', async () => {
  await vscode.runCommand('Memlens: Show Comparison');
  await view.locator('.compare-notice .button', { hasText: 'Earlier One' }).click();
  await vscode.page
    .locator('.quick-input-list .monaco-list-row', { hasText: OTHER })
    .filter({ hasText: 'Open now' })
    .click();
  await rows().first().waitFor();
  await view.settled();
  assert.deepEqual(
    await titles(),
    expected.rows.map((row) => titleOf(row.difference_bytes)),
  );
  await view
    .locator('.compare-summary')
    .filter({ hasText: /words\.pb\.gz .* → later\.pb\.gz .*▲ \+/ })
    .waitFor();
  assert.match((await cells(0))[1], /▲\s*\+/);
});

test('a line that moved is paired with itself, and a click opens it here', async () => {
  const index = expected.rows.findIndex(
    (row) => row.before?.function === 'Index.add' && row.difference_bytes > 0,
  );
  const { before: place, after: there } = expected.rows[index];
  assert.deepEqual([there.line, there.file], [place.line + SHIFT, '/srv/jobs/7/words.py']);
  assert.match((await cells(index))[0], new RegExp(`moved from line ${place.line}\\b`));
  await rows().nth(index).click();
  await vscode.atLine('words.py', place.line);
  await vscode.runCommand('View: Close Editor');
  await rows().nth(index).and(view.locator('[aria-selected=true]')).waitFor();
});

test('the table follows the value, the order of sides, the grouping and the search', async () => {
  const counts = await vscode.memlens('compare', MINE, OTHER, '--value', 'inuse_objects', '--top', 1000);
  const value = (index) =>
    view.settings('.compare-controls', async (sheet) => {
      const list = sheet.locator('select[aria-label=Value]');
      assert.equal(await list.locator('option').count(), 2);
      await list.selectOption({ index });
    });
  await value(0);
  const differences = counts.rows.map((row) => titleOf(row.difference_bytes).replace(' bytes', ''));
  await until(
    async () => JSON.stringify(await titles()) === JSON.stringify(differences),
    'the counts of the CLI',
  );
  // the value is that of the whole view
  assert.equal(await view.locator('.toolbar select').inputValue(), '0');
  await value(1);
  await until(async () => (await titles())[0] === titleOf(expected.rows[0].difference_bytes), 'the bytes');
  await view.locator('.dock').getByRole('button', { name: 'Swap before and after' }).click();
  await until(async () => /▼\s*−/.test((await cells(0))[1]), 'the first row is less now');
  await view.locator('.dock').getByRole('button', { name: 'Swap before and after' }).click();
  await view.settings('.compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Function', exact: true }).click(),
  );
  await view.locator('.compare-search').fill('documents');
  await until(async () => (await rows().count()) === 1, 'one function is left');
  assert.match((await cells(0))[0], /only before/);
  await view.locator('.compare-search').fill('');
  await until(async () => (await rows().count()) > 3, 'the others are back');
  await vscode.screenshot('compare-profiles');
});

const drawn = () => view.frame.evaluate(() => window.memlensDifference?.boxes() ?? []);
const inGraph = (selector, options) => view.locator(`.compare-graph ${selector}`, options);
const byName = async (name) => (await drawn()).filter((box) => box.name === name && !box.more);

async function standsStill() {
  await boxesStandStill(view, drawn);
}

test('the flame graph of both has the figures of the command line', async () => {
  await view.settings('.compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Flame graph', exact: true }).click(),
  );
  await view.locator('.dock header').getByRole('button', { name: 'Maximize Panel' }).click();
  await standsStill();
  const functions = await vscode.memlens('compare', MINE, OTHER, '--by', 'function', '--inclusive');
  const total = expected.total.before_bytes + expected.total.after_bytes;
  const surface = await inGraph('.flame-surface').boundingBox();
  let looked = 0;
  for (const row of functions.rows) {
    const own = await byName((row.before ?? row.after).function);
    // with recursion a box is inside another of the same name
    if (own.length !== 1) continue;
    looked++;
    assert.deepEqual([own[0].before, own[0].after], [row.before_bytes, row.after_bytes]);
    const width = (surface.width * (row.before_bytes + row.after_bytes)) / total;
    assert.ok(Math.abs(own[0].width - width) <= 1.01, `${own[0].name} ${own[0].width} ${width}`);
  }
  assert.ok(looked >= 4, `${looked} functions`);
  const reported = await vscode.memlens('flame', MINE, '--diff', OTHER);
  const gone = reported.rows.find(({ name }) => name.function === 'documents');
  assert.deepEqual([gone.sides.after_bytes, gone.sides.before_bytes > 0], [0, true]);
});

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
  await view.settled();
  assert.match(await inGraph('.flame-details dl').innerText(), /Difference\s+▲ \+704 KiB/);
  const lines = await vscode.memlens('flame', MINE, '--by-line', '--diff', OTHER);
  const [line] = lines.rows.filter(({ name }) => name.function === 'Index.add');
  await vscode.screenshot('compare-flame');
  await click('Index.add', 'Control');
  await vscode.atLine('words.py', line.name.line);
  await vscode.runCommand('View: Close Editor');
  await standsStill();
});

test('the figures are the same normalised, bottom-up and as a table', async () => {
  await inGraph('.flame-surface').press('Escape');
  await inGraph('.flame-toolbar').getByRole('button', { name: 'Normalised' }).click();
  await standsStill();
  const surface = await inGraph('.flame-surface').boundingBox();
  const [add] = await byName('Index.add');
  const { total } = expected;
  const share = add.before / total.before_bytes / 2 + add.after / total.after_bytes / 2;
  assert.ok(Math.abs(add.width - surface.width * share) <= 1.01, `${add.width} of ${surface.width}`);
  await view.flameForm('table', '.compare-graph .flame-toolbar');
  const cell = inGraph('.compare-difference').first();
  await cell.filter({ hasText: '0 points' }).waitFor();
  await view.flame('Bottom-up', '.compare-graph .flame-toolbar');
  const points = (100 * add.after) / total.after_bytes - (100 * add.before) / total.before_bytes;
  const row = inGraph('[role=row]', { hasText: 'Index.add' });
  await row
    .filter({ hasText: `▲ +${points.toFixed(1)} points` })
    .first()
    .waitFor();
  await vscode.screenshot('compare-flame-tree');
  await view.flame('Top-down', '.compare-graph .flame-toolbar');
  await view.flameForm('icicle', '.compare-graph .flame-toolbar');
  await inGraph('select[aria-label="Width of boxes"]').selectOption('after');
  await standsStill();
  assert.deepEqual(await byName('documents'), []);
  await inGraph('select[aria-label="Width of boxes"]').selectOption('both');
  await inGraph('.flame-toolbar').getByRole('button', { name: 'Absolute' }).click();
  await standsStill();
});

for (const theme of ['light', 'hc', 'hc-light', 'dark'])
  test(`${theme}: every text of the comparison can be read`, async () => {
    await vscode.setTheme(theme);
    await standsStill();
    await vscode.screenshot(`compare-flame-${theme}`);
    const { looked, poor } = await view.frame.evaluate(poorContrasts, ['.dock']);
    assert.deepEqual(poor, []);
    assert.ok(looked > 15, `${looked} texts`);
  });

test('axe-core finds nothing wrong with the flame graph of both in any theme', async () => {
  await view.assertAccessible(['Compare']);
});

test('the comparison is restored after the view was hidden; a file that fails is reported in place', async () => {
  await vscode.hideAndShow(MINE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  // as a flame graph, as before
  await until(async () => (await byName('Index.add')).length === 1, 'the flame graph of both');
  await view.settings('.compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Table', exact: true }).click(),
  );
  await rows().first().waitFor();
  await view.settled();
  assert.match(await view.text('.compare-caption'), /function/);
  await view.locator('.toolbar').getByRole('button', { name: 'Compare…' }).click();
  await view.menuItem('Compare with Another…').click();
  await vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Choose File' }).click();
  await vscode.choosePath(/^\//, path.join(vscode.folder, BROKEN));
  await view.locator('.compare-notice', { hasText: BROKEN }).waitFor();
  await view.locator('.compare-notice .button', { hasText: 'Choose Another' }).click();
  await vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'this snapshot' }).click();
  await view.locator('.compare-summary', { hasText: 'the same' }).waitFor();
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
