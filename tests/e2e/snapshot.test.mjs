// The extension's main use: open a snapshot, click an allocation, get to the line that made it, hover that line and
// read its totals, and return from there to the picture. All figures are those of the command line.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, distance, exactBytes } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';
/** What `npm test -- --quick` runs. */
const SMOKE = { tag: '@smoke' };

let vscode;
let view;
/** The tallest allocation at the peak, as `memlens stack` prints it. */
let chosen;

test.beforeAll(async () => {
  vscode = await openVSCode({ theme: 'dark' });
});
test.afterAll(() => vscode?.close());

const stack = (allocation) => vscode.memlens('stack', FILE, allocation);

test('the picture has bands for allocations, and nothing above them', SMOKE, async () => {
  const [{ devices }, lines] = await Promise.all([vscode.memlens('info', FILE), vscode.lines(FILE)]);
  const [device] = devices;
  view = await SnapshotView.opened(vscode, FILE);
  assert.match(
    await view.text('.status-text'),
    new RegExp(`${device.allocations.toLocaleString('en-US')} allocations`),
  );

  await view.moved(() => vscode.runCommand('Memlens: Go to the Peak'));
  const allocation = await view.tallestAtTheMiddle();
  chosen = await stack(allocation);
  const { size_bytes: size, start_moment: start, end_moment: end } = chosen.allocation;
  assert.equal(size, Math.max(...lines.map((line) => line.largest_bytes)));
  assert.ok(
    start <= device.peak_moment && (end === null || end > device.peak_moment),
    'it is live at the peak',
  );

  await view.moved(() => vscode.runCommand('Memlens: Reset Zoom'));
  const camera = await view.camera();
  const surface = await view.surface();
  const perUs = surface.width / (camera.x1 - camera.x0);
  const perByte = surface.height / (camera.y1 - camera.y0);
  const rect = await view.rectOf(allocation);
  assert.ok(Math.abs(rect.height - size * perByte) <= 1, `${rect.height} pixels are ${size} bytes`);
  const endsAt = chosen.allocation.end_time_us ?? camera.x1;
  assert.ok(rect.x >= (chosen.allocation.start_time_us - camera.x0) * perUs - 2, 'not before its start');
  assert.ok(rect.x + rect.width <= (endsAt - camera.x0) * perUs + 2, 'not after its end');

  const background = await view.background();
  // Away from its name, which is at its left.
  const inside = [Math.floor(rect.x + rect.width - 6), Math.floor(rect.y + rect.height / 2)];
  const band = await view.pixel(...inside);
  assert.ok(distance(band, background) > 60, `${band} is a band's colour`);
  assert.ok(distance(await view.screenPixel(...inside), band) <= 2, 'and it is on the screen');
  assert.equal((await view.bandAt(...inside)).allocation, allocation);

  const peakX = (device.peak_time_us - camera.x0) * perUs;
  const aboveThePeak = [
    Math.floor(peakX + 10),
    Math.floor(surface.height - device.peak_bytes * 1.04 * perByte),
  ];
  // The peak's label covers the picture there; the run begins a few pixels in, at a grid line, with little memory.
  const besideTheLabel = [aboveThePeak[0] - 90, aboveThePeak[1]];
  const early = [8, Math.floor(surface.height / 2)];
  for (const nothing of [aboveThePeak, besideTheLabel, early]) {
    assert.equal(await view.bandAt(...nothing), null);
    assert.deepEqual(await view.pixel(...nothing), background);
  }
  for (const nothing of [besideTheLabel, early])
    assert.ok(distance(await view.screenPixel(...nothing), background) <= 2);
});

test('a click on a band shows its stack, and the stack’s other allocations', SMOKE, async () => {
  const { allocation, frames, same_stack: same } = chosen;
  const rect = await view.rectOf(allocation.allocation);
  const before = await view.pixel(rect.x + rect.width - 6, rect.y + rect.height / 2);
  await view.click(allocation.allocation);
  await view.selected(allocation.allocation);
  // the details make the picture narrower
  await view.settled();

  assert.match((await view.fact('Requested')).text, new RegExp(exactBytes(allocation.size_bytes)));
  const sum = view.locator('.panel .same-stack');
  assert.equal(await sum.getAttribute('title'), exactBytes(same.total_bytes));
  assert.match(await sum.innerText(), new RegExp(`${same.count.toLocaleString('en-US')} allocation`));
  const shown = await view.locator('.panel .frame.user').allInnerTexts();
  const user = frames.filter((frame) => frame.kind === 'user');
  assert.deepEqual(
    shown.map((text) => text.split(/\s+/).filter(Boolean)),
    user.map((frame) => [frame.function, `${path.posix.basename(frame.file)}:${frame.line}`]),
  );

  // It keeps its colour, which the panel shows too; bands of other stacks are dimmed.
  assert.deepEqual(await view.swatch(), before);
  const after = await view.rectOf(allocation.allocation);
  assert.deepEqual(await view.pixel(after.x + after.width - 6, after.y + after.height / 2), before);
});

