// The same picture from each renderer: WebGL2, and Canvas2D where there is none. The first is drawn by software here, so
// it has to be asked for.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { SnapshotView, distance } from './view.mjs';

/** What both drew at the same points; the second one must have what the first one had. */
const drawn = [];

/** Looks at points all over the picture, on the screen and by the renderer, and at what a selection changes. */
async function checkPixels(vscode, view) {
  const background = await view.background();
  const surface = await view.surface();
  const points = [];
  for (const across of [0.02, 0.21, 0.37, 0.5, 0.68, 0.83, 0.96]) {
    for (const down of [0.05, 0.45, 0.63, 0.79, 0.9, 0.985])
      points.push([Math.floor(surface.width * across), Math.floor(surface.height * down)]);
  }
  const colours = [];
  let bands = 0;
  for (const point of points) {
    const [colour, at] = await Promise.all([view.pixel(...point), view.bandAt(...point)]);
    colours.push(colour);
    if (at === null) assert.deepEqual(colour, background, `nothing is at ${point}`);
    else if (at.allocation !== null) {
      bands++;
      assert.ok(distance(colour, background) > 20, `${colour} at ${point} is a band`);
    }
  }
  assert.ok(bands > 8, `${bands} of the points are bands`);
  assert.ok(new Set(colours.map(String)).size > 6, 'they have several colours');

  await view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  const allocation = await view.tallestAtTheMiddle();
  const place = async () => {
    const rect = await view.rectOf(allocation);
    return [Math.floor(rect.x + rect.width - 6), Math.floor(rect.y + rect.height / 2) - 3];
  };
  const band = await view.pixel(...(await place()));
  assert.ok(distance(await view.screenPixel(...(await place())), band) <= 2, 'the canvas is on the screen');
  await view.click(allocation);
  await view.selected(allocation);
  assert.deepEqual(await view.swatch(), band);
  assert.deepEqual(await view.pixel(...(await place())), band);
  drawn.push({ points, colours, band });
}

describe('with WebGL2', () => {
  let vscode;
  after(() => vscode?.close());

  test('the picture is that of the figures', async () => {
    vscode = await openVSCode();
    let view = await SnapshotView.opened(vscode, 'train.pickle');
    // The page is told which renderer to take the next time it shows the snapshot, and that is when the server is new.
    await view.frame.evaluate(() => {
      document.getElementById('memlens').dataset.prefer = 'webgl2';
      window.memlensTest.ofTheOldServer = true;
    });
    await vscode.runCommand('Memlens: Restart Server');
    await view.frame.waitForFunction(() => window.memlensTest.ofTheOldServer === undefined);
    view = await SnapshotView.visible(vscode);
    assert.equal(await view.locator('#memlens').getAttribute('data-renderer'), 'webgl2');
    await checkPixels(vscode, view);
    assert.deepEqual(vscode.consoleErrors, []);
  });
});

describe('without WebGL2', () => {
  let vscode;
  after(() => vscode?.close());

  test('Canvas2D draws the same', async () => {
    vscode = await openVSCode({ flags: ['--disable-software-rasterizer'] });
    const view = await SnapshotView.opened(vscode, 'train.pickle');
    const hasWebGl = await view.frame.evaluate(
      () => document.createElement('canvas').getContext('webgl2') !== null,
    );
    assert.equal(hasWebGl, false);
    assert.equal(await view.locator('#memlens').getAttribute('data-renderer'), 'canvas2d');
    await checkPixels(vscode, view);
    assert.deepEqual(drawn[1], drawn[0]);
    assert.deepEqual(vscode.consoleErrors, []);
  });
});
