// A heap dump of a small Node program whose leak is known: what holds the memory is visible at once, why it is alive
// is two clicks away, and the line three.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { poorContrasts } from './contrast.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'service.heapsnapshot';
/** The same process before: the first has a quarter of the sessions, the second half of them. */
const EARLIER = ['first.heapsnapshot', 'second.heapsnapshot', 'third.heapsnapshot'];
const MOST_CONTROLS = 12;
const PYTHON = 'sessions.pyheap';
const FOLDER = path.join(ROOT, 'tests/fixtures/heap');
const SOURCE = readFileSync(path.join(FOLDER, 'leak.js'), 'utf8').split('\n');
const lineOf = (text) => SOURCE.findIndex((line) => line.includes(text)) + 1;

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    workspace: FOLDER,
    settings: { 'workbench.editorAssociations': { '*.zst': 'memlens.snapshot.optional' } },
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      execFileSync(process.execPath, ['leak.js', ...EARLIER, FILE], { cwd: folder });
      execFileSync(venvProgram('python'), ['src/sessions.py', PYTHON], { cwd: folder });
    },
  });
  await open();
});
test.afterAll(() => vscode?.close());

async function open() {
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await drawn();
}

const boxes = () => view.frame.evaluate(() => window.memlensFlame?.boxes() ?? []);

async function drawn() {
  await view.locator('.heap-icicle[data-pictures]').waitFor();
  await boxesStandStill(view, boxes);
}

