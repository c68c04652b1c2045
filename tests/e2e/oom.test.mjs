// A run that ran out of memory: its pane leads to the line that pins the memory; the picture of reserved memory fits
// into the view, and all of it can be read. Figures: tests/views/oom.test.ts.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { outOfMemory } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'full.pickle'; // a snapshot's kind is recognised by its content

let vscode;
let view;
let answers;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      writeFileSync(path.join(folder, FILE), outOfMemory());
    },
  });
  answers = await vscode.memlens('oom', FILE);
});
test.afterAll(() => vscode?.close());

const pane = () => view.locator('.oom');
const place = (frame) => `${path.posix.basename(frame.file)}:${frame.line}`;

async function chosen(device) {
  await pane()
    .getByRole('button', { name: `Device ${device},` })
    .click();
  await pane()
    .locator('h2', { hasText: answers.find((answer) => answer.device === device).headline.slice(0, 30) })
    .waitFor();
  await view.settled();
  return answers.find((answer) => answer.device === device);
}

test('its pane opens, and the line that pins the memory', async () => {
  view = await SnapshotView.opened(vscode, FILE);
  await view.pane('Out of memory');
  const { findings } = await chosen(1);
  const { frame } = findings.find(({ code }) => code === 'pinning-line');
  await pane()
    .locator('[data-code=pinning-line] button', { hasText: place(frame) })
    .click();
  await vscode.atLine(path.posix.basename(frame.file), frame.line);
  await vscode.closeEditor(path.posix.basename(frame.file));
  await view.still();
});

test('the overview is as wide as the picture, and the figures fit into a narrow view', async () => {
  await view.command('picture.reserved');
  const picture = view.locator('.reserved[data-state=ready]');
  await picture.waitFor();
  const surface = await picture.locator('.plot-surface').boundingBox();
  await vscode.page.mouse.click(surface.x + surface.width / 2, surface.y + surface.height / 2);
  await picture.locator('caption', { hasText: /^At / }).waitFor();
  const sides = async (locator) => {
    const { x, width } = await locator.boundingBox();
    return [x, x + width].map(Math.round);
  };
  const aligned = async () => {
    const [strip, surface] = [
      await sides(view.locator('.minimap-strip')),
      await sides(picture.locator('.plot-surface')),
    ];
    return strip.every((side, i) => Math.abs(side - surface[i]) <= 1);
  };
  await view.settled();
  assert.ok(await aligned());
  const { width, height } = vscode.page.viewportSize();
  await vscode.resize(900, height);
  await until(async () => {
    const [left, right] = await sides(picture);
    return right - left < 690;
  }, 'the view is narrow');
  await until(aligned, 'they are as wide as each other again');
  await view.settled();
  assert.ok(await picture.locator('.reserved-facts tr').first().isVisible());
  const [plot, facts] = [
    await picture.locator('.plot-surface').boundingBox(),
    await picture.locator('.reserved-facts').boundingBox(),
  ];
  assert.ok(facts.y >= plot.y + plot.height, 'they stand below the picture');
  assert.ok(plot.height > 40, `the picture keeps ${plot.height} px`);
  // what does not fit scrolls within the picture, rather than lie over the tabs below
  const room = await picture.boundingBox();
  assert.ok(facts.y < room.y + room.height - 15, 'the beginning of the figures is visible');
  assert.equal(await picture.evaluate((each) => getComputedStyle(each).overflowY), 'auto');
  await vscode.screenshot('reserved-narrow');
  await vscode.resize(width, height);
});

test('the overview of the whole run marks the event as well', async () => {
  const [mark, height] = await view.locator('.minimap canvas').evaluate((canvas) => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, 1).data;
    // the top edge of the mark's head: nothing else in the first row is opaque
    const opaque = Array.from({ length: canvas.width }, (_, x) => x).filter((x) => pixels[4 * x + 3] > 250);
    return [opaque, canvas.height];
  });
  assert.ok(height > 0);
  assert.ok(mark.length >= 4, `${mark.length} pixels of a mark`);
});

test('in every theme all of it can be read, and axe-core finds nothing wrong', async () => {
  await chosen(1);
  await view.assertAccessible(['Out of memory']);
  await vscode.screenshot('oom');
  await view.command('picture.stacked');
  await vscode.screenshot('oom-marks');
});
