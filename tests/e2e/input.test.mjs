// Navigation by every gesture of the pointer, and by keys from VS Code to the table. What each key and command does:
// tests/views/timeline.test.ts.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, distance, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';

let vscode;
let view;
let mouse;
let surface;
/** The camera that shows the whole run. */
let all;
/** The size of the largest allocation of all, which is live at the peak. */
let largest;

test.beforeAll(async () => {
  vscode = await openVSCode({ theme: 'dark', motion: true });
  mouse = vscode.page.mouse;
  largest = Math.max(...(await vscode.lines(FILE)).map((line) => line.largest_bytes));
  view = await SnapshotView.opened(vscode, FILE);
  surface = await view.surface();
  all = await view.camera();
  // each gesture alone; the automatic height has its own test
  await holdHeight();
});
test.afterAll(() => vscode?.close());

const holdHeight = () => view.command('toggleHeight');

const press = (key) => view.press(key);
const fit = async () => assert.deepEqual(await view.moved(() => press('0')), all);

/** The data coordinates of a point of the picture. */
const dataAt = (camera, [x, y]) => ({
  x: camera.x0 + (x / surface.width) * (camera.x1 - camera.x0),
  y: camera.y0 + ((surface.height - y) / surface.height) * (camera.y1 - camera.y0),
});

const toWindow = ([x, y]) => [surface.x + x, surface.y + y];

async function drag(from, to, { button = 'left', steps = 5 } = {}) {
  await mouse.move(...from);
  await mouse.down({ button });
  await mouse.move(...to, { steps });
  await mouse.up({ button });
}

const near = (value, wanted, slack) =>
  assert.ok(Math.abs(value - wanted) <= slack, `${value} is ${wanted}, give or take ${slack}`);

const stack = (allocation) => vscode.memlens('stack', FILE, allocation);

/** Presses a key and returns where the camera has moved. */
const move = (key) => view.moved(() => press(key));