async function clickBox(name, modifier) {
  await drawn();
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

test('boxes are as wide as what dominators retain, and the leak is the widest of the program’s own', async () => {
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
  // over a box: what it retains, and of how many objects
  const over = all.filter(({ name }) => name === 'Session').reduce((a, b) => (b.width > a.width ? b : a));
  await vscode.page.mouse.move(surface.x + over.x + over.width / 2, surface.y + over.y + over.height / 2);
  await view.locator('.tooltip', { hasText: /retained.*Session.*4,000 objects.*leak\.js:8/s }).waitFor();
  await vscode.page.mouse.move(5, 5);
  const shown = await view.controls();
  assert.ok(shown.length >= 8 && shown.length <= MOST_CONTROLS, `${shown.length}: ${shown}`);
  assert.deepEqual(await view.violations(), []);
  await vscode.screenshot('heap');
});

test('a box leads to why its objects are alive, and to the line of their class', async () => {
  await clickBox('Session');
  await view.locator('.heap-details .panel-name', { hasText: 'Session' }).waitFor();
  await view.locator('.heap-actions button', { hasText: 'Why Alive' }).click();
  const tree = view.locator('.heap-why .grid-row');
  await tree.filter({ hasText: /Session(?!Store)/ }).waitFor();
  await view.settled();
  const rows = await tree.allInnerTexts();
  assert.ok(
    rows.some((row) => /sessions.*Map/s.test(row)),
    rows.join('\n'),
  );
  // beside the details there is room for what cuts free alone
  assert.match((await tree.last().textContent()).replaceAll('\n', ' '), /Session.*4,000/);
  assert.match(rows.at(-1), /MiB$/, 'the bytes that cutting the references to all of them frees');
  assert.deepEqual(await view.violations(), []);
  await vscode.screenshot('heap-why');
  await view
    .locator('.heap-list button', { hasText: /^Session @/ })
    .first()
    .click();
  await view.locator('.heap-details h2', { hasText: 'Object' }).waitFor();
  const chain = view.locator('.heap-chain').first();
  await chain.waitFor();
  await view.settled();
  assert.match(await chain.innerText(), /sessions →.*Map @.*table →.*Session @/s);
  assert.match(await chain.locator('li').last().innerText(), /freed if cut: \d/);
  await vscode.screenshot('heap-object');
  // what would hold it without the store? by the keys, as the menu of the link has it, too
  const link = chain.locator('li', { hasText: 'sessions →' });
  const menu = view.locator('.menu button', { hasText: /^Leave Out/ });
  await link.click({ button: 'right', position: { x: 5, y: 5 } });
  await menu.first().waitFor();
  const offered = await menu.allInnerTexts();
  await vscode.page.keyboard.press('Escape');
  await link.locator('.heap-leave-out').focus();
  await vscode.page.keyboard.press('Enter');
  await menu.first().waitFor();
  assert.deepEqual(await menu.allInnerTexts(), offered);
  assert.match(offered.join(), /SessionStore\.sessions,.*Any \.sessions,.*Map @\d+,.*All Map/s);
  await vscode.screenshot('heap-leave-out');
  await vscode.page.keyboard.press('Enter');
  await view
    .locator('.heap-note', { hasText: /Nothing else holds Session @\d+: it would be freed/ })
    .waitFor();
  await view.settled();
  assert.match(
    await view.text('.heap-left-out'),
    /SessionStore\.sessions.*Clear.*Without this, \d\.\d+ MiB in 12,\d{3} objects would be freed\./s,
  );
  assert.deepEqual(await view.violations(), []);
  await vscode.screenshot('heap-left-out');
  await vscode.runCommand('Memlens: Go Back');
  await chain.waitFor();
  await vscode.runCommand('Memlens: Go Forward');
  await view.locator('.heap-left-out .chip', { hasText: 'SessionStore.sessions' }).click();
  await chain.waitFor();
  assert.match(await chain.innerText(), /sessions →/);
  await view.locator('.heap-actions .place').click();
  await vscode.atLine('leak.js', lineOf('constructor(id)'));
  await vscode.runCommand('View: Close Editor');
  await drawn();
  await clickBox('Session', 'Control');
  await vscode.atLine('leak.js', lineOf('constructor(id)'));
  await vscode.runCommand('View: Close Editor');
});

test('SQL leads to objects, and the explored objects are restored after a reload', async () => {
  await view.pane('SQL');
  await view.runQuery("SELECT object, type, retained_bytes FROM objects WHERE type = 'SessionStore'");
  await view.locator('.sql-body .sql-row', { hasText: 'SessionStore' }).first().click();
  await view.locator('.heap-details .panel-name', { hasText: 'SessionStore' }).waitFor();
  await view.pane('Dominators');
  await vscode.runCommand('View: Close Editor');
  await open();
  await view.locator('.heap-details .panel-name', { hasText: 'SessionStore' }).waitFor();
  await view.locator('.dock [role=tab][aria-selected=true]', { hasText: 'Dominators' }).waitFor();
});

test('the rows of a query are the filter of all views', async () => {
  const badge = () => view.text('.filter-badge');
  const button = view.locator('.sql-bar .button', { hasText: 'Filter' });
  await view.pane('SQL');
  await view.runQuery('SELECT type, count(*) FROM objects GROUP BY type');
  await view.locator('.sql-body .sql-row').first().waitFor();
  assert.equal(await button.isDisabled(), true);
  await view.runQuery("SELECT object, type -- of it\nFROM objects\nWHERE type = 'SessionStore'");
  await view.locator('.sql-body .sql-row', { hasText: 'SessionStore' }).first().waitFor();
  await button.click();
  await until(async () => /^1 of/.test(await badge()), 'the one object is counted');
  await view.pane('Types');
  const types = view.locator('[id=pane-types] .grid-row[aria-level="1"]');
  await until(async () => (await types.count()) === 1, 'its type is left');
  assert.match(await types.innerText(), /^SessionStore\s+1\b/);
  assert.equal(
    await view.locator('.filter-input').inputValue(),
    `query:"SELECT object, type FROM objects WHERE type = 'SessionStore'"`,
  );
  // it comes back with the view, and a key takes what is written
  await vscode.runCommand('View: Close Editor');
  await open();
  await until(async () => /^1 of/.test(await badge()), 'the filter is restored');
  await view.pane('SQL');
  const content = view.locator('.sql .cm-content');
  await content.fill("SELECT target FROM refs JOIN objects ON object = source WHERE type = 'SessionStore'");
  await content.press('Escape');
  await content.press('Control+Shift+Enter');
  await until(async () => /^[2-9]\d* of/.test(await badge()), 'what it refers to is counted');
  await content.fill('SELECT nix FROM objects');
  await content.press('Escape');
  await content.press('Control+Shift+Enter');
  await view.locator('.filter-error', { hasText: "The filter's query: no such column: nix" }).waitFor();
  await view.locator('.filter-input').fill('');
  await until(async () => view.locator('.filter-badge').isHidden(), 'the filter is cleared');
  await view.locator('.filter-input').press('Escape');
  await view.pane('Dominators');
});

test('what is selected is kept with a note, which its details show and the command line prints', async () => {
  const { page } = vscode;
  const input = page.locator('.quick-input-widget input');
  await view.press('k');
  await input.waitFor();
  await input.fill('who <b>clears</b> it?');
  await page.keyboard.press('Enter');
  const note = view.locator('.heap-bookmark bdi');
  await until(
    async () => (await note.count()) === 1 && (await note.innerText()) === 'who <b>clears</b> it?',
    'the details have the note',
  );
  await view.press('Escape');
  await view.pane('Bookmarks');
  const kept = view.locator('.bookmarks tbody tr');
  assert.match(await kept.innerText(), /^who <b>clears<\/b> it\?\s+Object\s+SessionStore @\d+/);
  await vscode.runCommand('Memlens: Clear Selection');
  await kept.locator('.bookmark-note').click();
  await view.locator('.heap-details .panel-name', { hasText: 'SessionStore' }).waitFor();
  // they are stored beside the archive
  const printed = await vscode.host.commandLine.run(
    ['bookmarks', FILE, '--json', '--cache-dir', vscode.cache],
    vscode.folder,
  );
  const { bookmarks } = JSON.parse(printed);
  assert.deepEqual(
    bookmarks.map(({ note: text, name }) => [text, name]),
    [['who <b>clears</b> it?', 'SessionStore']],
  );
  await kept.locator('.bookmark-note').focus();
  await view.press('Delete');
  await kept.waitFor({ state: 'detached' });
  assert.equal(await note.count(), 0);
});

test('compared with an earlier dump: what is new, what holds it and where', async () => {
  await view.pane('Compare');
  await view.locator('.compare-notice .button').click();
  await vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: EARLIER[0] }).first().click();
  const rows = view.locator('[id=pane-compare] .grid-row');
  const session = rows.filter({ hasText: /^Session(?!Store)/ }).first();
  await session.waitFor();
  // beside the details some columns aren't shown
  assert.match(await session.textContent(), /4,000.*\+3,000.*3,000.*0.*MiB/);
  await vscode.screenshot('heap-compare');
  // the new objects, largest first
  await session.locator('.twistie').first().click();
  await rows
    .filter({ hasText: /Session @/ })
    .first()
    .click();
  await view.locator('.heap-details h2', { hasText: 'Object' }).waitFor();
  await view.locator('.choice button', { hasText: 'Holders' }).click();
  await rows
    .first()
    .filter({ hasText: /^(Map|\(array\)) @/ })
    .waitFor();
  await view.locator('.choice button', { hasText: 'Paths' }).click();
  await rows
    .filter({ hasText: /Session/ })
    .first()
    .waitFor();
  await vscode.screenshot('heap-compare-paths');
  await view.locator('.choice button', { hasText: 'Findings' }).click();
  const grown = view.locator('.heap-compared-findings li', { hasText: 'Large retained size' }).first();
  assert.match(await grown.innerText(), /MiB → [\d.]+ MiB ▲ \+[\d.]+ MiB[^]*4,000 Session/);
  await vscode.screenshot('heap-compare-findings');
  await grown.locator('button.link', { hasText: '4,000 Session' }).click();
  await view.locator('.heap-details h2', { hasText: 'Group' }).waitFor();
  await view.pane('Compare');
  await view.pane('SQL');
  await view.runQuery("SELECT type, count(*) AS n FROM objects WHERE type = 'Session' GROUP BY 1");
  await view.locator('.sql-both input').click();
  await view.locator('.sql-body .sql-row', { hasText: /^Session\s*1000\s*4000\s*3000$/ }).waitFor();
  await vscode.screenshot('heap-compare-sql');
  await view.locator('.sql-both input').click();
  await view.pane('Compare');
  await view.locator('.choice button', { hasText: 'Over time' }).click();
  await view.locator('.compare-notice .button', { hasText: 'Choose Dumps' }).click();
  await vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: EARLIER[1] }).first().waitFor();
  await vscode.page.keyboard.press('Enter');
  await view.locator('.series-chart').waitFor();
  const line = rows.filter({ hasText: /^Session(?!Store)/ }).first();
  assert.match(await line.textContent(), /grows throughout.*4,000/);
  await line.click();
  await view.locator('.series-line.marked').waitFor();
  await view.settled();
  assert.equal(await view.locator('.series-line.marked circle').count(), 4);
  await vscode.screenshot('heap-series');
  await view.settled();
  // of four dumps, what was allocated between the first two and is still there in the last
  const between = `-in:${EARLIER[0]} in:${EARLIER[1]}`;
  const { types } = await vscode.memlens('types', FILE, '--filter', between);
  const leaked = types.find(({ type }) => type === 'Session');
  assert.equal(leaked.count, 1000);
  await view.locator('.heap-compare-note .dropdown').selectOption(between);
  await view.pane('Types');
  await view
    .locator('[id=pane-types] .grid-row', { hasText: /^Session(?!Store)[^]*1,000/ })
    .first()
    .waitFor();
  await view.pane('Compare');
  await vscode.screenshot('heap-allocated-between');
  await view.locator('.heap-compare-note .dropdown').selectOption('');
  await until(async () => /4,000/.test(await line.textContent()), 'all objects are back');
  await view.settled();
  await view.pane('SQL');
  await view.locator('.sql-series input').click();
  await view.locator('.sql-head', { hasText: /1 n[^]*4 n[^]*difference n/ }).waitFor();
  await view.locator('.sql-body .sql-row', { hasText: /^Session(\s*\d+){3}\s*4000\s*\d+$/ }).waitFor();
  await view.locator('.sql-series input').click();
  await view.pane('Compare');
  await view.settled();
  await vscode.runCommand('View: Close Editor');
  await open();
  await view.locator('.dock [role=tab][aria-selected=true]', { hasText: 'Compare' }).waitFor();
  await view.locator('.series-chart').waitFor();
  await view.settled();
  assert.equal(await view.locator('.series-line').first().locator('circle').count(), 4);
  await view.locator('.choice button', { hasText: 'Types' }).click();
  const again = view.locator('[id=pane-compare] .grid-row').filter({ hasText: /^Session(?!Store)/ });
  await again.first().waitFor();
  assert.match(await again.first().textContent(), /4,000.*\+3,000/);
});

