// The flame graph of the sample: clicks that open the right line, menus, and its appearance in each kind of VS Code's
// themes. What it shows, its keys, search and forms: tests/views/flame.test.ts.
import assert from 'node:assert/strict';
import path from 'node:path';
import { poorContrasts } from './contrast.mjs';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, distance, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';

let vscode;
let view;
/** The figures of `memlens flame --json` for each function live at the peak. */
let reported;

test.beforeAll(async () => {
  vscode = await openVSCode({ viewport: { width: 1440, height: 900 } });
  reported = await vscode.memlens('flame', FILE);
  view = await SnapshotView.opened(vscode, FILE);
  await view.locator('[role=tab]', { hasText: 'Flame graph' }).click();
  await drawn();
});
test.afterAll(() => vscode?.close());

const boxes = () => view.frame.evaluate(() => window.memlensFlame.boxes());

/** Waits until the boxes don't move any more and the picture is that of the current view. */
async function drawn() {
  await view.locator('.flame[data-pictures]').waitFor();
  await boxesStandStill(view, boxes);
}

/** A visible, wide box that is the only one of a function of the user's, which has one line in the snapshot. */
async function ownBox(share = 1.1) {
  const lines = await vscode.lines(FILE);
  const surface = await view.locator('.flame-surface').boundingBox();
  const all = await boxes();
  for (const box of all.toSorted((a, b) => b.width - a.width)) {
    const rows = reported.rows.filter(({ name }) => name.function === box.name);
    const same = all.filter(({ name }) => name === box.name);
    const places = lines.filter((line) => line.function === box.name && line.live_at_peak_bytes > 0);
    if (box.width > share * surface.width) continue;
    if (box.more || rows.length !== 1 || same.length !== 1 || places.length !== 1) continue;
    if (rows[0].name.kind !== 'user' || box.y + box.height > surface.height) continue;
    return { box, row: rows[0], line: places[0] };
  }
  throw new Error('no box is suitable');
}

async function at(box) {
  const surface = await view.locator('.flame-surface').boundingBox();
  return [surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2];
}

async function factOf(name) {
  const value = view.locator(
    `xpath=//aside//dt[normalize-space()="${name}"]/following-sibling::dd[1][ancestor::*[contains(@class,"flame-details")]]`,
  );
  await value.waitFor();
  await view.settled();
  return { text: await value.innerText(), title: await value.getAttribute('title') };
}

test('boxes have the widths of their values, and fill the row of their parent', async () => {
  const all = await boxes();
  const surface = await view.locator('.flame-surface').boundingBox();
  const root = all.find(({ node }) => node === 0);
  assert.ok(Math.abs(root.width - surface.width) <= 1);
  let looked = 0;
  for (const row of reported.rows.slice(0, 12)) {
    const own = all.filter(({ name }) => name === row.name.function);
    const others = reported.rows.filter(({ name }) => name.function === row.name.function);
    if (own.length !== 1 || others.length !== 1) continue;
    looked++;
    const expected = (surface.width * row.bytes) / reported.total_bytes;
    assert.ok(Math.abs(own[0].width - expected) <= 1.01, `${row.name.function} is ${own[0].width} wide`);
  }
  assert.ok(looked >= 4, `${looked} functions`);
  // a picture that is stretched to a wider view has fewer names, until the next one arrives
  const nameless = ({ name, more, width }) => name === '' && !more && width >= 20;
  await until(async () => !(await boxes()).some(nameless), 'every wide box has its name');
});

test('a click shows a box’s details and highlights its stacks; Ctrl+click opens its line', async () => {
  const { box, row, line } = await ownBox();
  await vscode.page.mouse.click(...(await at(box)));
  assert.equal((await factOf('Inclusive')).title, `${row.bytes.toLocaleString('en-US')} bytes`);
  assert.equal((await factOf('Self (my code)')).title, `${row.self_bytes.toLocaleString('en-US')} bytes`);
  assert.equal(await view.text('.flame-details h3'), row.name.function);
  assert.match(await view.text('.flame-lines'), new RegExp(`${path.posix.basename(line.file)}:${line.line}`));
  await vscode.page.mouse.move(5, 5);
  await drawn(); // narrower, beside the box's details
  await vscode.screenshot('flame-selected');

  await vscode.page.keyboard.down('Control');
  await vscode.page.mouse.click(...(await at((await boxes()).find(({ node }) => node === box.node))));
  await vscode.page.keyboard.up('Control');
  await vscode.atLine(path.posix.basename(line.file), line.line);
  await vscode.runCommand('View: Close Editor');
  await view.still();
  await drawn();
});

test('the tree has the same figures as text; Enter opens the line', async () => {
  const { row, line } = await ownBox();
  await view.flameForm('table');
  const rows = view.locator('.flame-tree [role=row][aria-level]');
  await rows.first().waitFor();
  await rows.first().click();
  // chains of one child open by themselves, so that the first choice is on the screen
  const wanted = view.locator('.flame-tree [role=row][aria-level]', { hasText: row.name.function });
  for (let i = 0; i < 60 && (await wanted.count()) === 0; i++) {
    await view.press('ArrowRight');
    await view.settled();
    await view.press('ArrowDown');
  }
  await wanted.first().click();
  await wanted.first().and(view.locator('[aria-selected=true]')).waitFor();
  await factOf('Inclusive');
  await vscode.screenshot('flame-tree');
  const place = wanted.first().locator('.place');
  const named = (file) =>
    until(async () => (await place.innerText()).split(':')[0] === file, `it is ${file}`);
  await named(path.posix.basename(line.file));
  await view.flame('Full paths');
  await named(line.file);
  await view.flame('Full paths');
  await named(path.posix.basename(line.file));
  await wanted.first().click();
  await view.press('Enter');
  await vscode.atLine(path.posix.basename(line.file), line.line);
  await vscode.runCommand('View: Close Editor');
  await view.flameForm('icicle');
  await drawn();
});

