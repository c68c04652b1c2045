// The extension's main use: open a snapshot, click an allocation, get to the line that made it, hover that line and
// read its totals, and return from there to the picture. All figures are those of the command line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { poorContrasts } from './contrast.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { settledIn } from './settled.mjs';
import { Store, hasFleet } from './store.mjs';
import { SnapshotView, distance, exactBytes, violationsIn } from './view.mjs';

const FILE = 'train.pickle';
/** More than are read before the test cancels the reading. */
const RANKS = 800;

let vscode;
let view;
/** The tallest allocation at the peak, as `memlens stack` prints it. */
let chosen;

before(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      const job = path.join(folder, 'job');
      mkdirSync(job);
      copyFileSync(path.join(folder, FILE), path.join(job, 'rank7.pickle'));
      const summaries = path.join(ROOT, 'tests/e2e/fleet.py');
      execFileSync(venvProgram('python'), [summaries, job]);
      execFileSync(venvProgram('python'), [summaries, path.join(folder, 'stored'), 's3://snapshots/job']);
      const ranks = path.join(folder, 'ranks');
      mkdirSync(ranks);
      for (const [name, from, count] of [
        ['rank', FILE, 10],
        ['words', 'words.pb.gz', RANKS - 10],
      ]) {
        const whole = readFileSync(path.join(folder, from));
        for (let rank = 0; rank < count; rank++)
          // Both formats allow zeros at the end, which make it another file.
          writeFileSync(path.join(ranks, `${name}${rank}`), Buffer.concat([whole, Buffer.alloc(rank)]));
      }
    },
  });
});
after(() => vscode?.close());

const stack = (allocation) => vscode.memlens('stack', FILE, allocation);

