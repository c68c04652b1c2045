// What is drawn: areas as high as their sums in the colours of their legend, each kind of VS Code's themes, and each
// renderer. The screenshots are for people to look at.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { recordedLate } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, distance, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';
const LATE = 'late.pickle';

let vscode;
let view;
let allocation;
/** The colours that the renderers drew at the same points, which must be equal. */
const drawn = [];

/** Compares points all over the picture on the screen and in the renderer, and checks what a selection changes. */
async function checkPixels() {
  // nothing is hovered
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  const background = await view.background();
  const surface = await view.surface();
  const points = [];
  for (const across of [0.02, 0.21, 0.37, 0.5, 0.68, 0.83, 0.96]) {
    for (const down of [0.05, 0.45, 0.63, 0.79, 0.9, 0.985])
      points.push([Math.floor(surface.width * across), Math.floor(surface.height * down)]);
  }
  const colours = await view.pixels(points);
  const bandsAt = await view.bandsAt(points);
  let bands = 0;
  for (const [i, point] of points.entries()) {
    const colour = colours[i];
    const at = bandsAt[i];
    if (at === null) assert.deepEqual(colour, background, `nothing is at ${point}`);
    else if (at.allocation !== null) {
      bands++;
      assert.ok(distance(colour, background) > 20, `${colour} at ${point} is a band`);
    }
  }
  assert.ok(bands > 8, `${bands} of the points are bands`);
  assert.ok(new Set(colours.map(String)).size > 6, 'the bands have several colours');

  await view.moved(() => view.command('peak'));
  const allocation = await view.tallestAtTheMiddle();
  const place = async () => {
    const rect = await view.rectOf(allocation);
    return [Math.floor(rect.x + rect.width - 6), Math.floor(rect.y + rect.height / 2) - 3];
  };
  const band = await view.pixel(...(await place()));
  assert.ok(distance(await view.screenPixel(...(await place())), band) <= 2, 'the canvas is on the screen');
  await view.click(allocation);
  await view.selected(allocation);
  // the details take some of the picture's width
  await view.settled();
  assert.deepEqual(await view.swatch(), band);
  assert.deepEqual(await view.pixel(...(await place())), band);
  drawn.push({ points, colours, band });
}

const chips = () =>
  view.locator('.area-legend button').evaluateAll((buttons) =>
    buttons.map((button) => ({
      name: button.querySelector('bdi').textContent,
      bytes: button.querySelector('.area-legend-bytes').textContent,
      colour: getComputedStyle(button.querySelector('.swatch'))
        .backgroundColor.match(/\d+/g)
        .slice(0, 3)
        .map(Number),
    })),
  );

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

