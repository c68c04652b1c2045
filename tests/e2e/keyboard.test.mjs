// Everything without a pointer: by the view's keys, by the palette, and by the table that a screen reader reads.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { SnapshotView, exactBytes } from './view.mjs';

const FILE = 'train.pickle';

let vscode;
let view;
let device;
/** The size of the largest allocation of all, which is live at the peak. */
let largest;

before(async () => {
  vscode = await openVSCode();
  const [info, lines] = await Promise.all([vscode.memlens('info', FILE), vscode.memlens('lines', FILE)]);
  [device] = info.devices;
  largest = Math.max(...lines.map((line) => line.largest_bytes));
  view = await SnapshotView.opened(vscode, FILE);
});
after(() => vscode?.close());

const stack = (allocation) => vscode.memlens('stack', FILE, allocation);
const press = (key) => vscode.page.keyboard.press(key);

/** Presses a key and waits for where the camera goes. */
const move = (key) => view.moved(() => press(key));

const about = (value, wanted, share = 1e-6) =>
  assert.ok(Math.abs(value - wanted) <= Math.abs(wanted) * share + 1e-6, `${value} is about ${wanted}`);

const livesAtThePeak = ({ start_moment: start, end_moment: end }) =>
  start <= device.peak_moment && (end === null || end > device.peak_moment);

test('keys zoom, move, fit and go to the peak', async () => {
  const all = await view.camera();
  const width = all.x1 - all.x0;
  const zoomed = await move('+');
  about(zoomed.x1 - zoomed.x0, width / 1.5);
  about(zoomed.x0 + zoomed.x1, all.x0 + all.x1);
  const right = await move('ArrowRight');
  about(right.x0 - zoomed.x0, 0.15 * (zoomed.x1 - zoomed.x0));
  const taller = await move('Shift+ArrowUp');
  assert.ok(taller.y1 - taller.y0 < all.y1 * 0.7);
  assert.ok((await move('ArrowUp')).y0 > 0);
  assert.deepEqual(await move('0'), all);

  const peak = await move('p');
  about((peak.x0 + peak.x1) / 2, device.peak_time_us - device.time_origin_us);
  about(peak.x1 - peak.x0, width / 10);
});

test('keys select, go from one allocation to the next, and open its line', async () => {
  await press('Alt+ArrowUp');
  await view.locator('.panel .frames').waitFor();
  const number = async () => Number((await view.fact('Number')).text.replaceAll(',', ''));
  const first = await stack(await number());
  assert.equal(first.allocation.size_bytes, largest);
  assert.ok(livesAtThePeak(first.allocation));

  const step = async (key) => {
    const was = (await view.fact('Number')).text;
    await press(key);
    await view.locator(`xpath=//aside//dt[.="Number"]/following-sibling::dd[1][.!="${was}"]`).waitFor();
    return await stack(await number());
  };
  const next = await step(']');
  assert.equal(next.allocation.stack, first.allocation.stack);
  assert.ok(next.allocation.start_moment > first.allocation.start_moment);
  assert.equal((await step('[')).allocation.allocation, first.allocation.allocation);
  const older = await step('Alt+ArrowDown');
  assert.ok(older.allocation.allocation < first.allocation.allocation);
  assert.ok(livesAtThePeak(older.allocation));
  assert.equal((await step('Alt+ArrowUp')).allocation.allocation, first.allocation.allocation);

  const life = await move('z');
  assert.ok(life.x0 <= first.allocation.start_time_us);
  assert.ok(life.x1 >= (first.allocation.end_time_us ?? life.x1));

  const { label } = first.allocation;
  await press('Enter');
  await vscode.atLine(path.posix.basename(label.file), label.line);
  await vscode.runCommand('View: Focus First Editor Group');
  await press('Escape');
  await view.locator('.panel h2', { hasText: 'Device 0' }).waitFor();
});

test('the table has the largest allocation at the peak first, and is walked by keys', async () => {
  await press('t');
  const rows = view.locator('table tbody tr');
  await rows.first().waitFor();
  assert.ok((await view.locator('table th[scope=col]').count()) >= 5);
  assert.match(await view.text('table caption'), /^At the peak .*: \d+ allocations, .* live/);
  const [first, second] = await rows.evaluateAll((all) =>
    all.map((row) => ({
      allocation: Number(row.dataset.allocation),
      size: row.cells[0].title,
    })),
  );
  const { allocation } = await stack(first.allocation);
  assert.equal(allocation.size_bytes, largest);
  assert.equal(first.size, exactBytes(largest));
  assert.ok(livesAtThePeak(allocation));

  const focused = () => view.frame.evaluate(() => document.activeElement.tagName);
  for (let presses = 0; (await focused()) !== 'TR'; presses++) {
    assert.ok(presses < 40, 'Tab reaches the rows');
    await press('Tab');
  }
  await press('Enter');
  await view.selected(first.allocation);
  await press('ArrowDown');
  await press('Enter');
  await view.selected(second.allocation);
  assert.equal(
    await view.locator('tr[aria-current=true]').getAttribute('data-allocation'),
    `${second.allocation}`,
  );

  await press('t');
  await view.locator('table').waitFor({ state: 'hidden' });
  const { label } = (await stack(second.allocation)).allocation;
  await press('Enter');
  await vscode.atLine(path.posix.basename(label.file), label.line);
  await vscode.runCommand('View: Focus First Editor Group');
});

test('? lists the keys', async () => {
  await press('?');
  await view.locator('dialog[open]').waitFor();
  assert.match(await view.text('dialog[open]'), /Go to the peak/);
  await press('Escape');
  await view.locator('dialog[open]').waitFor({ state: 'hidden' });
});

test('the palette does the same', async () => {
  const command = (title) => view.moved(() => vscode.runCommand(`Memlens: ${title}`));
  const all = await command('Fit the Whole Run');
  const closer = await command('Zoom In');
  about(closer.x1 - closer.x0, (all.x1 - all.x0) / 1.5);
  const back = await command('Zoom Out');
  about(back.x1 - back.x0, all.x1 - all.x0);
  assert.ok((await command('Go to the Peak')).x0 > all.x0);

  await command('Fit the Whole Run');
  const events = await command('Switch between Time and Events');
  assert.deepEqual([events.x0, events.x1], [device.event_axis.x0, device.event_axis.x1]);
  await command('Switch between Time and Events');
  await vscode.runCommand('Memlens: Switch Colours between Stack and Category');
  await view.locator('.legend').waitFor();
  await vscode.runCommand('Memlens: Switch Colours between Stack and Category');
  await view.locator('.legend').waitFor({ state: 'hidden' });
  await vscode.runCommand('Memlens: Switch between Picture and Table');
  await view.locator('table').waitFor();
  await vscode.runCommand('Memlens: Switch between Picture and Table');
  await view.locator('table').waitFor({ state: 'hidden' });
  assert.ok((await command('Zoom to Selection')).y0 > 0);
  await vscode.runCommand('Memlens: Clear Selection');
  await view.locator('.panel h2', { hasText: 'Device 0' }).waitFor();
  assert.deepEqual(vscode.consoleErrors, []);
});