test('the picture has bands for allocations, and nothing above them', async () => {
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

test('a click on a band shows its stack, and the stack’s other allocations', async () => {
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

test('a click on a frame opens its file at its line, beside the picture', async () => {
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
  const lit = await pixelOf(band);
  await vscode.page.locator('.monaco-hover:visible a', { hasText: 'Show these allocations' }).first().click();
  await view.locator('.panel h2', { hasText: `Line ${label.line}` }).waitFor();
  await view.locator('.panel .facts').waitFor();
  await view.settled();
  const [row] = rows;
  assert.equal((await view.fact('Total allocated')).title, exactBytes(row.total_bytes));
  assert.equal((await view.fact('Live at the peak')).title, exactBytes(row.live_at_peak_bytes));
  assert.equal((await view.fact('Allocations')).text, row.count.toLocaleString('en-US'));
  await view.still();
  assert.deepEqual(await pixelOf(band), lit, 'a band of the line is highlighted');
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

test('a folder of ranks is shown as a heat map, from which the rank that differs is opened', async () => {
  // the map has the whole width
  await vscode.runCommand('View: Close All Editors');
  await vscode.runCommand('Memlens: Open Folder as Fleet');
  await vscode.choosePath(/^\//, path.join(vscode.folder, 'job') + path.sep);
  await vscode.tab('memlens-fleet.db').waitFor();
  const fleet = await vscode.webview();
  const map = fleet.locator('.fleet-scroll[data-drawn]');
  await map.waitFor();
  await settledIn(fleet);
  assert.match(
    await fleet.locator('.fleet-summary').innerText(),
    /^401 snapshots · median peak .* · 1 outlier · 1 out of memory · 1 not read$/,
  );
  const status = fleet.locator('.fleet [role=status]');
  await map.press('ArrowDown'); // sorted by peak: the outlier
  const words =
    /rank7\.pickle, peak 1\d(\.\d)? GiB, .* above the median: an outlier, .*1 out-of-memory event/;
  await status.filter({ hasText: words }).waitFor();
  await map.press('ArrowLeft');
  await status.filter({ hasText: /at most .* live at \d/ }).waitFor();
  // only what is in view is drawn
  await map.press('End');
  await status.filter({ hasText: 'rank400.pickle, damaged: It breaks off at byte 17.' }).waitFor();
  // it scrolls there, and is drawn in the next frame
  await settledIn(fleet);
  const [from, to] = (await map.getAttribute('data-drawn')).split('-').map(Number);
  assert.ok(to === 401 && from > 300, `rows ${from} to ${to}`);
  await map.press('Home');
  await settledIn(fleet);
  const firstRow = async (down) => {
    const box = await map.boundingBox();
    return [box.x + box.width / 2, box.y + down];
  };
  await vscode.page.mouse.move(...(await firstRow(10)));
  const tip = fleet.locator('.tooltip');
  await tip.filter({ hasText: /rank7\.pickle\s*at most .* GiB live at .*ms/ }).waitFor();
  await vscode.screenshot('fleet');
  await fleet.getByLabel('Align by').selectOption('step');
  await fleet.locator('.fleet-axis', { hasText: 'step 4' }).waitFor();
  await fleet.getByLabel('Rows').selectOption('all');
  await settledIn(fleet);
  const [head, controls] = await Promise.all(
    ['.fleet-head', '.fleet-controls'].map((part) => fleet.locator(part).boundingBox()),
  );
  assert.ok(head.width < 1100 && head.height < 75, `two lines at most: ${head.width} × ${head.height}`);
  assert.ok(controls.height < 30, 'the controls have one line');
  for (const theme of ['light', 'hc', 'hc-light', 'dark']) {
    await vscode.setTheme(theme);
    await vscode.screenshot(`fleet-${theme}`);
    const { looked, poor } = await fleet.evaluate(poorContrasts, ['.fleet']);
    assert.ok(looked > 8, `${looked} texts`);
    assert.deepEqual([poor, await violationsIn(fleet)], [[], []], theme);
  }
  await vscode.resize(820, 700);
  await vscode.screenshot('fleet-narrow');
  await vscode.resize(1400, 900);
  await vscode.page.mouse.click(...(await firstRow(1)));
  await vscode.tab('rank7.pickle').waitFor();
  await SnapshotView.visible(vscode);
});

const fleetTest = { skip: !hasFleet && 'no .cache/fleet' };

test(
  'a folder is read while its map grows, until it is cancelled; its lines are in hovers',
  fleetTest,
  async () => {
    const { page } = vscode;
    await vscode.runCommand('Memlens: Open Folder as Fleet');
    await vscode.choosePath(/^\//, path.join(vscode.folder, 'ranks') + path.sep);
    await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Read All' }).click();
    await vscode.runCommand('Notifications: Show Notifications');
    const notice = page.locator('.notification-list-item', { hasText: 'Reading the snapshots of ranks' });
    await notice.filter({ hasText: new RegExp(`\\d+ of ${RANKS}: \\w+\\d+`) }).waitFor();
    await vscode.tab('memlens-fleet.db').last().waitFor();
    const fleet = await vscode.webview();
    const summary = fleet.locator('.fleet-summary');
    const count = async () => Number.parseInt(await summary.innerText(), 10);
    await summary.filter({ hasText: /^\d+ snapshots? ·/ }).waitFor();
    const first = await count();
    assert.ok(first < RANKS, `the map shows ${first} at first`);
    await fleet.waitForFunction(
      (from) => parseInt(document.querySelector('.fleet-summary').innerText, 10) > from,
      first,
    );
    await vscode.screenshot('fleet-growing');
    await notice.getByRole('button', { name: 'Cancel' }).click();
    const fleets = () => vscode.host.processes('-m memlens fleet');
    while (fleets().length > 0) await page.waitForTimeout(100);
    // Finished summaries are kept, and the map shows those.
    const asked = async (...args) =>
      JSON.parse(await vscode.host.commandLine.run(['fleet', ...args, '--json'], vscode.folder));
    const { length: snapshots } = (await asked('peaks', 'ranks.fleet')).rows;
    assert.ok(snapshots > first && snapshots < RANKS, `${snapshots} were read`);
    await summary.filter({ hasText: new RegExp(`^${snapshots} snapshots ·`) }).waitFor();

    const [{ line, most_bytes: most }] = await asked('lines', 'ranks.fleet', '--search', 'model.py');
    const source = readFileSync(path.join(vscode.folder, 'model.py'), 'utf8').split('\n')[line - 1].trim();
    await vscode.runCommand('Notifications: Clear All Notifications');
    await vscode.openFile('model.py');
    await page.keyboard.press('Control+G');
    await page.keyboard.type(`${line}`);
    await page.keyboard.press('Enter');
    const text = await vscode.hoverText(source, { expecting: /the most over/ });
    assert.match(text, new RegExp(`ranks\\.fleet · the most over ${snapshots} ranks`));
    assert.match(
      text,
      new RegExp(`Live at peak: .*\\b${exactBytes(most).replaceAll(',', '\\,')}\\) in rank`),
    );
    await vscode.screenshot('fleet-hover');
  },
);

test('a rank of a store is fetched, which can be cancelled, and opened', fleetTest, async () => {
  const { page } = vscode;
  const store = await Store.start(vscode.host.stores);
  try {
    await store.put('job/rank7.pickle', readFileSync(path.join(vscode.folder, FILE)));
    await vscode.runCommand('View: Close All Editors');
    await vscode.openFile('stored.fleet/memlens-fleet.db');
    const fleet = await vscode.webview();
    const map = fleet.locator('.fleet-scroll[data-drawn]');
    await map.press('ArrowDown');
    const fetching = async () => {
      await map.press('Enter');
      await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Fetch' }).click();
    };
    const resume = store.pause();
    await fetching();
    await vscode.runCommand('Notifications: Show Notifications');
    const notice = page.locator('.notification-list-item', { hasText: 'Fetching rank7.pickle' });
    await vscode.screenshot('fleet-fetching');
    await notice.getByRole('button', { name: 'Cancel' }).click();
    await notice.waitFor({ state: 'detached' });
    resume();
    // Cancelling isn't an error, and nothing was opened.
    const mentioned = page.locator('.notification-list-item', { hasText: /rank7|cancel/i });
    assert.equal(await mentioned.count(), 0);
    assert.equal(await vscode.tab('rank7.pickle').count(), 0);
    await fetching();
    await vscode.tab('rank7.pickle').waitFor();
    await SnapshotView.visible(vscode);
  } finally {
    await store.close();
  }
});
