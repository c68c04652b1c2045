// Opening: progress while a large file is read, a server that answers meanwhile, Cancel and Retry; and files that
// aren't snapshots, for which the view explains what to do, and whose code is never run.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { VENV_PYTHON } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const BIG = 'big.pickle';
const EVENTS = 1_000_000;
const TEXT = 'This is a shopping list: milk, bread, two apples.\n';

let vscode;
/** The page that shows the progress. */
let page;
/** The file that the malicious pickle would create. */
let made;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      const write = (name, content) => writeFileSync(path.join(folder, name), content);
      const generator = path.join(ROOT, 'tests', 'bench', 'generate.py');
      execFileSync(VENV_PYTHON, [generator, path.join(folder, BIG), '--events', String(EVENTS)]);
      made = path.join(folder, 'made-by-a-pickle');
      write('broken.pickle', TEXT);
      // The output of pickle.dumps for an object whose __reduce__ returns os.system and a command, in protocol 2.
      write('runs.pickle', Buffer.from(`\x80\x02cposix\nsystem\n(S'touch ${made}'\ntR.`, 'latin1'));
      const whole = readFileSync(path.join(folder, 'train.pickle'));
      write('cut.pickle', whole.subarray(0, Math.floor(whole.length * 0.6)));
      copyFileSync(path.join(folder, 'train.pickle'), path.join(folder, 'recording'));
    },
  });
});
test.afterAll(() => vscode?.close());

const readers = () => vscode.processes('memlens ingest');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const archives = () => readdirSync(vscode.cache);

test('the sample is open, beside what follows', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  assert.equal(archives().length, 1);
  assert.deepEqual(readers(), []);
});

test('a file that is being read shows the stage and a percentage', async () => {
  const opening = vscode.openFile(BIG);
  const [reader, ...more] = await until(() => {
    const found = readers();
    return found.length > 0 && found;
  }, 'a process reads the file');
  assert.deepEqual(more, []);
  // This machine may read it very quickly, so the process runs only briefly and is then stopped.
  process.kill(reader, 'SIGSTOP');
  await opening;
  page = await vscode.webview();
  const percent = page.locator('.screen-percent');
  await percent.waitFor({ state: 'attached' });
  await until(async () => {
    if (/^[1-9]\d*%$/.test(await percent.innerText())) return true;
    process.kill(reader, 'SIGCONT');
    await pause(40);
    process.kill(reader, 'SIGSTOP');
    await pause(60);
    return false;
  }, 'there is a percentage');
  assert.match(await page.locator('.screen-stage').innerText(), /\w/);
  // both at once: progress that was reported before may still arrive
  const [value, text] = await page.evaluate(() => [
    document.querySelector('[role=progressbar]').getAttribute('aria-valuenow'),
    document.querySelector('.screen-percent').innerText,
  ]);
  assert.equal(`${value}%`, text);
  assert.deepEqual(readers(), [reader]);
  await vscode.screenshot('progress');
});

test('meanwhile the hover of a line of the other snapshot answers', async () => {
  await vscode.openFile('train.py');
  const text = await vscode.hoverText('backward', {
    line: 'loss.backward()',
    expecting: /what this line allocated/,
  });
  assert.match(text, /Total allocated/);
  assert.equal(readers().length, 1);
  await vscode.tab(BIG).click();
});

test('Cancel ends the reading and leaves nothing behind', async () => {
  page = await vscode.webview();
  await page.locator('.screen-percent').filter({ hasText: '%' }).waitFor(); // where it was when the tab was hidden
  assert.ok(archives().some((name) => name.includes('.partial-')));
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Reading was cancelled').waitFor();
  await until(() => readers().length === 0, 'its process has ended');
  await until(() => !archives().some((name) => name.includes('.partial-')), 'its folder is removed');
  assert.equal(archives().length, 1);
});