test('the rings have the same figures, zoom and selection', async () => {
  await view.locator('.sunburst-toggle').click();
  const rings = view.locator('.sunburst-surface');
  await rings.waitFor();
  await boxesStandStill(view, boxes);
  const arcs = () => view.frame.evaluate(() => window.memlensSunburst());
  await until(async () => (await arcs()).length > 0, 'rings are drawn');
  const all = await arcs();
  const info = await vscode.memlens('info', FILE);
  const types = await vscode.memlens('types', FILE);
  const { retained_bytes: retained } = types.types.find(({ type }) => type === 'Session');
  const turn = all.filter(({ name }) => name === 'Session').reduce((sum, { angle }) => sum + angle, 0);
  assert.ok(Math.abs(turn - (2 * Math.PI * retained) / info.shallow_bytes) < 0.02, `${turn}`);
  const first = all.filter(({ depth }) => depth === 1).reduce((sum, { angle }) => sum + angle, 0);
  assert.ok(first <= 2 * Math.PI + 1e-9 && first > 1.99 * Math.PI, `${first}`);
  const widest = all.filter(({ name }) => name === 'Session').reduce((a, b) => (b.angle > a.angle ? b : a));
  const place = await rings.boundingBox();
  await vscode.page.mouse.click(place.x + widest.x, place.y + widest.y);
  await view.locator('.heap-details .panel-name', { hasText: 'Session' }).waitFor();
  await vscode.screenshot('heap-sunburst');
  await view.press('Enter');
  await until(async () => (await view.frame.evaluate(() => window.memlensFlame.camera())).x1 < 1, 'zoomed');
  await boxesStandStill(view, boxes);
  await vscode.screenshot('heap-sunburst-zoomed');
  await view.press('0');
  await boxesStandStill(view, boxes);
  await view.locator('.sunburst-toggle').click();
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
  await vscode.resize(900, 600);
  await drawn();
  // the details are below and leave the tables a few rows; the paths take their place
  const row = view.locator('[id=pane-types] .grid-row', { hasText: /^global/ });
  await row.first().click();
  await view.locator('.heap-details .hint', { hasText: /Without all of them, 8\.\d+ MiB/ }).waitFor();
  await row.first().click({ trial: true });
  await vscode.screenshot('heap-small');
  await view.locator('.heap-actions button', { hasText: 'Why Alive' }).click();
  await view.locator('.heap-details').waitFor({ state: 'hidden' });
  await view.locator('.heap-why .grid-row').nth(1).click({ trial: true });
  await vscode.screenshot('heap-small-why');
  // beside a wide side bar: the tabs scroll, and the panel with its buttons stays
  await vscode.resize(560, 700);
  await view.pane('SQL');
  const [dock, close, tab] = await Promise.all(
    ['.dock', '.dock-buttons button:last-child', '.tab-list [aria-selected=true]'].map((part) =>
      view.locator(part).boundingBox(),
    ),
  );
  assert.ok(tab.x >= dock.x && tab.x + tab.width < close.x, `${tab.x} of ${close.x}`);
  assert.ok(close.x + close.width <= dock.x + dock.width, `${close.x} of ${dock.width}`);
  await vscode.screenshot('heap-narrow');
  await view.pane('Why alive');
  await vscode.resize(1440, 900);
  await view.locator('.filter-input').fill('type:Array retained>100MiB');
  await view.locator('.heap-why', { hasText: 'No object matches the filter.' }).waitFor();
  await view.locator('.filter-input').fill('');
});

