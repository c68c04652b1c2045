// Files that are no snapshots: a sentence and a way on for each, nothing in them is run, and mending them helps.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';
import { SnapshotView, until } from './view.mjs';

const TEXT = 'This is a shopping list: milk, bread, two apples.\n';

let vscode;
/** What the file that could run something would make. */
let made;

before(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      const write = (name, content) => writeFileSync(path.join(folder, name), content);
      made = path.join(folder, 'made-by-a-pickle');
      write('broken.pickle', TEXT);
      // What pickle.dumps gives for an object whose __reduce__ asks for os.system(...), in protocol 2.
      write('runs.pickle', Buffer.from(`\x80\x02cposix\nsystem\n(S'touch ${made}'\ntR.`, 'latin1'));
      const whole = readFileSync(path.join(folder, 'train.pickle'));
      write('cut.pickle', whole.subarray(0, Math.floor(whole.length * 0.6)));
      copyFileSync(path.join(folder, 'train.pickle'), path.join(folder, 'recording'));
    },
  });
});
after(() => vscode?.close());

/** Opens a file that can't be shown; the page that says so. */
async function openFailing(name) {
  await vscode.openFile(name);
  const frame = await vscode.webview();
  const screen = frame.locator('.screen.failed');
  await screen.waitFor();
  return {
    frame,
    sentence: await screen.locator('.screen-stage').innerText(),
    all: await screen.innerText(),
    button: (label) => screen.getByRole('button', { name: label, exact: true }),
  };
}

test('text that is called a pickle gets a sentence, and opens as text', async () => {
  const failed = await openFailing('broken.pickle');
  assert.match(failed.sentence, /^\S.{15,}\w/);
  assert.doesNotMatch(failed.all, /Traceback|Error:|undefined|null/);
  await failed.button('Open as text').click();
  const line = vscode.page.locator('.editor-instance .view-line').first();
  await line.waitFor();
  assert.equal((await line.innerText()).replaceAll('\u00a0', ' '), TEXT.trimEnd());
  assert.equal(await vscode.activeFile(), 'broken.pickle');
  await until(
    async () => (await vscode.tab('broken.pickle').count()) === 1,
    'the text has replaced the view',
  );
});

test('a pickle that would run a program is refused, and runs nothing', async () => {
  const failed = await openFailing('runs.pickle');
  assert.match(failed.all, /GLOBAL/);
  assert.match(failed.all, /at byte 2/);
  assert.equal(existsSync(made), false);
});

test('half a snapshot says so, and opens by Retry once the file is whole', async () => {
  const failed = await openFailing('cut.pickle');
  assert.match(failed.all, /ends|truncated|cut|incomplete|breaks off/i);
  assert.match(failed.all, /at byte [\d,]+/);
  copyFileSync(path.join(vscode.folder, 'train.pickle'), path.join(vscode.folder, 'cut.pickle'));
  await failed.button('Retry').click();
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /4,740 allocations/);
});

test('a snapshot without a suffix opens by the command', async () => {
  await vscode.openFile('recording');
  await vscode.runCommand('Memlens: Open as Memory Snapshot');
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /4,740 allocations/);
});

test('nothing was run, and nothing failed on the console', () => {
  assert.equal(existsSync(made), false);
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