/** Retries, and does something to the reading process as soon as it has started. */
async function retry(interfere) {
  await page.getByRole('button', { name: 'Retry' }).click();
  const [reader] = await until(() => readers().length > 0 && readers(), 'a process reads the file');
  process.kill(reader, 'SIGSTOP');
  interfere(reader);
  await until(() => readers().length === 0, 'its process has ended');
}

const onlyTheSample = () => until(() => archives().length === 1, 'nothing of it is left');

test('a reader that is killed is reported', async () => {
  await retry((reader) => process.kill(reader, 'SIGKILL'));
  await page.getByText('was killed by the system or another program').waitFor();
  await vscode.screenshot('reader-killed');
  await onlyTheSample();
});

test('a reader that runs out of memory is reported', async () => {
  await retry((reader) => {
    // like the setting memlens.memory.limit, which applies to the whole machine
    execFileSync('prlimit', ['--pid', String(reader), `--data=${60 << 20}`]);
    process.kill(reader, 'SIGCONT');
  });
  await page.getByText('needs more than the allowed').waitFor();
  await page.getByText('memlens.memory.limit').waitFor();
  await vscode.screenshot('reader-out-of-memory');
  await onlyTheSample();
});

test('Retry opens the file', async () => {
  await page.getByRole('button', { name: 'Retry' }).click();
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /\d{3},\d{3} allocations/);
  assert.equal(archives().length, 2);
  assert.deepEqual(readers(), []);
});

/** Opens a file that can't be shown, and returns the page with the error. */
/** The page that says why a file can't be opened, once `open` has asked for it. */
async function failing(open) {
  await open();
  const frame = await vscode.webview();
  const screen = frame.locator('.screen.failed');
  await screen.waitFor();
  return {
    sentence: await screen.locator('.screen-stage').innerText(),
    all: await screen.innerText(),
    button: (label) => screen.getByRole('button', { name: label, exact: true }),
  };
}

const asSnapshot = () => vscode.runCommand('Memlens: Open as Memory Snapshot');

test('a text file named .pickle opens as text by itself, and as a snapshot it is explained', async () => {
  await vscode.openFile('broken.pickle');
  const line = vscode.page.locator('.editor-instance .view-line').first();
  const isText = async () => {
    await line.waitFor();
    assert.equal((await line.innerText()).replaceAll('\u00a0', ' '), TEXT.trimEnd());
    assert.equal(await vscode.activeFile(), 'broken.pickle');
    await until(async () => (await vscode.tab('broken.pickle').count()) === 1, 'the view has gone');
  };
  await isText();
  const failed = await failing(asSnapshot);
  assert.match(failed.sentence, /^\S.{15,}\w/);
  assert.doesNotMatch(failed.all, /Traceback|Error:|undefined|null/);
  await failed.button('Open as text').click();
  await isText();
});

test('a pickle that would run a program is rejected, and nothing is run', async () => {
  await vscode.openFile('runs.pickle');
  await vscode.page.locator('.view-line', { hasText: 'posix' }).first().waitFor();
  const failed = await failing(asSnapshot);
  assert.match(failed.all, /GLOBAL/);
  assert.match(failed.all, /at byte 2/);
  assert.equal(existsSync(made), false);
});

test('a truncated snapshot is reported, and Retry opens it once the file is complete', async () => {
  const failed = await failing(() => vscode.openFile('cut.pickle'));
  assert.match(failed.all, /ends|truncated|cut|incomplete|breaks off/i);
  assert.match(failed.all, /at byte [\d,]+/);
  copyFileSync(path.join(vscode.folder, 'train.pickle'), path.join(vscode.folder, 'cut.pickle'));
  await failed.button('Retry').click();
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /4,740 allocations/);
});

test('a snapshot without a suffix opens by the command', async () => {
  await vscode.openFile('recording');
  await vscode.page.getByText('is not displayed in the text editor').waitFor();
  await asSnapshot();
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /4,740 allocations/);
});

test('nothing was run, and the console has no errors', () => {
  assert.equal(existsSync(made), false);
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