test('axe-core finds nothing wrong with any pane in any theme', async () => {
  await view.assertAccessible(await view.panes());
});

test('a dump is saved without its values and names, and opens with the names that the mapping has', async () => {
  await vscode.openFile('sessions.hprof.zst');
  const dump = new SnapshotView(vscode, await vscode.webview());
  await dump.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  // a choice closes when an editor that is still opening takes the focus
  await dump.settled();
  await dump.frame.waitForFunction(() => document.hasFocus());
  await vscode.runCommand('Memlens: Save Without Values…');
  const saved = path.join(vscode.folder, 'shared.hprof');
  const choice = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Replace Names' });
  await choice.waitFor();
  await vscode.screenshot('heap-replace-names');
  await choice.click();
  await vscode.choosePath(/sessions-without-values\.hprof\.zst$/, saved);
  // with the driver of tests VS Code keeps messages in its centre
  await vscode.runCommand('Notifications: Show Notifications');
  const said = vscode.page.locator('.notification-list-item', { hasText: 'saved without its values' });
  await said.locator('.monaco-button', { hasText: 'Open' }).click();
  await vscode.page.locator('.tab.active', { hasText: 'shared.hprof' }).waitFor();
  const open = new SnapshotView(vscode, await vscode.webview());
  await open.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await open.locator('.headline-warnings').first().click();
  await open.locator('.warnings', { hasText: 'The values were removed from this dump' }).first().waitFor();
  await vscode.screenshot('heap-without-values');
  const [before, after] = [
    await vscode.memlens('types', 'sessions.hprof.zst'),
    await vscode.memlens('types', 'shared.hprof'),
  ];
  assert.deepEqual(after.types, before.types);
  assert.ok(!readFileSync(saved, 'latin1').includes('shop/Sessions'));
  await vscode.runCommand('View: Close All Editors');
});

