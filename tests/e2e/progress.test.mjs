// A file that takes a while: progress while it is read, a server that answers meanwhile, and Cancel and Retry.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { VENV_PYTHON } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { SnapshotView, until } from './view.mjs';

const FILE = 'big.pickle';
const EVENTS = 1_000_000;

let vscode;
/** The page that shows the progress. */
let page;

before(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      const generator = path.join(ROOT, 'tests', 'bench', 'generate.py');
      execFileSync(VENV_PYTHON, [generator, path.join(folder, FILE), '--events', String(EVENTS)]);
    },
  });
});
after(() => vscode?.close());

const readers = () => vscode.processes('memlens ingest');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const archives = () => readdirSync(vscode.cache);

test('the sample is open, beside what follows', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  assert.equal(archives().length, 1);
  assert.deepEqual(readers(), []);
});

test('a file that is being read shows its stage and percent', async () => {
  const opening = vscode.openFile(FILE);
  const [reader, ...more] = await until(() => {
    const found = readers();
    return found.length > 0 && found;
  }, 'a process reads the file');
  assert.deepEqual(more, []);
  // This machine may read it in a blink: it is let run for moments only, and then held.
  process.kill(reader, 'SIGSTOP');
  await opening;
  page = await vscode.webview();
  const percent = page.locator('.screen-percent');
  await percent.waitFor({ state: 'attached' });
  await until(async () => {
    if (/^[1-9]\d* %$/.test(await percent.innerText())) return true;
    process.kill(reader, 'SIGCONT');
    await pause(40);
    process.kill(reader, 'SIGSTOP');
    await pause(60);
    return false;
  }, 'there is a percent of it');
  assert.match(await page.locator('.screen-stage').innerText(), /\w/);
  const bar = page.getByRole('progressbar');
  assert.equal(`${await bar.getAttribute('aria-valuenow')} %`, await percent.innerText());
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
  await vscode.tab(FILE).click();
});

test('Cancel ends it and leaves nothing behind; Retry opens the file', async () => {
  page = await vscode.webview();
  await page.locator('.screen-percent').filter({ hasText: '%' }).waitFor(); // where it was when the tab was hidden
  assert.ok(archives().some((name) => name.includes('.partial-')));
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByText('Reading was cancelled').waitFor();
  await until(() => readers().length === 0, 'its process is gone');
  await until(() => !archives().some((name) => name.includes('.partial-')), 'its folder is gone');
  assert.equal(archives().length, 1);

  await page.getByRole('button', { name: 'Retry' }).click();
  const view = await SnapshotView.visible(vscode);
  assert.match(await view.text('.status-text'), /\d{3},\d{3} allocations/);
  assert.equal(archives().length, 2);
  assert.deepEqual(readers(), []);
});

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
