// A view's state survives hiding its tab, reloading the window and the death of the server; two views of one
// snapshot are independent of each other; and a view releases its resources in the browser, however often it is
// opened and however long it is used.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { twoDevices } from './snapshots.mjs';
import { note, test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'devices.json';

let vscode;
let view;
/** The state that must be restored. */
let stood;
/** What the window holds while a view is open in it that was used for a long time. */
let used;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => writeFileSync(path.join(folder, FILE), twoDevices()),
  });
});
test.afterAll(() => vscode?.close());

const DEVICE = '.toolbar select[aria-label=Device]';

/** Everything that a person would notice if it were different. */
const standing = async (shown) => {
  await shown.settled();
  return {
    camera: await shown.camera(),
    device: await shown.locator(DEVICE).inputValue(),
    axis: await shown.axis(),
    number: (await shown.fact('Number')).text,
    title: await shown.text('.panel h2'),
  };
};

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
    await view.moved(() => view.press('+'));
  }
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  stood = await standing(view);
  assert.equal(stood.axis, 'Events');
  assert.notEqual(stood.device, String(first));
});

test('hiding the tab keeps the state', async () => {
  await vscode.openFile('model.py');
  await vscode.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
  await vscode.tab(FILE).last().click(); // the first one may be the text
  view = await SnapshotView.visible(vscode);
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(view), stood);
});

test('reloading the window keeps the state', async () => {
  await vscode.reload();
  view = await SnapshotView.visible(vscode);
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(view), stood);
});

test('the death of the server keeps the state: the view is restored automatically', async () => {
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

test('closing one of two views of a snapshot leaves the other answering', async () => {
  await vscode.execute('workbench.action.splitEditorRight');
  await until(
    async () => (await vscode.page.locator('iframe.webview.ready:visible').count()) === 2,
    'there are two views',
  );
  const left = await SnapshotView.visible(vscode, 0);
  const right = await SnapshotView.visible(vscode, 1);
  for (const shown of [left, right]) await shown.locator('.panel .frames').waitFor();
  assert.equal(await right.text('.panel h2'), await left.text('.panel h2'));

  const { width: half } = await left.surface();
  // the view on the left may have taken the focus when its page was loaded
  await vscode.execute('workbench.action.focusLastEditorGroup');
  await vscode.execute('workbench.action.closeActiveEditor');
  await until(
    async () => (await vscode.page.locator('iframe.webview.ready:visible').count()) === 1,
    'one of them is closed',
  );
  view = await SnapshotView.visible(vscode);
  await until(async () => (await view.surface()).width > half * 1.2, 'the other has its place');
  await view.press('Escape');
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  await view.locator('.panel .frame').first().waitFor({ state: 'attached' });
});

const closed = () =>
  until(async () => (await vscode.page.locator('iframe.webview').count()) === 0, 'no view is open');

const grown = (now, then) =>
  Object.fromEntries(Object.keys(now).map((what) => [what, now[what] - then[what]]));

test('a view that is used for a long time holds no more resources than at first', async () => {
  const ROUNDS = 4;
  const SETTLED = 2;
  await vscode.execute('workbench.action.closeAllEditors');
  await closed();
  view = await SnapshotView.opened(vscode, 'train.pickle');
  const terms = ['size>1MiB', 'file:model.py'];
  const seen = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const measured = round === SETTLED || round === ROUNDS;
    // At times faster than answers arrive.
    await visitPanes(measured ? undefined : 60);
    await filter(terms[round % terms.length]);
    for (const key of ['m', '+', 'ArrowRight', 'a', 'M', 'a']) await press(key);
    await filter('');
    await press('0');
    await view.still();
    const allocation = await view.tallestAtTheMiddle();
    await view.click(allocation);
    await view.selected(allocation);
    // The same state each time, so that the resources can be compared.
    await press('Escape');
    await view.locator('.scope .link', { hasText: 'At the peak' }).evaluate((button) => button.click());
    await view.still();
    if (measured) seen.push((used = await vscode.held()));
  }
  // Less than a node and a listener per round; requests in progress hold some as well.
  const kept = (more) => ['nodes', 'listeners'].filter((what) => more[what] >= ROUNDS - SETTLED);
  let more = grown(seen[1], seen[0]);
  for (let times = 0; times < 10 && kept(more).length > 0; times++) {
    await vscode.page.waitForTimeout(500);
    more = grown(await vscode.held(), seen[0]);
  }
  note(`a view holds ${JSON.stringify(seen[0])}; more after the rounds: ${JSON.stringify(more)}`);
  assert.equal(more.documents, 0);
  assert.deepEqual(kept(more), [], JSON.stringify(more));
  assert.ok(more.heapMb < 3, JSON.stringify(more));
});

test('closing a view releases all its resources in the browser, each time', async () => {
  await vscode.execute('workbench.action.closeActiveEditor');
  await closed();
  const empty = await vscode.held();
  view = await SnapshotView.opened(vscode, 'train.pickle');
  await visitPanes();
  await vscode.execute('workbench.action.closeActiveEditor');
  await closed();
  const one = grown(used, empty);
  const more = grown(await vscode.held(), empty);
  note(`one view holds ${JSON.stringify(one)}; left after the next: ${JSON.stringify(more)}`);
  // The measurement detects the resources of an open view.
  assert.ok(one.documents >= 2 && one.nodes > 500 && one.listeners > 100, JSON.stringify(one));
  assert.equal(more.documents, 0);
  // VS Code itself keeps a few nodes and about 0.1 MB for each opening.
  const left = JSON.stringify(more);
  assert.ok(more.nodes < one.nodes / 4, left);
  assert.ok(more.listeners < one.listeners / 4, left);
  assert.ok(more.heapMb < one.heapMb / 2, left);
});

const press = (key) =>
  view.frame.evaluate((pressed) => {
    const shiftKey = pressed !== pressed.toLowerCase() && pressed.length === 1;
    document.body.dispatchEvent(
      new window.KeyboardEvent('keydown', { key: pressed, shiftKey, bubbles: true }),
    );
  }, key);

/** Shows each picture and each pane, and ends at the first ones. Waits for each, or for that many milliseconds. */
async function visitPanes(waitMs) {
  if ((await view.locator('.dock:visible').count()) === 0) await view.more('Panel');
  const settled = async () => {
    if (waitMs === undefined) await view.still();
    else await vscode.page.waitForTimeout(waitMs);
  };
  const pictures = await view.locator('.toolbar select[aria-label=View] option').allInnerTexts();
  assert.ok(pictures.length >= 3, `${pictures}`);
  for (const picture of pictures.toReversed()) {
    await view.locator('.toolbar select[aria-label=View]').selectOption({ label: picture });
    await settled();
  }
  const panes = await view.panes();
  assert.ok(panes.length >= 3, `${panes}`);
  for (const title of panes.toReversed()) {
    await view.choosePane(title);
    await settled();
  }
  await view.still();
}

async function filter(text) {
  // Not typed: Chromium keeps text nodes of typed text for undoing.
  await view.locator('.filter-input').evaluate((input, value) => {
    input.value = value;
    input.dispatchEvent(new window.Event('input', { bubbles: true }));
  }, text);
  await view.locator('.filter-input').press('Enter');
  await view.drawn();
}

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