test('a right click in the tables opens the actions for the function', async () => {
  const { row } = await ownBox(0.6);
  await view.flameForm('functions');
  const wanted = view.locator('.flame-functions .grid-row', { hasText: row.name.function }).first();
  await wanted.click();
  const menu = view.locator('.menu');
  const callers = view.locator('[aria-label^="Callers of"]');
  await callers.locator('.grid-row').first().click({ button: 'right' });
  await menu.waitFor();
  await vscode.screenshot('flame-menu');
  await view.press('ArrowDown');
  const chosen = () => view.frame.evaluate(() => document.activeElement?.textContent ?? '');
  await until(async () => /^Callers and Callees/.test(await chosen()), 'the first item is selected');
  await view.press('Escape');
  await menu.waitFor({ state: 'detached' });
  const role = () => view.frame.evaluate(() => document.activeElement?.getAttribute('role'));
  await until(async () => (await role()) === 'treegrid', 'the rows have the focus again');
  // by keyboard, at the focused row
  await callers.dispatchEvent('contextmenu');
  await menu.getByText('Focus', { exact: true }).click();
  const chip = view.locator('.flame-chips', { hasText: `Only ${row.name.function}` });
  await chip.waitFor();
  await wanted.click({ button: 'right' });
  await menu.getByText('Hide', { exact: true }).click();
  await view.locator('.flame-chips', { hasText: `Hidden: ${row.name.function}` }).waitFor();
  const chips = view.locator('.flame-chips .chip');
  for (const left of [1, 0]) {
    await chips.first().click();
    await until(async () => (await chips.count()) === left, `${left} chips are left`);
  }
  await view.settled();
  await view.locator('.flame-halves').getByRole('button', { name: 'Close callers and callees' }).click();
  await view.flameForm('icicle');
  await drawn();
});

test('a key that is pressed before the details of a clicked box arrive applies to that box', async () => {
  const { box, row } = await ownBox();
  await vscode.page.mouse.click(...(await at(box)));
  await view.press('h');
  await view.locator('.flame-chips .chip', { hasText: `Hidden: ${row.name.function}` }).click();
  await view.locator('.flame-chips .chip').waitFor({ state: 'detached' });
  await drawn();
});

test('I leaves out a function’s stacks in every view; if nothing is left, the graph says so', async () => {
  const { box, row } = await ownBox(0.6);
  await vscode.page.mouse.click(...(await at(box)));
  await factOf('Inclusive');
  await view.press('i');
  await until(async () => (await view.locator('.filter-input').inputValue()) !== '', 'the filter is set');
  assert.equal(await view.locator('.filter-input').inputValue(), `-function:"=${row.name.function}"`);
  await drawn();
  assert.ok(!(await boxes()).some(({ name }) => name === box.name));
  await view.filter('');
  await drawn();

  const top = (await boxes()).filter(({ node, y, height }) => node !== 0 && y < 2 * height);
  assert.equal(top.length, 1, 'all stacks have one outermost function');
  await vscode.page.mouse.click(...(await at(top[0])));
  await factOf('Inclusive');
  await view.press('i');
  const empty = view.locator('.flame-empty', { hasText: 'Nothing matches the filter.' });
  await empty.waitFor();
  // the graph still has the focus, which raises its surface
  const isOnTop = await empty.evaluate((element) => {
    element.style.pointerEvents = 'auto';
    const { x, y } = element.getBoundingClientRect();
    const found = document.elementFromPoint(x + 2, y + 2);
    element.style.pointerEvents = '';
    return found === element && document.activeElement?.matches('.flame-surface:focus-visible');
  });
  assert.equal(isOnTop, true);
  await view.filter('');
  await drawn();
});

for (const theme of ['light', 'hc', 'hc-light', 'dark']) {
  test(`${theme}: boxes can be distinguished from the background, and every text can be read`, async () => {
    await vscode.setTheme(theme);
    await drawn();
    const { node } = (await ownBox()).box;
    await vscode.page.mouse.click(...(await at((await boxes()).find((each) => each.node === node))));
    await factOf('Inclusive');
    // the details of the clicked box make the boxes narrower
    await drawn();
    const box = (await boxes()).find((each) => each.node === node);
    const [x, y] = await at(box);
    await vscode.page.mouse.move(5, 5);
    const colour = await vscode.screenPixel(Math.floor(x + box.width / 2 - 8), Math.floor(y));
    assert.ok(distance(colour, await view.background()) > 20, `${colour} is a box`);
    await vscode.screenshot(`flame-${theme}`);
    const { looked, poor } = await view.frame.evaluate(poorContrasts, ['.flame-toolbar', '.flame-details']);
    assert.deepEqual(poor, []);
    assert.ok(looked > 15, `${looked} texts`);
  });
}

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
