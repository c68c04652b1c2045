// A heap dump of a small Node program whose leak is known: what holds the memory is seen at once, why it is alive in two
// clicks, and the line in three.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { poorContrasts } from './contrast.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

const FILE = 'service.heapsnapshot';
const FOLDER = path.join(ROOT, 'tests/fixtures/heap');
const SOURCE = readFileSync(path.join(FOLDER, 'leak.js'), 'utf8').split('\n');
const lineOf = (text) => SOURCE.findIndex((line) => line.includes(text)) + 1;

let vscode;
let view;

before(async () => {
  vscode = await openVSCode({
    workspace: FOLDER,
    // VS Code has a viewer of its own for these files
    settings: { 'workbench.editorAssociations': { '*.heapsnapshot': 'memlens.snapshot' } },
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      execFileSync(process.execPath, ['leak.js', FILE], { cwd: folder });
    },
  });
  await open();
});
after(() => vscode?.close());

async function open() {
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await drawn();
}

const boxes = () => view.frame.evaluate(() => window.memlensFlame?.boxes() ?? []);

async function drawn() {
  await view.locator('.heap-icicle[data-pictures]').waitFor();
  await boxesStandStill(boxes);
}

async function clickBox(name, modifier) {
  const widest = (await boxes())
    .filter((box) => box.name === name)
    .reduce((a, b) => (b.width > a.width ? b : a));
  const surface = await view.locator('.flame-surface').boundingBox();
  if (modifier) await vscode.page.keyboard.down(modifier);
  await vscode.page.mouse.click(
    surface.x + widest.x + widest.width / 2,
    surface.y + widest.y + widest.height / 2,
  );
  if (modifier) await vscode.page.keyboard.up(modifier);
}

test('the dominators are boxes of what they retain, and the leak is the widest of the program’s own', async () => {
  const types = await vscode.memlens('types', FILE);
  const session = types.types.find(({ type }) => type === 'Session');
  const info = await vscode.memlens('info', FILE);
  const surface = await view.locator('.flame-surface').boundingBox();
  const all = await boxes();
  const width = all.filter(({ name }) => name === 'Session').reduce((sum, box) => sum + box.width, 0);
  assert.ok(Math.abs(width - (surface.width * session.retained_bytes) / info.shallow_bytes) < 3, `${width}`);
  assert.ok(width > surface.width / 4, `${width} of ${surface.width}`);
  assert.match(await view.text('.heap-overview'), /MiB in [\d,]+ objects/);
  await view.locator('.grid-row', { hasText: 'Session' }).first().waitFor();
  await vscode.screenshot('heap');
});

test('a box, why it is alive, and the line of its class', async () => {
  await clickBox('Session');
  await view.locator('.heap-details .panel-name', { hasText: 'Session' }).waitFor();
  await view.locator('.heap-actions button', { hasText: 'Why Alive' }).click();
  const tree = view.locator('.heap-why .grid-row');
  await tree.filter({ hasText: /Session(?!Store)/ }).waitFor();
  const rows = await tree.allInnerTexts();
  assert.ok(
    rows.some((row) => /sessions.*Map/s.test(row)),
    rows.join('\n'),
  );
  assert.match(rows.at(-1), /Session\s.*4,000/s);
  await vscode.screenshot('heap-why');
  await view
    .locator('.heap-list button', { hasText: /^Session @/ })
    .first()
    .click();
  await view.locator('.heap-details h2', { hasText: 'Object' }).waitFor();
  const chain = view.locator('.heap-chain').first();
  await chain.waitFor();
  assert.match(await chain.innerText(), /sessions →.*Map @.*table →.*Session @/s);
  assert.match(await chain.locator('li').last().innerText(), /cut frees \d/);
  await vscode.screenshot('heap-object');
  await view.locator('.heap-actions .place').click();
  await vscode.atLine('leak.js', lineOf('constructor(id)'));
  await vscode.runCommand('View: Close Editor');
  await drawn();
  await clickBox('Session', 'Control');
  await vscode.atLine('leak.js', lineOf('constructor(id)'));
  await vscode.runCommand('View: Close Editor');
});

test('a filter narrows the tables and marks the boxes, and says what is wrong with it', async () => {
  await drawn();
  const box = view.locator('.filter-input');
  await box.fill('type:=Session retained>1KiB');
  await until(async () => /^4,000 of/.test(await view.text('.filter-badge')), 'the sessions are counted');
  await view.pane('Types');
  const rows = view.locator('[id=pane-types] .grid-row');
  const types = rows.and(view.locator('[aria-level="1"]'));
  await until(async () => (await types.count()) === 1, 'one type is left');
  assert.match(await types.innerText(), /^Session\s+4,000\b/);
  await box.fill('size>1');
  await view.locator('.filter-error', { hasText: "there is no 'size'" }).waitFor();
  await box.fill('');
  await until(async () => view.locator('.filter-badge').isHidden(), 'the filter is gone');
});

test('SQL leads to objects, and what was looked at comes back after a reload', async () => {
  await view.pane('SQL');
  const query = view.locator('.sql .cm-content');
  await query.fill("SELECT object, type, retained_bytes FROM objects WHERE type = 'SessionStore'");
  await query.press('Escape');
  await query.press('Control+Enter');
  await view.locator('.sql-body .sql-row', { hasText: 'SessionStore' }).first().click();
  await view.locator('.heap-details .panel-name', { hasText: 'SessionStore' }).waitFor();
  await view.pane('Dominators');
  // a view saves what it shows a quarter of a second after the last change
  await vscode.page.waitForTimeout(1000);
  await vscode.runCommand('View: Close Editor');
  await open();
  await view.locator('.heap-details .panel-name', { hasText: 'SessionStore' }).waitFor();
  await view.locator('.dock [role=tab][aria-selected=true]', { hasText: 'Dominators' }).waitFor();
});

test('it is legible in every theme, and in a small window', async () => {
  await view.pane('Types');
  for (const theme of ['light', 'hc', 'dark']) {
    await vscode.setTheme(theme);
    await drawn();
    const parts = ['.heap-overview', '.heap-details', '.dock', '.toolbar'];
    const { looked, poor } = await view.frame.evaluate(poorContrasts, parts);
    assert.deepEqual(poor, []);
    assert.ok(looked > 15, `${looked} texts`);
    await vscode.screenshot(`heap-${theme}`);
  }
  await vscode.page.setViewportSize({ width: 900, height: 600 });
  await drawn();
  await vscode.screenshot('heap-small');
});
