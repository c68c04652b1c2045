// Files change while they are shown: replaced and overwritten, moved away and restored; and the archive is damaged.
// The view reports it once, keeps showing what it has, and reads the file again on request.
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { twoDevices } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'changing.pickle';
const BAR = '.file-bar';

let vscode;
let view;
let file;
let original;

test.beforeAll(async () => {
  vscode = await openVSCode();
  file = path.join(vscode.folder, FILE);
  original = path.join(vscode.folder, 'train.pickle');
  copyFileSync(original, file);
  view = await SnapshotView.opened(vscode, FILE);
});
test.afterAll(() => vscode?.close());

/** The devices that can be chosen; there is no choice with a single device. */
const devices = () => view.locator('.toolbar select[aria-label=Device] option').count();

const noBar = () => view.locator(BAR).waitFor({ state: 'hidden' });

/** Checks that the view answers: a click on a band shows its stack. */
const answers = async () => {
  await view.press('Escape');
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  await view.locator('.panel .frame').first().waitFor({ state: 'attached' });
};

const barSays = async (words) => {
  await view.locator(BAR).filter({ hasText: words, visible: true }).waitFor();
};

/** Presses Reload, or reads the file again in another way, and waits for the new picture. */
const readAgain = async (action) => {
  await view.frame.evaluate(() => {
    window.memlensTest.ofWhatWasRead = true;
  });
  await action();
  await view.frame.waitForFunction(() => window.memlensTest?.ofWhatWasRead === undefined);
  await view.drawn();
};

const reload = () => view.locator(BAR).getByRole('button', { name: 'Reload' }).click();

/** Replaces the file as another run of the program would: by another snapshot, of two devices. */
const writeAnother = (where) => writeFileSync(where, twoDevices());

test('a file is replaced by another: a bar reports it, and the old data is still shown', async () => {
  assert.equal(await view.locator(BAR).isVisible(), false);
  writeAnother(`${file}.new`);
  renameSync(`${file}.new`, file);
  await barSays(/has changed on disk/);
  await answers();
  await view.assertLegible([BAR], 0);
  await vscode.screenshot('changed');
});

test('Reload reads it again, and the bar disappears', async () => {
  const before = await devices();
  await readAgain(reload);
  assert.equal(before, 0);
  assert.equal(await devices(), 2);
  await noBar();
});

test('a file is overwritten in place: the bar reports it, and the command reads it again too', async () => {
  copyFileSync(original, file);
  await barSays(/has changed on disk/);
  await readAgain(() => vscode.runCommand('Memlens: Reload Snapshot'));
  assert.equal(await devices(), 0);
  await noBar();
});

test('a file is moved away: the view reports it and keeps working; the bar stays hidden once it was closed', async () => {
  renameSync(file, `${file}.away`);
  await barSays(/no longer exists/);
  assert.equal(await view.locator(BAR).getByRole('button', { name: 'Reload' }).count(), 0);
  await answers();
  await view.locator(BAR).getByRole('button', { name: 'Hide' }).click();
  await noBar();
  await vscode.openFile('model.py');
  await vscode.page.locator('iframe.webview').first().waitFor({ state: 'hidden' });
  await vscode.tab(FILE).click();
  view = await SnapshotView.visible(vscode);
  await answers();
  await noBar();
});

test('another file in its place is reported; when the original is put back, the bar disappears', async () => {
  writeAnother(file);
  await barSays(/has changed on disk/);
  renameSync(`${file}.away`, file);
  await noBar();
  await answers();
});

test('reading a file again that is no longer a snapshot fails, and the command reads it once it is restored', async () => {
  writeFileSync(file, 'half a snaps');
  await barSays(/has changed on disk/);
  await reload();
  await view.locator('#memlens[data-state=failed]').waitFor();
  copyFileSync(original, file);
  await vscode.runCommand('Memlens: Reload Snapshot');
  await view.drawn();
  await answers();
});

const archives = () => readdirSync(vscode.cache).map((name) => path.join(vscode.cache, name));

const damageArchives = (damage) => {
  for (const archive of archives())
    for (const name of readdirSync(archive)) if (name !== 'manifest.json') damage(path.join(archive, name));
};

const readers = () => vscode.processes('memlens ingest');

test('an archive that is truncated while it is shown is rebuilt automatically, and what was chosen meanwhile is done', async () => {
  const axis = await view.axis();
  await readAgain(async () => {
    let reader;
    await vscode.runCommandAfter('Memlens: Switch between Time and Events', async () => {
      damageArchives((column) => truncateSync(column, 0));
      // The next request that isn't cached detects it, whoever makes it.
      await view.frame.evaluate(() => {
        for (let times = 0; times < 4; times++)
          document.body.dispatchEvent(new window.KeyboardEvent('keydown', { key: '+', bubbles: true }));
      });
      [reader] = await until(() => readers().length > 0 && readers(), 'the file is read again');
      process.kill(reader, 'SIGSTOP');
    });
    process.kill(reader, 'SIGCONT');
  });
  assert.notEqual(await view.axis(), axis);
  await answers();
});

test('an archive that is removed while it is shown keeps answering, and is rebuilt when it is opened again', async () => {
  for (const archive of archives()) rmSync(archive, { recursive: true });
  await view.moved(() => view.press('+'));
  await answers();
  await readAgain(() => vscode.runCommand('Memlens: Reload Snapshot'));
  await answers();
  await until(() => !archives().some((name) => name.includes('partial')), 'no incomplete files are left');
  assert.equal(archives().length, 1);
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
