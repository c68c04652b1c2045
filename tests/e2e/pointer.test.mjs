// Every gesture of the pointer on the picture, the strip above it, the legend and the table.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { SnapshotView, distance } from './view.mjs';

const FILE = 'train.pickle';

let vscode;
let view;
let mouse;
let surface;
let all;

before(async () => {
  vscode = await openVSCode();
  mouse = vscode.page.mouse;
  view = await SnapshotView.opened(vscode, FILE);
  surface = await view.surface();
  all = await view.camera();
});
after(() => vscode?.close());

const press = (key) => vscode.page.keyboard.press(key);
const fit = async () => assert.deepEqual(await view.moved(() => press('0')), all);

/** Data under a point of the picture. */
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

test('the wheel zooms about the pointer: time alone, with Shift bytes alone, with Ctrl both', async () => {
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

  const from = [300, 400];
  const dragged = await view.moved(() => drag(toWindow(from), toWindow([from[0] - 120, from[1] + 60])));
  near(dataAt(dragged, [180, 460]).x, dataAt(camera, from).x, perPixel.x);
  near(dataAt(dragged, [180, 460]).y, dataAt(camera, from).y, perPixel.y);
  await fit();
});

test('a box, by Alt or by its tool, zooms to itself', async () => {
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
  const tool = view.locator('.toolbar').getByRole('button', { name: 'Zoom to a box' });
  await tool.click();
  await check(await view.moved(() => drag(toWindow(to), toWindow(from))));
  assert.equal(await tool.getAttribute('aria-pressed'), 'false', 'the tool is for one box');
  await fit();
});

test('the window of the strip is moved and resized', async () => {
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

test('a second click on a band zooms to its life, and a click on nothing clears the selection', async () => {
  await view.moved(() => press('p'));
  const allocation = await view.tallestAtTheMiddle();
  await fit();
  await view.click(allocation);
  await view.selected(allocation);
  const rect = await view.rectOf(allocation);
  const middle = [rect.x + rect.width / 2, rect.y + rect.height / 2];
  const camera = await view.moved(() => mouse.dblclick(...toWindow(middle)));
  const { allocation: told } = await vscode.memlens('stack', FILE, allocation);
  assert.ok(camera.x0 <= told.start_time_us);
  assert.ok(camera.x1 >= Math.min(told.end_time_us ?? Infinity, all.x1));
  assert.ok(camera.y1 - camera.y0 < all.y1 / 2);
  await view.selected(allocation);
  await fit();
  await mouse.click(...toWindow([20, 60]));
  await view.locator('.panel h2', { hasText: 'Device 0' }).waitFor();
});

test('a category of the legend lights up, and the table follows the last click', async () => {
  await view.locator('.toolbar').getByRole('button', { name: 'By category' }).click();
  const category = view.locator('.legend button', { hasText: 'optimizer state' });
  await category.waitFor();
  await view.still();
  const { categories } = await vscode.memlens('info', FILE);
  assert.equal(await view.locator('.legend button').count(), categories.length);

  // A band of activations, which is dimmed as long as another category is lit.
  const point = [Math.floor(surface.width * 0.8), Math.floor(surface.height * 0.8)];
  const full = await view.pixel(...point);
  await category.click();
  await view.locator('.legend button[aria-pressed=true]').waitFor();
  const background = await view.background();
  const dimmed = await view.pixel(...point);
  assert.ok(distance(dimmed, background) < distance(full, background) / 2, `${dimmed} is ${full}, dimmed`);
  await view.locator('.legend button[aria-pressed=true]').click();
  assert.deepEqual(await view.pixel(...point), full);

  await view.locator('.toolbar').getByRole('button', { name: 'Table of live allocations' }).click();
  await view.locator('table tbody tr').first().waitFor();
  await view.still();
  await mouse.click(surface.x + surface.width * 0.5, surface.y + 30);
  await view.locator('.table').getByRole('button', { name: 'At the last click' }).click();
  const caption = view.locator('table caption', { hasText: /^At \d/ });
  await caption.waitFor();
  const [count, live] = (await caption.innerText()).match(/(\d+) allocations?, ([\d.]+) MiB/).slice(1);
  assert.ok(Number(count) > 0 && Number(live) > 0 && Number(live) < 79.8);
  await view.locator('table tbody tr').first().click();
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(vscode.consoleErrors, []);
});