test('a leak of Java: the finding names it, the path ends at it, the click is on its line', async () => {
  await vscode.openFile('sessions.hprof.zst');
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await drawn();
  await view.locator('.headline-text', { hasText: /Held by .*OPEN/ }).waitFor();
  const type = 'shop.Sessions$Session (jdk.internal.loader.ClassLoaders$AppClassLoader)';
  await view.filter(`type:"=${type}"`);
  await view.pane('Types');
  // a single row opens automatically
  await view.locator('[id=pane-types] .grid-row[aria-level="2"]').first().click();
  await view.locator('.heap-actions button', { hasText: 'Why Alive' }).click();
  const chain = view.locator('.heap-chain').first();
  await chain.filter({ hasText: /OPEN →.*HashMap.*table →.*Node\[\].*Session/s }).waitFor();
  await vscode.screenshot('heap-of-java');
  await view.locator('.heap-actions button', { hasText: 'Open Source' }).click();
  const text = readFileSync(path.join(FOLDER, 'src', 'Sessions.java'), 'utf8').split('\n');
  await vscode.atLine('Sessions.java', text.findIndex((each) => each.includes('final class Session {')) + 1);
  await vscode.runCommand('View: Close All Editors');
});

test('the thread that ran out of memory: the headline leads to its frames, a frame to its line', async () => {
  const file = 'ran_out.hprof.zst';
  const text = readFileSync(path.join(FOLDER, 'src', 'RanOut.java'), 'utf8').split('\n');
  await vscode.openFile(file);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await drawn();
  await view.locator('.headline-text', { hasText: /ran out of memory in RanOut\.grow/ }).waitFor();
  await view.locator('.headline-text button', { hasText: /^importer$/ }).click();
  await view.locator('.dock [role=tab][aria-selected=true]', { hasText: 'Threads' }).waitFor();
  const rows = view.locator('[id=pane-threads] .grid-row');
  const failed = rows.and(view.locator('[aria-level="1"]')).first();
  await rows.filter({ hasText: 'OutOfMemoryError.<init>' }).waitFor();
  assert.match(
    await failed.innerText(),
    /importer\s+ran out of memory\s+RanOut\.java:\d+\s+runnable, 5 frames/,
  );
  assert.equal(await failed.getAttribute('aria-expanded'), 'true');
  const frame = rows.filter({ hasText: 'RanOut.grow' });
  await frame.locator('.twistie').click();
  const variable = rows.and(view.locator('[aria-level="3"]'));
  await variable.filter({ hasText: 'ArrayList' }).click();
  await view.locator('.heap-details .panel-name', { hasText: 'ArrayList' }).waitFor();
  await view.settled();
  // beside the details there is less room: what the frames are called gives way, and their lines stay
  const cut = await rows.locator('.heap-place').evaluateAll((places) =>
    places
      .filter((place) => {
        const cell = place.closest('.grid-row > div').getBoundingClientRect();
        const { left, right } = place.querySelector('bdi').getBoundingClientRect();
        return left < cell.left || right > cell.right;
      })
      .map((place) => place.textContent),
  );
  assert.deepEqual(cut, []);
  await vscode.screenshot('heap-threads');
  await view.assertAccessible(['Threads']);
  await frame.locator('.code').click();
  await vscode.atLine('RanOut.java', text.findIndex((each) => each.includes('rows.add(')) + 1);
  await vscode.runCommand('View: Close All Editors');
});
