// The server dies: requests sent while it starts are answered late, and after five deaths in three minutes it isn't
// restarted any more; one message with a button is shown.
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const SERVER = '-m memlens lsp';

let vscode;
let view;
let stood;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => copyFileSync(path.join(folder, 'train.pickle'), path.join(folder, 'other.pickle')),
  });
  view = await SnapshotView.opened(vscode, 'train.pickle');
});
test.afterAll(() => vscode?.close());

const servers = () => vscode.processes(SERVER);
const readers = () => vscode.processes('memlens ingest');

/** Kills the server and returns the process id of the next one. */
const kill = async () => {
  const [server] = await until(() => servers().length === 1 && servers(), 'there is one server');
  process.kill(server, 'SIGKILL');
  return await until(() => servers().find((pid) => pid !== server), 'another one is started');
};

const made = () =>
  readdirSync(vscode.cache).map((name) => [name, statSync(path.join(vscode.cache, name, 'string_utf8')).ino]);

const standing = async () => {
  await view.settled();
  return {
    camera: await view.camera(),
    number: (await view.fact('Number')).text,
    axis: await view.axis(),
  };
};

test('requests sent while the server starts are answered late, and nothing is read again', async () => {
  await view.moved(() => view.press('+'));
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  stood = await standing();
  await view.settled(); // so that it is stored
  const archives = made();

  const server = await kill();
  process.kill(server, 'SIGSTOP');
  // Stopped before it could answer: a view is restored, and a file is opened.
  await vscode.tab('train.pickle').click();
  await vscode.openFile('other.pickle');
  const page = await vscode.webview();
  await page.locator('#memlens[data-state=loading]').waitFor();
  await vscode.page.waitForTimeout(1500);
  assert.equal(await page.locator('#memlens').getAttribute('data-state'), 'loading');
  assert.deepEqual(readers(), []);
  process.kill(server, 'SIGCONT');
  await SnapshotView.visible(vscode);
  await vscode.openFile('train.py');
  await vscode.hoverText('backward', { line: 'loss.backward()', expecting: /what this line allocated/ });
  await vscode.tab('train.pickle').click();
  view = await SnapshotView.visible(vscode);
  await view.locator('.panel .frames').waitFor();
  assert.deepEqual(await standing(), stood);
  assert.deepEqual(servers(), [server]);
  // The restored view uses the same archive as before.
  const now = new Map(made());
  for (const [name, inode] of archives) assert.equal(now.get(name), inode);
});

const CRASHED = /crashed 5 times within 3 minutes/;

/** VS Code also logs the messages that it shows. */
const messages = () => vscode.consoleErrors.filter((text) => CRASHED.test(text));

test('after five crashes it is not restarted automatically, and one message is shown', async () => {
  await vscode.tab('train.pickle').click();
  view = await SnapshotView.visible(vscode);
  const restored = async (act) => {
    await view.frame.evaluate(() => {
      window.memlensTest.ofTheOldServer = true;
    });
    await act();
    await view.frame.waitForFunction(() => window.memlensTest?.ofTheOldServer === undefined);
    await view.drawn();
  };
  // Earlier deaths don't count then, however long ago they were.
  await restored(() => vscode.runCommand('Memlens: Restart Server'));
  for (const deaths of [1, 2, 1]) {
    let server;
    await restored(async () => {
      // the first of two dies while it starts
      for (let times = 0; times < deaths; times++) server = await kill();
    });
    assert.deepEqual(servers(), [server]);
  }
  assert.deepEqual(messages(), [], 'no message until then');
  const [server] = servers();
  process.kill(server, 'SIGKILL');
  await until(() => messages().length > 0, 'the message is shown');
  await vscode.page.waitForTimeout(3000);
  assert.deepEqual(servers(), []);
  assert.equal(messages().length, 1);
  // The picture is still shown.
  assert.equal(await view.locator('#memlens').getAttribute('data-state'), 'ready');
});

test('its button starts the server, and the view is restored as it was', async () => {
  const said = await vscode.notification(CRASHED);
  await vscode.screenshot('five-deaths');
  assert.equal(await said.count(), 1);
  await said.locator('.monaco-button', { hasText: 'Restart' }).click();
  await until(() => servers().length === 1, 'there is a server again');
  await until(async () => {
    const answers = await view.locator('.panel .frames').count();
    return answers > 0;
  }, 'the selection is restored');
  view = await SnapshotView.visible(vscode);
  assert.deepEqual(await standing(), stood);
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  // The language client logs each server that died while it started: the end of the connection, or of a write to it,
  // whichever it sees first.
  const ofDeaths =
    /Pending response rejected since connection got disposed|create connection to server\.\s+Message: write EPIPE/;
  assert.deepEqual(
    vscode.consoleErrors.filter((text) => !ofDeaths.test(text) && !CRASHED.test(text)),
    [],
  );
});
