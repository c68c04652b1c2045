// The timeline by group: areas have the figures of `memlens sql` and their own colours, whatever is hovered.
import assert from 'node:assert/strict';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, distance, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({ viewport: { width: 1440, height: 900 } });
  view = await SnapshotView.opened(vscode, FILE);
});
test.afterAll(() => vscode?.close());

const chips = () =>
  view.locator('.area-legend button').evaluateAll((buttons) =>
    buttons.map((button) => ({
      name: button.querySelector('bdi').textContent,
      bytes: button.querySelector('.area-legend-bytes').textContent,
      colour: getComputedStyle(button.querySelector('.swatch'))
        .backgroundColor.match(/\d+/g)
        .slice(0, 3)
        .map(Number),
      pressed: button.getAttribute('aria-pressed'),
    })),
  );

const atThePeak = async (columns) =>
  await vscode.memlens(
    'sql',
    FILE,
    `SELECT ${columns}, sum(size_bytes) AS bytes FROM live_at() GROUP BY ${columns} ORDER BY bytes DESC`,
  );

/** Formats an amount as the legend does: three digits, and whole numbers without decimals. */
const words = (bytes) => {
  const [size, unit] = [
    [1 << 30, 'GiB'],
    [1 << 20, 'MiB'],
    [1 << 10, 'KiB'],
    [1, 'B'],
  ].find(([each]) => bytes >= each);
  const value = bytes / size;
  const places = Number.isInteger(value) || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return `${value.toFixed(places)} ${unit}`;
};

const baseName = (file) => file.split('/').at(-1);

/** The colours of the picture down a column of pixels, without the background. */
async function coloursAt(x, step = 4) {
  const { height } = await view.surface();
  const background = await view.background();
  const found = new Map();
  const points = Array.from({ length: Math.ceil((height - 2) / step) }, (_, i) => [x, 2 + i * step]);
  for (const colour of await view.pixels(points)) {
    if (distance(colour, background) > 8) found.set(String(colour), (found.get(String(colour)) ?? 0) + step);
  }
  return found;
}

test('the legend has the sums of the lines at the peak, largest first', async () => {
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  assert.equal(await view.text('.area-legend-when'), 'At the peak');
  const rows = await atThePeak('file, line');
  const shown = await chips();
  for (const [i, { file, line, bytes }] of rows.slice(0, 6).entries()) {
    assert.equal(shown[i].name, `${baseName(file)}:${line}`);
    assert.equal(shown[i].bytes, words(bytes));
  }
});

test('each area is as high as its sum, and has only its colour of the legend', async () => {
  await view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  const { width, height } = await view.surface();
  // the peak is in the middle of the view
  // for every pixel, since bands are only a few pixels high and have lines between them
  const heights = await coloursAt(Math.floor(width / 2), 1);
  const rows = await atThePeak('file, line');
  const total = rows.reduce((sum, { bytes }) => sum + bytes, 0);
  const camera = await view.camera();
  const perPixel = (camera.y1 - camera.y0) / height;
  const shown = await chips();
  let covered = 0;
  for (const { name, colour } of shown.slice(0, 5)) {
    const { bytes } = rows.find(({ file, line }) => `${baseName(file)}:${line}` === name);
    const high = heights.get(String(colour)) ?? 0;
    // lines between bands have a different colour
    assert.ok(
      Math.abs(high - bytes / perPixel) < 16 + high * 0.2,
      `${name}: ${high} for ${bytes / perPixel}`,
    );
    covered += high;
  }
  assert.ok(covered * perPixel > 0.4 * total);
  await vscode.screenshot('areas');
  await view.moved(() => vscode.runCommand('Memlens: Reset Zoom'));
});