test.describe('by the pointer', () => {
  test('the wheel zooms at the pointer: only time, with Shift only bytes, with Ctrl both', async () => {
    const point = [Math.floor(surface.width * 0.4), Math.floor(surface.height * 0.7)];
    const perPixel = { x: (all.x1 - all.x0) / surface.width, y: (all.y1 - all.y0) / surface.height };
    await mouse.move(...toWindow(point));
    let camera = all;
    for (const [key, x, y] of [
      [null, true, false],
      ['Shift', false, true],
      ['Control', true, true],
    ]) {
      if (key) await vscode.page.keyboard.down(key);
      const now = await view.moved(() => mouse.wheel(0, -200));
      if (key) await vscode.page.keyboard.up(key);
      assert.equal(now.x1 - now.x0 < camera.x1 - camera.x0, x, `${key ?? 'plain'}: time`);
      assert.equal(now.y1 - now.y0 < camera.y1 - camera.y0, y, `${key ?? 'plain'}: bytes`);
      near(dataAt(now, point).x, dataAt(all, point).x, perPixel.x);
      near(dataAt(now, point).y, dataAt(all, point).y, perPixel.y);
      camera = now;
    }

    const from = [300, Math.floor(surface.height * 0.5)];
    const to = [from[0] - 120, from[1] + Math.floor(surface.height * 0.1)];
    const dragged = await view.moved(() => drag(toWindow(from), toWindow(to)));
    near(dataAt(dragged, to).x, dataAt(camera, from).x, perPixel.x);
    near(dataAt(dragged, to).y, dataAt(camera, from).y, perPixel.y);
    await fit();
  });

  test('the height follows what is in view until it is set by hand', async () => {
    await holdHeight();
    const top = Math.ceil((surface.height * 0.08) / 1.08);
    const highest = async () => {
      const across = Array.from({ length: Math.floor((surface.width - 3) / 3) + 1 }, (_, i) => 2 + 3 * i);
      const bands = await view.bandsAt([top - 6, top + 6].flatMap((y) => across.map((x) => [x, y])));
      const isBand = bands.map((band) => band?.merged !== undefined);
      return [isBand.slice(0, across.length), isBand.slice(across.length)].map(
        (row) => row.filter(Boolean).length,
      );
    };
    // little is live when the run begins
    await mouse.move(...toWindow([4, Math.floor(surface.height / 2)]));
    const low = await view.moved(async () => {
      for (let i = 0; i < 6; i++) await mouse.wheel(0, -200);
    });
    assert.equal(low.y0, 0);
    assert.ok(low.y1 < all.y1 * 0.9, `${low.y1} is lower than ${all.y1}`);
    const [above, below] = await highest();
    assert.equal(above, 0, 'nothing is cut off');
    assert.ok(below > 0, 'there is no more space above than the headroom');
    await vscode.page.keyboard.down('Shift');
    const byHand = await view.moved(() => mouse.wheel(0, -200));
    await vscode.page.keyboard.up('Shift');
    const zoomedOut = await view.moved(() => mouse.wheel(0, 300));
    near(zoomedOut.y1 - zoomedOut.y0, byHand.y1 - byHand.y0, 1e-6 * all.y1);
    await fit();
    await holdHeight();
  });

  test('drawing a box, with Alt or its tool, zooms to it', async () => {
    const [from, to] = [
      [Math.floor(surface.width * 0.3), Math.floor(surface.height * 0.2)],
      [Math.floor(surface.width * 0.5), Math.floor(surface.height * 0.6)],
    ];
    const check = async (camera) => {
      near(camera.x0, dataAt(all, from).x, 1e-3 * (all.x1 - all.x0));
      near(camera.x1, dataAt(all, to).x, 1e-3 * (all.x1 - all.x0));
      near(camera.y0, dataAt(all, to).y, 2e-3 * all.y1);
      near(camera.y1, dataAt(all, from).y, 2e-3 * all.y1);
    };
    await vscode.page.keyboard.down('Alt');
    await check(await view.moved(() => drag(toWindow(from), toWindow(to))));
    await vscode.page.keyboard.up('Alt');
    await fit();
    await view.more('Zoom to a Box');
    const tool = view.locator('.plot-surface.box-tool');
    assert.equal(await tool.count(), 1);
    await check(await view.moved(() => drag(toWindow(to), toWindow(from))));
    assert.equal(await tool.count(), 0, 'the tool is switched off after one box');
    await fit();
  });

  test('the overview’s window can be moved and resized', async () => {
    const strip = await view.locator('.minimap-strip').boundingBox();
    const at = (share) => [strip.x + share * strip.width, strip.y + strip.height / 2];
    const grip = [strip.x + strip.width - 4, strip.y + strip.height / 2];
    const half = await view.moved(() => drag(grip, at(0.5)));
    near(half.x1, (all.x0 + all.x1) / 2, 0.02 * (all.x1 - all.x0));
    near(half.x0, all.x0, 1);
    const moved = await view.moved(() => drag(at(0.25), at(0.55)));
    near(moved.x0 - half.x0, 0.3 * (all.x1 - all.x0), 0.02 * (all.x1 - all.x0));
    near(moved.x1 - moved.x0, half.x1 - half.x0, 1);
    await fit();
  });

  test('a second click on a band zooms to its lifetime, and a click on empty space clears the selection', async () => {
    await view.moved(() => press('p'));
    const allocation = await view.tallestAtTheMiddle();
    await fit();
    await view.click(allocation);
    await view.selected(allocation);
    const rect = await view.rectOf(allocation);
    const middle = [rect.x + rect.width / 2, rect.y + rect.height / 2];
    const camera = await view.moved(() => mouse.dblclick(...toWindow(middle)));
    const { allocation: shown } = await vscode.memlens('stack', FILE, allocation);
    assert.ok(camera.x0 <= shown.start_time_us);
    assert.ok(camera.x1 >= Math.min(shown.end_time_us ?? Infinity, all.x1));
    assert.ok(camera.y1 - camera.y0 < all.y1 / 2);
    await view.selected(allocation);
    await fit();
    await mouse.click(...toWindow([20, 60]));
    await view.cleared();
  });

  test('a category of the legend is highlighted, and the table follows the cursor', async () => {
    await view.timelineBy('PyTorch order');
    await view.locator('.area-legend').waitFor({ state: 'hidden' });
    await view.more('Colours: Category');
    const category = view.locator('.legend button', { hasText: 'optimizer state' });
    await category.waitFor();
    await view.still();
    const { categories } = await vscode.memlens('info', FILE);
    assert.equal(await view.locator('.legend button').count(), categories.length);

    // A band of activations, which is dimmed while another category is highlighted.
    const point = [Math.floor(surface.width * 0.8), Math.floor(surface.height * 0.8)];
    const full = await view.pixel(...point);
    await category.click();
    await view.locator('.legend button[aria-pressed=true]').waitFor();
    await view.settled();
    const background = await view.background();
    const dimmed = await view.pixel(...point);
    assert.ok(distance(dimmed, background) < distance(full, background) / 2, `${dimmed} is ${full}, dimmed`);
    await view.locator('.legend button[aria-pressed=true]').click();
    await view.settled();
    assert.deepEqual(await view.pixel(...point), full);

    await view.locator('.grid-row').first().waitFor();
    await view.still();
    await mouse.click(surface.x + surface.width * 0.5, surface.y + 30);
    // the panes show the moment that was clicked
    await view.locator('.scope-text', { hasText: /^At \d/ }).waitFor();
    const caption = view.locator('.live-set-summary', { hasText: /allocations?, (?!79\.8).* in/ });
    await caption.waitFor();
    const [count, live] = (await caption.innerText()).match(/(\d+) allocations?, ([\d.]+) MiB/).slice(1);
    assert.ok(Number(count) > 0 && Number(live) > 0 && Number(live) < 79.8);
    await view.groupBy('');
    await view.locator('.grid-row.leaf').first().click();
    await view.locator('.panel .frames').waitFor();
  });
});

