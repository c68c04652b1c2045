// Files change under a view: rewritten beside and in place, moved away, put back; and its archive is damaged.
// The view says so once, goes on showing what it has, and reads again when asked to.
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { twoDevices } from './snapshots.mjs';
import { SnapshotView, until } from './view.mjs';

const FILE = 'changing.pickle';
const BAR = '.file-bar';

let vscode;
let view;
let file;
let original;

before(async () => {
  vscode = await openVSCode();
  file = path.join(vscode.folder, FILE);
  original = path.join(vscode.folder, 'train.pickle');
  copyFileSync(original, file);
  view = await SnapshotView.opened(vscode, FILE);
});
after(() => vscode?.close());

/** The devices to choose from; there is nothing to choose while there is one. */
const devices = () => view.locator('.toolbar select[aria-label=Device] option').count();

const noBar = () => view.locator(BAR).waitFor({ state: 'hidden' });

/** It answers: a band's stack is shown when the band is clicked. */
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

/** Presses Reload, or does something else that reads the file again, and waits for the picture of it. */
const readAgain = async (action) => {
  await view.frame.evaluate(() => {
    window.memlensTest.ofWhatWasRead = true;
  });
  await action();
  await view.frame.waitForFunction(() => window.memlensTest?.ofWhatWasRead === undefined);
  await view.drawn();
};

const reload = () => view.locator(BAR).getByRole('button', { name: 'Reload' }).click();

/** What another run wrote under the same name: another snapshot, of two devices. */
const writeAnother = (where) => writeFileSync(where, twoDevices());

test('a file that is replaced by another: a bar says so, and what was read is still there', async () => {
  assert.equal(await view.locator(BAR).isVisible(), false);
  writeAnother(`${file}.new`);
  renameSync(`${file}.new`, file);
  await barSays(/has changed on disk/);
  await answers();
  for (const theme of ['light', 'dark', 'hc']) {
    await vscode.setTheme(theme);
    await vscode.screenshot(`changed-${theme}`);
  }
  await vscode.setTheme('dark');
});

test('Reload reads it again, and the bar goes', async () => {
  const before = await devices();
  await readAgain(reload);
  assert.equal(before, 0);
  assert.equal(await devices(), 2);
  await noBar();
});

test('a file that is written in place: the same, and the command reads it as well', async () => {
  copyFileSync(original, file);
  await barSays(/has changed on disk/);
  await readAgain(() => vscode.runCommand('Memlens: Reload Snapshot'));
  assert.equal(await devices(), 0);
  await noBar();
});

test('a file that is moved away: the view says so and goes on; hidden, the bar stays away', async () => {
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

test('another file in its place is reported; the file itself, put back, ends the report', async () => {
  writeAnother(file);
  await barSays(/has changed on disk/);
  renameSync(`${file}.away`, file);
  await noBar();
  await answers();
});

test('a file that is no longer a snapshot fails when it is read again, and the command brings it back', async () => {
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

test('an archive that is cut off under the view is made again by itself', async () => {
  await readAgain(async () => {
    damageArchives((column) => truncateSync(column, 0));
    // Whatever asks something that is not kept finds out.
    await vscode.runCommand('Memlens: Switch between Time and Events');
    await view.press('+');
  });
  await answers();
});

test('an archive that is removed under the view goes on answering, and is made again when it is wanted', async () => {
  for (const archive of archives()) rmSync(archive, { recursive: true });
  await view.moved(() => view.press('+'));
  await answers();
  await readAgain(() => vscode.runCommand('Memlens: Reload Snapshot'));
  await answers();
  await until(() => !archives().some((name) => name.includes('partial')), 'nothing half made is left');
  assert.equal(archives().length, 1);
});

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