test('hovering an item of the legend dims everything else', async () => {
  const { width } = await view.surface();
  const x = Math.floor(width * 0.6);
  const before = await coloursAt(x);
  const [first, ...others] = await chips();
  assert.ok(before.has(String(first.colour)));
  assert.ok(others.some(({ colour }) => before.has(String(colour))));
  await view.locator('.area-legend button').first().hover();
  await view.settled();
  const dimmed = await coloursAt(x);
  assert.equal(dimmed.get(String(first.colour)), before.get(String(first.colour)));
  for (const { colour } of others) assert.equal(dimmed.has(String(colour)), false);
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  assert.deepEqual(await coloursAt(x), before);
});

test('a selected area stays bright; Escape deselects it', async () => {
  const button = view.locator('.area-legend button').first();
  await button.click();
  await until(async () => (await chips())[0].pressed === 'true', 'the area is selected');
  await view.press('Escape');
  await until(async () => (await chips())[0].pressed === 'false', 'the area is deselected');
});

test('a selected allocation is visible at its true height, however small its stack is', async () => {
  const toPeak = () => view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  // the peak is in the middle of the view, which the details make narrower
  const middle = async () => Math.floor((await view.surface()).width / 2);
  await vscode.page.mouse.move(5, 5); // away from the legend, which highlights an area while it is hovered
  await view.settled();
  const camera = await toPeak();
  const before = await coloursAt(await middle(), 1);
  // of the stack with the least at the peak, which is thinner than a pixel
  const [{ allocation, bytes }] = await vscode.memlens(
    'sql',
    FILE,
    'SELECT min(allocation) AS allocation, sum(size_bytes) AS bytes FROM live_at() GROUP BY stack ORDER BY 2 LIMIT 1',
  );
  assert.ok(bytes < (camera.y1 - camera.y0) / 2000);
  await view.frame.evaluate((number) => {
    window.postMessage({ type: 'showAllocation', allocation: number }, '*');
  }, allocation);
  await view.selected(allocation);
  await view.still();
  await view.locator('.plot-surface').first().focus();
  await view.moved(() => view.press('0'));
  await toPeak();
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  const bright = async () =>
    [...(await coloursAt(await middle(), 1))].filter(([colour]) => before.has(colour));
  await until(async () => (await bright()).length > 0, 'a part of it is bright');
  const pixels = (await bright()).reduce((sum, [, count]) => sum + count, 0);
  assert.ok(pixels <= 6, `${pixels} pixels are`);
  await view.press('Escape');
  await view.moved(() => view.press('0'));
});

test('by file there is an area for each file; in the order of PyTorch’s viewer there are none', async () => {
  await vscode.runCommand('Memlens: Group the Timeline by File');
  await view.still();
  const rows = await atThePeak('file');
  const shown = await chips();
  assert.deepEqual(
    shown.slice(0, rows.length).map(({ name, bytes }) => [name, bytes]),
    rows.map(({ file, bytes }) => [baseName(file), words(bytes)]),
  );
  await view.locator('.toolbar').getByRole('button', { name: 'More' }).click();
  const checked = view.locator('.menu [role=menuitemradio][aria-checked=true] .menu-text');
  await checked.first().waitFor();
  assert.ok((await checked.allInnerTexts()).includes('Group by file'));
  await view.press('Escape');
  // also when zoomed, which needs two pictures: that of the zoom, and that of the whole run
  await view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  await vscode.runCommand('Memlens: Group the Timeline by Function');
  await view.still();
  const functions = await atThePeak('file, function');
  assert.deepEqual(
    (await chips()).slice(0, 3).map(({ bytes }) => bytes),
    functions.slice(0, 3).map(({ bytes }) => words(bytes)),
  );
  await view.moved(() => vscode.runCommand('Memlens: Reset Zoom'));
  await vscode.runCommand('Memlens: Order the Timeline as PyTorch’s Viewer Does');
  await view.still();
  await view.locator('.area-legend').waitFor({ state: 'hidden' });
  await vscode.runCommand('Memlens: Group the Timeline by Line');
  await view.still();
  await view.locator('.area-legend').waitFor();
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.consoleErrors, []);
});
