// Compares two profiles: the other one is chosen from those that are open, a box of the flame graph of both opens its
// line, and everything is restored after the view was hidden. Figures: tests/views/compare.test.ts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { writeLater } from './profiles.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const MINE = 'words.pb.gz';
const OTHER = 'later.pb.gz';
const BROKEN = 'broken.pb.gz';
const SHIFT = 4;

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1500, height: 1000 },
    prepare: (folder) => {
      writeLater(path.join(folder, MINE), path.join(folder, OTHER), SHIFT);
      writeFileSync(path.join(folder, BROKEN), Buffer.from([0x1f, 0x8b, 8, 0, 1, 2, 3]));
    },
  });
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
test('it is compared with an open profile', async () => {
  await vscode.runCommand('Memlens: Show Comparison');
  await view.locator('.compare-notice .button', { hasText: 'Earlier One' }).click();
  await vscode.page
    .locator('.quick-input-list .monaco-list-row', { hasText: OTHER })
    .filter({ hasText: 'Open now' })
    .click();
  await rows().first().waitFor();
  await view
    .locator('.compare-summary')
    .filter({ hasText: /words\.pb\.gz .* → later\.pb\.gz .*▲ \+/ })
    .waitFor();
});

const drawn = () => view.frame.evaluate(() => window.memlensDifference?.boxes() ?? []);
const inGraph = (selector, options) => view.locator(`.compare-graph ${selector}`, options);
const byName = async (name) => (await drawn()).filter((box) => box.name === name && !box.more);

async function standsStill() {
  await boxesStandStill(view, drawn);
}

test('a box shows its change with a sign and a word, and opens its line here', async () => {
  await view.settings('.compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Flame graph', exact: true }).click(),
  );
  await view.locator('.dock header').getByRole('button', { name: 'Maximize Panel' }).click();
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
  const lines = await vscode.memlens('flame', MINE, '--by-line', '--diff', OTHER);
  const [line] = lines.rows.filter(({ name }) => name.function === 'Index.add');
  await vscode.screenshot('compare-flame');
  await click('Index.add', 'Control');
  await vscode.atLine('words.py', line.name.line);
  await vscode.runCommand('View: Close Editor');
  await standsStill();
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
