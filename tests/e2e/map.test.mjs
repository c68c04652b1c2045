// The memory map and the allocator's state: what is at which address, and how to get from there to the line.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { segmented } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, distance, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'segments.pickle';
const MAP = '#memlens-map .plot-surface';
/** Numbers of allocations: the first of the large segment, the rounded one, the private pool's. */
const [FIRST, ROUNDED, OWN, LAST] = [0, 1, 2, 15];

let vscode;
let view;

const hook = (name, ...args) =>
  view.frame.evaluate(([method, given]) => window.memlensMap[method](...given), [name, args]);

/** Waits until the map's picture has these allocations and its camera doesn't move any more. */
async function mapped(...allocations) {
  await until(async () => {
    await view.settled();
    return await view.frame.evaluate((wanted) => {
      const bands = window.memlensMap?.bands() ?? [];
      return wanted.every((one) => bands.includes(one) && window.memlensMap.rectOf(one));
    }, allocations);
  }, 'the map has them');
}

async function pointOf(allocation) {
  await view.settled();
  const rect = await hook('rectOf', allocation);
  assert.ok(rect, `allocation ${allocation} is in the map`);
  const surface = await view.locator(MAP).boundingBox();
  return [surface.x + rect.x + rect.width / 2, surface.y + Math.floor(rect.y + rect.height / 2)];
}

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      writeFileSync(path.join(folder, FILE), segmented());
    },
  });
  view = await SnapshotView.opened(vscode, FILE);
});
test.afterAll(() => vscode?.close());

test('addresses over time: blocks at their addresses, private pools separate, reserved memory visible', async () => {
  await vscode.runCommand('Memlens: Show Memory Map over Time');
  await mapped(FIRST, ROUNDED, OWN, LAST);
  const rects = Object.fromEntries(
    await Promise.all([FIRST, ROUNDED, OWN, LAST].map(async (one) => [one, await hook('rectOf', one)])),
  );
  assert.ok(rects[ROUNDED].y + rects[ROUNDED].height <= rects[FIRST].y + 1, 'higher addresses are above');
  assert.ok(rects[LAST].y < rects[ROUNDED].y);
  assert.ok(rects[OWN].y < rects[LAST].y, 'the private pool is above the default one');
  assert.ok(Math.abs(rects[OWN].height / rects[FIRST].height - 5) < 0.2, 'heights are bytes');
  assert.ok(rects[LAST].x > rects[OWN].x, 'it came later');
  // between the two is a reserved hole, and to its left nothing was reserved yet
  const hole = Math.floor((rects[ROUNDED].y + rects[LAST].y + rects[LAST].height) / 2);
  assert.equal(await hook('bandAt', rects[LAST].x + 4, hole), null);
  const background = await view.background();
  const reserved = (await hook('pixel', rects[LAST].x + 4, hole)).slice(0, 3);
  assert.ok(distance(reserved, background) > 6, `${reserved} on ${background}`);
  const before = (await hook('pixel', 1, hole)).slice(0, 3);
  assert.deepEqual(before, background);
});

test('a click selects, a hover shows details, a double click zooms to the lifetime, Ctrl+click opens the line', async () => {
  await vscode.page.mouse.click(...(await pointOf(OWN)));
  await view.selected(OWN);
  await view.locator('#memlens-map .tooltip', { hasText: 'Private pool (0, 1) on stream 7' }).waitFor();
  await vscode.page.mouse.click(...(await pointOf(ROUNDED)));
  await view.selected(ROUNDED);
  const wide = await hook('rectOf', ROUNDED);
  await vscode.page.mouse.dblclick(...(await pointOf(ROUNDED)));
  await until(async () => (await hook('rectOf', ROUNDED))?.height > 2 * wide.height, 'it is zoomed to');
  await mapped(ROUNDED);
  await view.locator(MAP).press('0');
  await mapped(FIRST, OWN, LAST);
  await vscode.page.keyboard.down('Control');
  await vscode.page.mouse.click(...(await pointOf(LAST)));
  await vscode.page.keyboard.up('Control');
  await vscode.atLine('model.py', 26);
  await vscode.closeEditor('model.py');
  await view.drawn();
});

test('Alt with an arrow moves by address, not by age', async () => {
  await mapped(FIRST, ROUNDED, OWN, LAST);
  await vscode.page.mouse.click(...(await pointOf(LAST)));
  await view.selected(LAST);
  const order = [LAST];
  for (const wanted of [ROUNDED, FIRST]) {
    const addresses = [BigInt((await view.fact('Address')).text)];
    await view.locator(MAP).press('Alt+ArrowDown');
    await view.selected(wanted);
    addresses.push(BigInt((await view.fact('Address')).text));
    assert.ok(addresses[1] < addresses[0], 'at a lower address');
    order.push(wanted);
  }
  await view.locator('.panel').getByRole('button', { name: 'At a higher address' }).click();
  await view.selected(order[1]);
});

test('the allocator’s state at the cursor: bars, figures, stepping by event, selecting a block', async () => {
  await vscode.runCommand('Memlens: Show Segments');
  const pane = view.locator('.state');
  await pane.locator('tr.segment').first().waitFor();
  await mapped(LAST);
  await vscode.page.mouse.click(...(await pointOf(LAST)));
  await view.selected(LAST);
  await pane.locator('tr.segment').nth(1).waitFor();
  await pane.locator('.state-figures', { hasText: '60 MiB reserved in 2 segments' }).waitFor();
  const moment = Number(await pane.getAttribute('data-moment'));
  await view.locator(MAP).press(',');
  await view.locator(`.state[data-moment="${moment - 1}"]`).waitFor();
  await view.locator(MAP).press('.');
  await view.locator(`.state[data-moment="${moment}"]`).waitFor();
  await view.settled();
  const first = pane.locator('tr.segment').first();
  assert.match(await first.innerText(), /40 MiB[\s\S]*private pool \(0, 1\)/);
  const bar = await pane.locator('canvas').first().boundingBox();
  await vscode.page.mouse.click(bar.x + bar.width / 3, bar.y + bar.height / 2);
  await view.selected(OWN);
  await pane.locator('.state-block', { hasText: '30 MiB, allocated' }).waitFor();
  await pane.locator('tr.segment').nth(1).focus();
  await view.press('ArrowRight');
  await view.selected(FIRST);
  await view.locator('.panel .frames button').first().click();
  await vscode.atLine('model.py', 21);
  await vscode.closeEditor('model.py');
  await view.drawn();
});

test('it can be read in every theme', async () => {
  await mapped(FIRST, OWN, LAST);
  await vscode.page.mouse.move(5, 5);
  await vscode.screenshot('map');
  await view.assertLegible(['.toolbar', '.state', '.panel'], 20);
});

test('a file without segments is drawn by address', async () => {
  view = await SnapshotView.opened(vscode, 'train.pickle');
  await vscode.runCommand('Memlens: Show Memory Map over Time');
  await view
    .locator('#memlens-map .map-words', { hasText: 'names no segments' })
    .waitFor({ state: 'attached' });
  await until(async () => (await hook('bands').catch(() => [])).length > 10, 'it is drawn');
  await vscode.runCommand('Memlens: Show Segments');
  await view.locator('.state-figures', { hasText: 'The file names no segments' }).waitFor();
  await vscode.screenshot('map-sample');
  assert.deepEqual(vscode.consoleErrors, []);
});
