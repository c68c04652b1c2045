// A heap dump of a small Node program whose leak is known: what holds the memory is visible at once, why it is alive
// is two clicks away, and the line three. Figures, queries and leaks of other runtimes: tests/views/heap.test.ts and
// heap-compare.test.ts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'service.heapsnapshot';
/** The same process before: the first has a quarter of the sessions, the second half of them. */
const EARLIER = ['first.heapsnapshot', 'second.heapsnapshot', 'third.heapsnapshot'];
const SESSION = /^Session(?!Store)/;
const MOST_CONTROLS = 12;
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
    },
  });
  await open();
  await drawn();
});
test.afterAll(() => vscode?.close());

async function open() {
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
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

test('the first screen has few controls, and a box says what it retains', async () => {
  await view.locator('.grid-row', { hasText: 'Session' }).first().waitFor();
  const surface = await view.locator('.flame-surface').boundingBox();
  const all = await boxes();
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
    // V8 itself may refer to the map while it writes the dump
    rows.some((row) => /sessions.*Map/s.test(row)) || rows[0].startsWith('(Strong roots)'),
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
  await vscode.closeEditor('leak.js');
  await drawn();
  await clickBox('Session', 'Control');
  await vscode.atLine('leak.js', lineOf('constructor(id)'));
  await vscode.closeEditor('leak.js');
});

test('compared with an earlier dump, then with a series of them, which are there again when it is opened', async () => {
  await view.pane('Compare');
  await view.locator('.compare-banner .button').click();
  const earlier = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: EARLIER[0] });
  await vscode.pick(earlier.first());
  const session = () => view.locator('[id=pane-compare] .grid-row', { hasText: SESSION }).first();
  await session().waitFor();
  // beside the details some columns aren't shown
  assert.match(await session().textContent(), /4,000.*\+3,000.*3,000.*0.*MiB/);
  await vscode.screenshot('heap-compare');
  await view.locator('.choice button', { hasText: 'Over time' }).click();
  await view.locator('.compare-banner .button', { hasText: 'Choose Dumps' }).click();
  await vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: EARLIER[1] }).first().waitFor();
  await vscode.page.keyboard.press('Enter');
  await view.locator('.series-chart').waitFor();
  await session()
    .filter({ hasText: /grows throughout.*4,000/ })
    .click();
  await view.locator('.series-line.marked').waitFor();
  await view.settled();
  assert.equal(await view.locator('.series-line.marked circle').count(), 4);
  await vscode.screenshot('heap-series');
  // closing the last view of a dump closes its series in the server as well
  await vscode.execute('workbench.action.closeActiveEditor');
  await open();
  await view.locator('.dock [role=tab][aria-selected=true]', { hasText: 'Compare' }).waitFor();
  await view.locator('.series-chart').waitFor();
  await view.settled();
  assert.equal(await view.locator('.series-line').first().locator('circle').count(), 4);
  await view.locator('.choice button', { hasText: 'Types' }).click();
  await session()
    .filter({ hasText: /4,000.*\+3,000/ })
    .waitFor();
});

test('it is legible in every theme, and in a small window', async () => {
  await view.pane('Types');
  await view.assertLegible(['.heap-overview', '.heap-details', '.dock', '.toolbar'], 15);
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
  await vscode.pick(choice);
  const mapping = /shared\.mapping\.txt$/;
  await vscode.choosePath(/sessions-without-values\.hprof\.zst$/, saved, mapping);
  await vscode.choosePath(mapping, path.join(vscode.folder, 'shared.mapping.txt'));
  const said = await vscode.notification('saved without its values');
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
  // A number that the runtime shares is one object there, which changes what the classes of its caches retain.
  const kept = ({ types }) =>
    types.map((one) => (one.type === 'java.lang.Class' ? { ...one, retained_bytes: null } : one));
  assert.deepEqual(kept(after), kept(before));
  assert.ok(!readFileSync(saved, 'latin1').includes('shop/Sessions'));
  await vscode.execute('workbench.action.closeAllEditors');
});

test('the names of frames leave room for their lines, of which a click opens one', async () => {
  const text = readFileSync(path.join(FOLDER, 'src', 'RanOut.java'), 'utf8').split('\n');
  await vscode.openFile('ran_out.hprof.zst');
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
  await drawn();
  await view.locator('.headline-text button', { hasText: /^importer$/ }).click();
  const rows = view.locator('[id=pane-threads] .grid-row');
  await rows.filter({ hasText: 'OutOfMemoryError.<init>' }).waitFor();
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
  await vscode.execute('workbench.action.closeAllEditors');
});
