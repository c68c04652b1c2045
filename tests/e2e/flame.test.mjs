// The flame graph of the sample: clicks that open the right line, menus, and its appearance in each kind of VS Code's
// themes. What it shows, its keys, search and forms: tests/views/flame.test.ts.
import assert from 'node:assert/strict';
import path from 'node:path';
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
  await vscode.closeEditor(path.posix.basename(line.file));
  await view.still();
  await drawn();
});

test('if a filter leaves nothing, what says so is on top of the graph, which keeps the focus', async () => {
  // a picture that is stretched to a wider view has fewer names, until the next one arrives
  const nameless = ({ name, more, width }) => name === '' && !more && width >= 20;
  await until(async () => !(await boxes()).some(nameless), 'every wide box has its name');
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

test('in every theme boxes can be distinguished from the background, and every text can be read', async () => {
  await drawn();
  const { node } = (await ownBox()).box;
  await vscode.page.mouse.click(...(await at((await boxes()).find((each) => each.node === node))));
  await factOf('Inclusive');
  await vscode.page.mouse.move(5, 5);
  await view.inThemes(async (theme) => {
    // the details of the clicked box make the boxes narrower
    await drawn();
    const box = (await boxes()).find((each) => each.node === node);
    const [x, y] = await at(box);
    const colour = await vscode.screenPixel(Math.floor(x + box.width / 2 - 8), Math.floor(y));
    assert.ok(distance(colour, await view.background()) > 20, `${theme}: ${colour} is a box`);
    await vscode.screenshot(`flame-${theme}`);
  });
  await view.assertLegible(['.flame-toolbar', '.flame-details'], 15);
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
