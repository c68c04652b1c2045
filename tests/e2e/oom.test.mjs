// A run that ran out of memory: its pane opens automatically, names the line that holds the memory, and links to it;
// the picture of reserved memory shows the same figures.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { poorContrasts } from './contrast.mjs';
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

test('the summary opens the pane, which agrees with the command line', async () => {
  view = await SnapshotView.opened(vscode, FILE);
  assert.match(await view.text('.headline-text'), /^Out of memory/);
  await view.pane('Out of memory');
  await pane().locator('h2').waitFor();
  assert.deepEqual(
    answers.map(({ verdict }) => verdict),
    ['too_large', 'fragmented'],
  );
  for (const device of [1, 0]) {
    const answer = await chosen(device);
    assert.equal(await pane().locator('h2').innerText(), answer.headline);
    const shown = await pane().locator('.oom-findings li > span:first-child').allInnerTexts();
    assert.deepEqual(
      shown.filter((text) => text.endsWith('.')),
      [...answer.findings.filter((f) => !f.advice), ...answer.findings.filter((f) => f.advice)].map(
        (f) => f.text,
      ),
    );
  }
});

test('“Go to the event” switches to its device, places the cursor and shows that part of the run', async () => {
  const answer = await chosen(1);
  await vscode.runCommand('Memlens: Reset Zoom');
  await pane().getByRole('button', { name: 'Go to the event' }).click();
  await until(
    async () => /between|At .*17 ms|Cursor|At/.test(await view.text('.dock .scope')),
    'the cursor is there',
  );
  await view.still();
  const camera = await view.camera();
  assert.ok(camera.x0 < answer.time_us && answer.time_us < camera.x1);
  assert.match(await view.locator('.plot-surface').first().getAttribute('aria-label'), /Device 1/);
});

test('a pinning block selects its allocation, and the line that made it opens', async () => {
  const answer = await chosen(1);
  const [segment] = answer.pinned;
  const [block] = segment.blocks;
  await pane().locator(`.oom-block [data-allocation="${block.allocation}"]`).first().click();
  await view.selected(block.allocation);

  const pin = answer.findings.find(({ code }) => code === 'pinning-line');
  await pane()
    .locator('[data-code=pinning-line] button', { hasText: place(pin.frame) })
    .click();
  await vscode.atLine(path.posix.basename(pin.frame.file), pin.frame.line);
});

test('reserved memory is drawn, and its figures at a moment add up', async () => {
  await vscode.runCommand('View: Close Editor'); // the line had been opened beside it
  await vscode.tab(FILE).first().click();
  await view.still();
  await vscode.runCommand('Memlens: Show Reserved Memory over Time');
  const picture = view.locator('.reserved[data-state=ready]');
  await picture.waitFor();
  await view.settled();
  const surface = await picture.locator('.plot-surface').boundingBox();
  await view.page.mouse.click(surface.x + surface.width / 2, surface.y + surface.height / 2);
  await picture.locator('caption', { hasText: /^At / }).waitFor();
  await view.settled();
  const shown = () =>
    picture.locator('.reserved-facts tr').evaluateAll((rows) =>
      rows.map((row) => ({
        name: row.querySelector('th').firstChild.textContent,
        bytes: Number(row.querySelector('td').title.replace(/\D/g, '')),
        part: row.className === 'part',
      })),
    );
  const figures = await shown();
  const reserved = figures.find(({ name }) => name === 'Reserved').bytes;
  const parts = figures.filter(({ part }) => part).reduce((sum, { bytes }) => sum + bytes, 0);
  assert.ok(reserved > 0);
  assert.equal(parts, reserved);

  await view.page.mouse.move(surface.x + surface.width / 3, surface.y + surface.height / 2);
  await picture.locator('.tooltip', { hasText: 'reserved' }).waitFor();

  // The keys move the cursor here as well, and the figures follow.
  await picture.locator('.plot-surface').focus();
  const before = await picture.locator('caption').innerText();
  await view.press('.');
  await until(async () => (await picture.locator('caption').innerText()) !== before, 'the cursor has moved');

  // A filter adds what matches it.
  await view.filter('size>=1');
  await picture.locator('.reserved-facts th', { hasText: 'Matches the filter' }).waitFor();
  const all = Object.fromEntries((await shown()).map(({ name, bytes }) => [name, bytes]));
  assert.equal(all['Matches the filter'], all.Requested);
  assert.match(await picture.locator('.reserved-legend').innerText(), /Requested by what matches the filter/);
  await vscode.screenshot('reserved-filtered');
  await view.filter('');
  await picture
    .locator('.reserved-facts th', { hasText: 'Matches the filter' })
    .waitFor({ state: 'detached' });
});

test('the overview is as wide as the picture, and the figures fit into a narrow view', async () => {
  const picture = view.locator('.reserved[data-state=ready]');
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

test('in every theme all of it can be read', async () => {
  for (const theme of ['dark', 'light', 'hc', 'hc-light']) {
    await vscode.setTheme(theme);
    await vscode.runCommand('Memlens: Show Reserved Memory over Time');
    await view.locator('.reserved[data-state=ready]').waitFor();
    await chosen(1);
    await vscode.screenshot(`oom-${theme}`);
    const { looked, poor } = await view.frame.evaluate(poorContrasts, ['.oom', '.reserved']);
    assert.ok(looked > 50, `${looked} texts`);
    assert.deepEqual(poor, [], theme);
    await vscode.runCommand('Memlens: Show Timeline');
    await vscode.screenshot(`oom-marks-${theme}`);
  }
});

test('axe-core finds nothing wrong with any pane in any theme', async () => {
  await view.assertAccessible(await view.panes());
});