test.describe('without a pointer', () => {
  test.beforeAll(async () => {
    // Restore the initial state.
    await view.locator('.dock').getByRole('button', { name: 'At the peak' }).click();
    await view.locator('.dock').getByRole('button', { name: 'Close Panel' }).click();
    await view.more('Colours: Stack');
    await view.timelineBy('By line');
    await view.locator('.area-legend').waitFor();
    await mouse.click(...toWindow([20, 60]));
    await press('0');
    await view.still();
    assert.deepEqual(await view.camera(), all);
  });

  test('keys select the largest allocation, and open its line', async () => {
    await move('p');
    await press('Alt+ArrowUp');
    await view.locator('.panel .frames').waitFor();
    await view.settled();
    const { allocation } = await stack(Number((await view.fact('Number')).text.replaceAll(',', '')));
    assert.equal(allocation.size_bytes, largest);
    await press('Enter');
    await vscode.atLine(path.posix.basename(allocation.label.file), allocation.label.line);
    await vscode.runCommand('View: Focus First Editor Group');
    await press('Escape');
    await view.cleared();
  });

  test('the table’s rows are reached by Tab and selected by keys', async () => {
    await press('t');
    const rows = view.locator('.grid-row.leaf');
    await rows.first().waitFor();
    await view.settled();
    const focused = () => view.frame.evaluate(() => document.activeElement.role);
    for (let presses = 0; (await focused()) !== 'treegrid'; presses++) {
      assert.ok(presses < 40, 'Tab reaches the rows');
      await press('Tab');
    }
    await press('Home');
    await press('ArrowDown');
    await press(' ');
    await view.selected(Number((await rows.nth(1).getAttribute('data-id')).split(':')[1]));
    await press('t');
    await view.locator('.live-set .grid').waitFor({ state: 'hidden' });
  });

  test('back and forward go through visited places, and a link leads to one', async () => {
    const { page } = vscode;
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press('0');
    await view.still();
    // each changes something else than the one before: quick changes of the same are one
    const filter = view.locator('.filter-input');
    const grid = view.locator('.live-set .grid');
    await press('t');
    await grid.waitFor();
    await view.settled();
    const opened = await view.camera();
    const closer = await move('+');
    await view.filter('size>1MiB');
    await view.locator('.filter-badge').waitFor();
    await view.settled();
    const filtered = await view.camera();

    await vscode.runCommand('Memlens: Copy Link');
    const copied = () => page.evaluate(() => window.navigator.clipboard.readText());
    const link = await until(
      async () => (await copied()).includes('/open?at=') && copied(),
      'a link is copied',
    );

    await press('Alt+ArrowLeft');
    await until(async () => (await filter.inputValue()) === '', 'the filter is gone');
    assert.deepEqual(await move('Alt+ArrowLeft'), opened);
    await press('Alt+ArrowLeft');
    await grid.waitFor({ state: 'hidden' });
    await press('Alt+ArrowRight');
    await grid.waitFor();
    assert.deepEqual(await move('Alt+ArrowRight'), closer);
    await press('0');
    await view.still();

    await vscode.openLink(link);
    await until(async () => (await filter.inputValue()) === 'size>1MiB', 'the link leads to the filter');
    await view.drawn();
    assert.deepEqual(await view.camera(), filtered);
    await view.filter('');
    await press('Escape');
    await press('t');
    await grid.waitFor({ state: 'hidden' });
    await move('-');
  });

  test('the picture is saved as PNG, and a report as HTML', async () => {
    for (const [command, name, starts] of [
      ['Export Picture as PNG…', 'train-picture.png', '\u0089PNG'],
      ['Export Report…', 'train-report.html', '<!DOCTYPE html>'],
    ]) {
      await vscode.runCommand(`Memlens: ${command}`);
      await vscode.choosePath(new RegExp(`${name}$`));
      const file = path.join(vscode.folder, name);
      const head = () => (existsSync(file) ? readFileSync(file, 'latin1').slice(0, starts.length) : '');
      await until(() => head() === starts, 'the file');
    }
  });

  test('? lists the keys', async () => {
    await press('?');
    await view.locator('dialog[open]').waitFor();
    assert.match(await view.text('dialog[open]'), /Go to the peak/);
    await press('Escape');
    await view.locator('dialog[open]').waitFor({ state: 'hidden' });
    assert.deepEqual(vscode.consoleErrors, []);
  });
});
