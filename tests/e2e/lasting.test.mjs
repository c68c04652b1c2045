// Where a view stands outlives its tab being hidden, the window being loaded again and the server dying; and two views
// of one snapshot don't depend on each other.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { twoDevices } from './snapshots.mjs';
import { SnapshotView, until } from './view.mjs';

const FILE = 'devices.json';

let vscode;
let view;
/** What must come back. */
let stood;

before(async () => {
  vscode = await openVSCode({
    prepare: (folder) => writeFileSync(path.join(folder, FILE), twoDevices()),
  });
});
after(() => vscode?.close());

const DEVICE = '.toolbar select[aria-label=Device]';

/** Everything that a person would notice if it were different. */
const standing = async (shown) => ({
  camera: await shown.camera(),
  device: await shown.locator(DEVICE).inputValue(),
  axis: await shown.text('[aria-label^="Horizontal axis"] button[aria-pressed=true]'),
  number: (await shown.fact('Number')).text,
  title: await shown.text('.panel h2'),
});

test('a file of another name is opened by the command; its device, axis, zoom and selection are set', async () => {
  await vscode.openFile(FILE);
  await vscode.page.locator('.editor-instance .view-line').first().waitFor(); // as text
  await vscode.runCommand('Memlens: Open as Memory Snapshot');
  view = await SnapshotView.visible(vscode);

  const { devices, default_device: first } = await vscode.memlens('info', FILE);
  assert.equal(devices.length, 2);
  assert.equal(await view.locator(DEVICE).inputValue(), String(first));
  await view.moved(() => vscode.runCommand('Memlens: Next Device'));
  await view.moved(() => vscode.runCommand('Memlens: Switch between Time and Events'));
  for (let times = 0; times < 3; times++) {
    await view.moved(() => vscode.page.keyboard.press('+'));
  }
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  stood = await standing(view);
  assert.equal(stood.axis, 'Events');
  assert.notEqual(stood.device, String(first));
  await vscode.page.waitForTimeout(500); // it is kept a moment after the last change
});

test('hiding the tab keeps it', async () => {
  await vscode.openFile('model.py');
  await vscode.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
  await vscode.tab(FILE).last().click(); // the first one may be the text
  view = await SnapshotView.visible(vscode);
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(view), stood);
});

test('loading the window again keeps it', async () => {
  await vscode.reload();
  view = await SnapshotView.visible(vscode);
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(view), stood);
});

test('the server dying keeps it: the view comes back by itself', async () => {
  const [server, ...more] = vscode.processes('-m memlens lsp');
  assert.deepEqual(more, []);
  await view.frame.evaluate(() => {
    window.memlensTest.ofTheOldServer = true;
  });
  process.kill(server, 'SIGKILL');
  await view.frame.waitForFunction(() => window.memlensTest.ofTheOldServer === undefined);
  await view.drawn();
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(view), stood);
  const now = vscode.processes('-m memlens lsp');
  assert.equal(now.length, 1);
  assert.notEqual(now[0], server);
});

test('of two views of one snapshot, closing one leaves the other answering', async () => {
  await vscode.runCommand('View: Split Editor Right');
  await until(
    async () => (await vscode.page.locator('iframe.webview.ready:visible').count()) === 2,
    'there are two views',
  );
  const left = await SnapshotView.visible(vscode, 0);
  const right = await SnapshotView.visible(vscode, 1);
  for (const shown of [left, right]) await shown.locator('.panel .frames').waitFor();
  assert.equal(await right.text('.panel h2'), await left.text('.panel h2'));

  await vscode.runCommand('View: Close Editor');
  await until(
    async () => (await vscode.page.locator('iframe.webview.ready:visible').count()) === 1,
    'one of them is closed',
  );
  view = await SnapshotView.visible(vscode);
  await vscode.page.keyboard.press('Escape');
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  assert.ok((await view.locator('.panel .frame').count()) > 0);
});

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