test('a click on a frame opens its file at its line, beside the picture', SMOKE, async () => {
  const frame =
    chosen.frames.findLast((each) => each.kind === 'user' && each.file !== chosen.allocation.label.file) ??
    chosen.frames.findLast((each) => each.kind === 'user');
  const name = path.posix.basename(frame.file);
  await view
    .locator('.panel .frame.user button', { hasText: `${name}:${frame.line}` })
    .first()
    .click();
  await vscode.atLine(name, frame.line);
  assert.equal(await vscode.activeFile(), name);
  await view.still(); // narrower now
  assert.ok(await view.locator('canvas').first().isVisible());
});

test('Ctrl+click on a band opens its line of code; its hover has the same figures', async () => {
  // With source beside it and the details below it, the picture takes the table's space, so that bands are larger.
  await view.locator('.dock').getByRole('button', { name: 'Close Panel' }).click();
  await view.still();
  const other = await bandOfAnotherFile();
  const { label } = other.allocation;
  await view.click(other.allocation.allocation, { modifier: 'Control' });
  const name = path.posix.basename(label.file);
  await vscode.atLine(name, label.line);

  const source = readFileSync(path.join(vscode.folder, name), 'utf8').split('\n')[label.line - 1].trim();
  const word = source.match(/\w+/g).reduce((a, b) => (b.length > a.length ? b : a));
  const rows = (await vscode.lines(FILE)).filter((row) => row.file === label.file && row.line === label.line);
  assert.ok(rows.length > 0);
  const text = await vscode.hoverText(word, { line: source, expecting: /what this line allocated/ });
  for (const row of rows) {
    const figures = [
      ['Total allocated', row.total_bytes],
      ['Live at peak', row.live_at_peak_bytes],
      ['Largest', row.largest_bytes],
      ['By the line itself \\(my code\\)', row.self_total_bytes],
    ];
    for (const [what, bytes] of figures) {
      const exact = exactBytes(bytes).replaceAll(',', '\\,');
      assert.match(text, new RegExp(`${what}: .*\\b${exact}`), `${what} of ${label.file}:${label.line}`);
    }
    assert.match(text, new RegExp(`in ${row.count.toLocaleString('en-US')} allocation`));
  }

  // From the hover back to the picture.
  const band = other.allocation.allocation;
  const highlighted = await pixelOf(band);
  await vscode.page.locator('.monaco-hover:visible a', { hasText: 'Show these allocations' }).first().click();
  await view.locator('.panel h2', { hasText: `Line ${label.line}` }).waitFor();
  await view.locator('.panel .facts').waitFor();
  await view.settled();
  const [row] = rows;
  assert.equal((await view.fact('Total allocated')).title, exactBytes(row.total_bytes));
  assert.equal((await view.fact('Live at the peak')).title, exactBytes(row.live_at_peak_bytes));
  assert.equal((await view.fact('Allocations')).text, row.count.toLocaleString('en-US'));
  await view.still();
  assert.deepEqual(await pixelOf(band), highlighted, 'a band of the line is highlighted');
  const faded = await pixelOf(chosen.allocation.allocation);
  const full = await view.background();
  assert.ok(distance(faded, full) < 80, `a band of another line, ${faded}, is dimmed`);
});

test('there were no network requests and no console errors, and no other script can run', async () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
  const policy = ['connect-src', 'img-src', 'script-src-attr', 'script-src-elem'];
  const refused = await view.frame.evaluate(async (expected) => {
    const violations = [];
    document.addEventListener('securitypolicyviolation', (event) => {
      violations.push(event.effectiveDirective);
    });
    const script = document.createElement('script');
    script.textContent = 'window.injected = "by a script"';
    const image = document.createElement('img');
    image.setAttribute('onerror', 'window.injected = "by an attribute"');
    image.src = 'data:image/gif;base64,R0lGODlhAQABAAAAACw=';
    document.body.append(script, image);
    const fetched = await window.fetch('https://example.com/').then(
      () => true,
      () => false,
    );
    const pause = () => new Promise((resolve) => setTimeout(resolve, 100));
    for (let times = 0; times < 300 && !expected.every((each) => violations.includes(each)); times++)
      await pause();
    await pause(); // for what should not run
    script.remove();
    image.remove();
    return { violations: violations.sort(), injected: window.injected ?? null, fetched };
  }, policy);
  assert.equal(refused.injected, null);
  assert.equal(refused.fetched, false);
  for (const directive of policy)
    assert.ok(refused.violations.includes(directive), `${directive} is in ${refused.violations}`);
  assert.deepEqual(vscode.foreignRequests, []);
});

/** The colour of a band near its right end. */
async function pixelOf(allocation) {
  const rect = await view.rectOf(allocation);
  return await view.pixel(rect.x + Math.max(rect.width - 6, rect.width / 2), rect.y + rect.height / 2);
}

/** A band that is large enough to be clicked and whose line is in another file than the first band's. */
async function bandOfAnotherFile() {
  const large = await view.frame.evaluate(() => {
    const found = [];
    for (const allocation of window.memlensTest.bands()) {
      const rect = window.memlensTest.rectOf(allocation);
      if (rect && rect.height >= 7 && rect.width >= 9)
        found.push({ allocation, area: rect.width * rect.height });
    }
    return found.sort((a, b) => b.area - a.area).map((each) => each.allocation);
  });
  for (const allocation of large) {
    const answer = await stack(allocation);
    const { label } = answer.allocation;
    if (label?.kind === 'user' && label.file !== chosen.allocation.label.file) return answer;
  }
  throw new Error('Every large band is of the same file.');
}
