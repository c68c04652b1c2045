// What a program says when memory runs out, explained; and "Run and Record…", after which there is a file that says more.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode, ROOT } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView } from './view.mjs';
import { came, until } from './waiting.mjs';

test.describe.configure({ mode: 'serial' });

const KERNEL = readFileSync(path.join(ROOT, 'tests/fixtures/messages/kernel-line.txt'), 'utf8');
const CUDA = readFileSync(
  path.join(ROOT, 'pyserver/memlens/packs/pytorch/tests/messages/fragmented.txt'),
  'utf8',
);

const HUNGRY = `kept = []
for _ in range(30):
    kept.append(bytearray(100_000))
raise MemoryError("enough")
`;

let vscode;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      writeFileSync(path.join(folder, 'died.log'), `it begins\nall is well\n${KERNEL}the end\n`);
      writeFileSync(path.join(folder, 'quiet.log'), 'took 137 ms\n');
      writeFileSync(path.join(folder, 'cuda.log'), CUDA);
      writeFileSync(path.join(folder, 'hungry.py'), HUNGRY);
    },
  });
});
test.afterAll(() => vscode?.close());

/** Selects the whole text of a file. */
const selectAll = async (name) => {
  await vscode.openFile(name);
  const isSelected = vscode.page.locator('.statusbar-item', { hasText: /\d selected/ });
  await until(async () => {
    await vscode.page.locator('.editor-instance .view-lines').first().click();
    await vscode.page.keyboard.press('Control+A');
    return came(isSelected.waitFor({ timeout: 1000 }));
  }, 'the text is selected');
};

/** The text of the Markdown preview that is shown. */
const preview = async (words) => {
  const frame = vscode.page
    .frameLocator('.webview.ready >> visible=true')
    .frameLocator('#active-frame')
    .locator('.markdown-body', { hasText: words });
  await frame.waitFor();
  return frame.innerText();
};

test('the lens above a message in a log shows what it says', async () => {
  await vscode.openFile('died.log');
  const lens = vscode.page.locator('.codelens-decoration a', { hasText: 'Explain this memory error' });
  await lens.waitFor();
  assert.match(await lens.innerText(), /The kernel killed render \(process 23173\)/);
  await vscode.screenshot('explain-lens');
  await lens.click();
  const text = await preview('because the machine had no memory left');
  assert.match(text, /ended by\s+the kernel, by SIGKILL/);
  assert.match(text, /resident memory of the process\s+88 KiB/);
  assert.match(text, /Next time: any of them/);
  await vscode.screenshot('explain-shown');
});

test('a selection is explained by the command, and a text without a message is refused with what is known', async () => {
  await selectAll('cuda.log');
  await vscode.runCommand('Memlens: Explain Memory Error…');
  const text = await preview('PyTorch could not allocate 1.50 GiB on GPU 0');
  assert.match(text, /expandable_segments:True/);
  await selectAll('quiet.log');
  await vscode.runCommand('Memlens: Explain Memory Error…');
  await vscode.notification('The selected text has no message about memory that Memlens knows');
});

test('the file in the editor is run, and the file that it leaves is opened at the line', async () => {
  await vscode.openFile('hungry.py');
  await vscode.runCommand('Memlens: Record Allocations…');
  await vscode.pick(vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Run a Program…' }));
  const input = vscode.page.locator('.quick-input-widget .quick-input-box input');
  await until(async () => (await input.inputValue()) !== '', 'the command line is there');
  assert.match(await input.inputValue(), /^python3 (?:\S+\/)?hungry\.py$/);
  await vscode.page.keyboard.press('Enter');
  await vscode.page
    .locator('.tab.active', { hasText: /^memory-error-\d+\.tracemalloc/ })
    .waitFor({ timeout: 60_000 });
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-state=ready]').waitFor();
  await view.locator('.headline', { hasText: 'hungry.py:3' }).waitFor();
  await vscode.screenshot('run-and-record');
});