test.describe('with everything', () => {
  test.beforeAll(async () => {
    vscode = await openVSCode({
      theme: 'dark',
      viewport: { width: 1440, height: 900 },
      prepare: (folder) => writeFileSync(path.join(folder, LATE), recordedLate()),
    });
    view = await SnapshotView.opened(vscode, FILE);
    await view.moved(() => view.command('peak'));
    allocation = await view.tallestAtTheMiddle();
    await view.moved(() => view.command('fit'));
  });
  test.afterAll(() => vscode?.close());

  test('each area is as high as its sum, and has only its colour of the legend', async () => {
    await view.moved(() => view.command('peak'));
    const { width, height } = await view.surface();
    // the peak is in the middle of the view
    // for every pixel, since bands are only a few pixels high and have lines between them
    const heights = await coloursAt(Math.floor(width / 2), 1);
    const rows = await vscode.memlens(
      'sql',
      FILE,
      'SELECT file, line, sum(size_bytes) AS bytes FROM live_at() GROUP BY file, line',
    );
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
    await view.moved(() => view.command('fit'));
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

  test('a selected allocation is visible at its true height, however small its stack is', async () => {
    const toPeak = () => view.moved(() => view.command('peak'));
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

  for (const theme of ['light', 'hc', 'hc-light', 'dark'])
    test(`${theme}: the picture is drawn`, async () => {
      await vscode.setTheme(theme);
      const background = await view.background();
      const middle = async () => {
        const rect = await view.rectOf(allocation);
        return [Math.floor(rect.x + rect.width - 6), Math.floor(rect.y + rect.height / 2)];
      };
      const { y } = await view.rectOf(allocation);
      // Next to the grid line at the beginning of the run.
      const nothing = [8, Math.floor(y / 4)];
      assert.deepEqual(await view.pixel(...nothing), background);
      assert.ok(distance(await view.screenPixel(...nothing), background) <= 2);
      const band = await view.pixel(...(await middle()));
      assert.ok(distance(band, background) > 60, `${band} on ${background}`);
      await vscode.page.mouse.move(5, 5); // its cross hairs disappear
      await view.settled();
      assert.ok(distance(await view.screenPixel(...(await middle())), band) <= 2);

      await view.click(allocation);
      await view.selected(allocation);
      await view.still();
      assert.deepEqual(await view.swatch(), band);
      await vscode.screenshot(`selection-${theme}`);
      await view.command('clearSelection');
      await view.still();
    });

  test('every text can be read in every theme', async () => {
    await view.click(allocation);
    await view.selected(allocation);
    await view.still();
    // With the pointer on it again, so that its hover can be read as well: the details had moved it.
    await view.pointAt(allocation);
    await view.locator('.tooltip .name-line').waitFor();
    await view.assertLegible(['.headline', '.toolbar', '.panel', '.status', '.tooltip'], 40);
    await view.command('clearSelection');
    await view.command('toggleColour');
    await view.locator('.grid-row').first().waitFor();
    await view.still();
    await vscode.screenshot('categories');
    await view.assertLegible(['.headline', '.toolbar', '.status', '.dock'], 40);
    await view.command('toggleColour');
    await view.still();
  });

  test('Canvas2D: the picture agrees with the figures', async () => {
    assert.equal(await view.locator('#memlens').getAttribute('data-renderer'), 'canvas2d');
    await checkPixels();
    await view.press('Escape');
    await view.cleared();
    await view.moved(() => view.command('fit'));
  });

  test('WebGL2 draws the same', async () => {
    // WebGL2 is rendered in software here, so it isn't the default. A test can choose the renderer for when it next
    // shows the snapshot, which requires a new server.
    await view.frame.evaluate(() => {
      document.getElementById('memlens').dataset.prefer = 'webgl2';
      window.memlensTest.ofTheOldServer = true;
    });
    await vscode.runCommand('Memlens: Restart Server');
    await view.frame.waitForFunction(() => window.memlensTest.ofTheOldServer === undefined);
    view = await SnapshotView.visible(vscode);
    assert.equal(await view.locator('#memlens').getAttribute('data-renderer'), 'webgl2');
    await checkPixels();
    assert.deepEqual(drawn[1], drawn[0]);
  });

  test('inferred frames are marked, and frames that called nothing are separate from callers', async () => {
    view = await SnapshotView.opened(vscode, LATE);
    const [early, backward, generated] = [0, 7, 8];
    const titles = () => view.locator('.panel h3').allInnerTexts();
    const frames = (title) =>
      view
        .locator(`xpath=//aside//h3[normalize-space()="${title}"]/following-sibling::ol[1]`)
        .locator('.place')
        .allInnerTexts();
    const show = async (allocation) => {
      await view.click(allocation);
      await view.selected(allocation);
      await view.still();
    };
    const readable = () => view.assertLegible(['.headline', '.toolbar', '.panel', '.status'], 40);

    await show(early);
    assert.match(await view.text('.panel-name'), /Allocated before recording/i);
    const { inferred_module: module } = await vscode.memlens('stack', LATE, early);
    assert.equal(module, 'forward (net.py:20)');
    assert.equal((await view.fact('Module')).text, `${module} (inferred)`);
    assert.match((await view.fact('Category')).text, /^parameter \(inferred\)$/i);
    assert.ok(!(await titles()).includes('Allocated by'));
    await vscode.screenshot('before-recording');
    await readable();

    await show(backward);
    assert.deepEqual(await frames('Forward stack'), [
      'model.py:12 (forward line)',
      'train.py:20 (forward line)',
    ]);
    assert.deepEqual(await frames('Allocated by'), []);
    await vscode.screenshot('forward-stack');
    await readable();

    await show(generated);
    assert.deepEqual(await frames('Allocated by'), ['fx_generated.py:7', 'train.py:90']);
    assert.deepEqual(await frames('FX trace'), ['net.py:30 (FX trace)']);
    await vscode.screenshot('fx-trace');
    await readable();

    await view.pane('Flame graph');
    await view.frame.waitForFunction(() =>
      window.memlensFlame?.boxes().some(({ name }) => name === 'forward (forward)'),
    );
    await vscode.screenshot('flame-forward');
  });

  test('the console has no errors', () => {
    assert.deepEqual(vscode.foreignRequests, []);
    assert.deepEqual(vscode.consoleErrors, []);
  });
});
