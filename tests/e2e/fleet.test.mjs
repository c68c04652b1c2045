// A folder of many snapshots: its heat map, reading it, and snapshots of a store.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { poorContrasts } from './contrast.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { settledIn } from './settled.mjs';
import { Store, hasFleet } from './store.mjs';
import { test } from './test.mjs';
import { SnapshotView, exactBytes, until, violationsIn } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';
/** More than are read before the test cancels the reading. */
const RANKS = 800;

let vscode;

test.beforeAll(async () => {
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
        ['rank', FILE, 2],
        ['words', 'words.pb.gz', RANKS - 2],
      ]) {
        const whole = readFileSync(path.join(folder, from));
        for (let rank = 0; rank < count; rank++)
          // Both formats allow zeros at the end, which make it another file.
          writeFileSync(path.join(ranks, `${name}${rank}`), Buffer.concat([whole, Buffer.alloc(rank)]));
      }
    },
  });
});
test.afterAll(() => vscode?.close());

test('a folder of ranks is shown as a heat map, from which the rank that differs is opened', async () => {
  // the map has the whole width
  await vscode.execute('workbench.action.closeAllEditors');
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
  await vscode.inThemes(fleet, async (theme) => {
    await vscode.screenshot(`fleet-${theme}`);
    const { looked, poor } = await fleet.evaluate(poorContrasts, ['.fleet']);
    assert.ok(looked > 8, `${looked} texts`);
    assert.deepEqual(poor, [], theme);
  });
  // between themes only contrast differs
  assert.deepEqual(await violationsIn(fleet), []);
  await vscode.resize(820, 700);
  await vscode.screenshot('fleet-narrow');
  await vscode.resize(1400, 900);
  await vscode.page.mouse.click(...(await firstRow(1)));
  await vscode.tab('rank7.pickle').waitFor();
  await SnapshotView.visible(vscode);
});

const ifFleetIsInstalled = () => test.skip(!hasFleet, 'no .cache/fleet');

test('a folder is read while its map grows, until it is cancelled; its lines are in hovers', async () => {
  ifFleetIsInstalled();
  const { page } = vscode;
  await vscode.runCommand('Memlens: Open Folder as Fleet');
  await vscode.choosePath(/^\//, path.join(vscode.folder, 'ranks') + path.sep);
  await page.locator('.monaco-dialog-box').getByRole('button', { name: 'Read All' }).click();
  const reading = await vscode.notification('Reading the snapshots of ranks');
  await reading.filter({ hasText: new RegExp(`\\d+ of ${RANKS}: \\w+\\d+`) }).waitFor();
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
  await reading.getByRole('button', { name: 'Cancel' }).click();
  const fleets = () => vscode.host.processes('-m memlens fleet');
  await until(() => fleets().length === 0, 'nothing is read any more');
  // Finished summaries are kept, and the map shows those.
  const asked = async (...args) =>
    JSON.parse(await vscode.host.commandLine.run(['fleet', ...args, '--json'], vscode.folder));
  const { length: snapshots } = (await asked('peaks', 'ranks.fleet')).rows;
  assert.ok(snapshots > first && snapshots < RANKS, `${snapshots} were read`);
  await summary.filter({ hasText: new RegExp(`^${snapshots} snapshots ·`) }).waitFor();

  const [{ line, most_bytes: most }] = await asked('lines', 'ranks.fleet', '--search', 'model.py');
  const source = readFileSync(path.join(vscode.folder, 'model.py'), 'utf8').split('\n')[line - 1].trim();
  await vscode.execute('notifications.clearAll');
  await vscode.openFile('model.py');
  await page.keyboard.press('Control+G');
  await page.keyboard.type(`${line}`);
  await page.keyboard.press('Enter');
  const text = await vscode.hoverText(source, { expecting: /the most over/ });
  assert.match(text, new RegExp(`ranks\\.fleet · the most over ${snapshots} ranks`));
  assert.match(text, new RegExp(`Live at peak: .*\\b${exactBytes(most).replaceAll(',', '\\,')}\\) in rank`));
  await vscode.screenshot('fleet-hover');
});

test('a rank of a store is fetched, which can be cancelled, and opened', async () => {
  ifFleetIsInstalled();
  const { page } = vscode;
  const store = await Store.start(vscode.host.stores);
  try {
    await store.put('job/rank7.pickle', readFileSync(path.join(vscode.folder, FILE)));
    await vscode.execute('workbench.action.closeAllEditors');
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
    const notification = await vscode.notification('Fetching rank7.pickle');
    await vscode.screenshot('fleet-fetching');
    await notification.getByRole('button', { name: 'Cancel' }).click();
    await notification.waitFor({ state: 'detached' });
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
