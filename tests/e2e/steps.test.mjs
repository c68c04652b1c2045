// Annotations and steps: a click on an annotation or a step places the cursors around it, and a click on a line that
// grows from step to step opens that line.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { annotated } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      writeFileSync(path.join(folder, 'annotated.pickle'), annotated());
    },
  });
});
test.afterAll(() => vscode?.close());

test('the leak of the sample is the first line that grows, and a click opens it', async () => {
  const reported = await vscode.memlens('steps', FILE);
  const [leak] = reported.growth.rows;
  view = await SnapshotView.opened(vscode, FILE);
  await view.locator('.lanes').waitFor({ state: 'hidden' });
  await vscode.runCommand('Memlens: Show Leaks');
  await view.locator('.steps-how', { hasText: 'detected from the repeating pattern' }).waitFor();
  const steps = view.locator('.steps-table tbody tr');
  await until(async () => (await steps.count()) === reported.steps.count, 'all steps are listed');
  const first = view.locator('.growth-table tbody tr').first();
  await first.waitFor();
  await view.settled();
  assert.match(await first.innerText(), /more after every step/);
  assert.match(await first.innerText(), new RegExp(`train\\.py:${leak.frame.line}`));
  // figures are below their headers, the rows fill the pane, and the rest can be scrolled to
  const figures = first.locator('td.number');
  const edges = (cells) => cells.evaluateAll((all) => all.map((cell) => getComputedStyle(cell).textAlign));
  assert.deepEqual(new Set(await edges(figures)), new Set(['end']));
  const parted = await first.locator('td').evaluateAll(([place, figure]) => {
    const inside = (cell, part) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect()[part];
    };
    return inside(figure, 'left') - inside(place, 'right');
  });
  assert.ok(parted >= 12, `a figure stands ${parted} pixels after the place before it`);
  await vscode.screenshot('steps');

  await steps.nth(2).click();
  await view.locator('.steps-table tbody tr[aria-current]').waitFor();
  await view.settled();
  assert.equal(await steps.nth(2).getAttribute('aria-current'), 'true');
  const ground = (row) => row.evaluate((one) => getComputedStyle(one).backgroundColor);
  assert.notEqual(await ground(steps.nth(2)), await ground(steps.nth(4)), 'the selected step is visible');

  await first.click();
  await vscode.atLine('train.py', leak.frame.line);
  const source = readFileSync(path.join(vscode.folder, 'train.py'), 'utf8').split('\n');
  assert.match(source[leak.frame.line - 1], /self\.predictions\.append/);
});

test('a click on an annotation places the cursors around it and shows it; noise is hidden by default', async () => {
  await vscode.openFile('annotated.pickle');
  // the sample's view is still open beside it
  view = await SnapshotView.visible(vscode, 1);
  const items = view.locator('.lanes .lane-item');
  await until(async () => (await items.count()) === 6, 'three steps and what is in them');
  assert.match(await view.text('.lanes-noise'), /1 hidden/);
  for (const theme of ['light', 'hc', 'dark']) {
    await vscode.setTheme(theme);
    await view.drawn();
    await vscode.screenshot(`lanes-${theme}`);
  }
  const whole = await view.camera();
  const camera = await view.moved(() => items.filter({ hasText: 'ProfilerStep#2' }).click());
  assert.ok(camera.x1 - camera.x0 < (whole.x1 - whole.x0) / 2, 'the view shows the step');
  await view.locator('.lanes-noise').click();
  await until(async () => (await items.count()) >= 2, 'the noise is shown, too');
  await view.settled();
  await items.first().focus();
  const before = await items.first().getAttribute('aria-label');
  await view.press('ArrowRight');
  const focused = view.locator('.lanes .lane-item:focus');
  await focused.waitFor();
  assert.notEqual(await focused.getAttribute('aria-label'), before);
});
