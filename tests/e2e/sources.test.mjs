// Paths in a snapshot are those of another machine: which local file each one means, and what is shown without one.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { kept } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, exactBytes, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'paths.pickle';
const STACKS = {
  twice: [['/srv/jobs/7/app/net.py', 3, 'build']],
  windows: [['C:\\Users\\ann\\work\\tools\\load.py', 2, 'load']],
  otherCase: [['C:\\Users\\ann\\work\\Tools\\Store.py', 2, 'store']],
  mapped: [['/opt/app/src/deep/renamed.py', 4, 'run']],
  nowhere: [
    ['/opt/conda/lib/python3.11/site-packages/torch/nn/modules/linear.py', 134, 'forward'],
    ['/opt/conda/lib/python3.11/site-packages/torch/nn/modules/module.py', 1778, '_call_impl'],
    ['/srv/elsewhere/gone.py', 12, 'lost'],
  ],
};
const NAMES = Object.keys(STACKS);
const size = (name) => (NAMES.length - NAMES.indexOf(name) + 2) << 20;

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      const write = (name, content) => {
        mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
        writeFileSync(path.join(folder, name), content);
      };
      write(FILE, kept(Object.values(STACKS)));
      const code = 'import torch\n\n\ndef run():\n    return torch.zeros(1)\n';
      for (const name of ['one/app/net.py', 'two/app/net.py', 'tools/store.py', 'checkout/deep/renamed.py'])
        write(name, code);
      write('tools/load.py', 'def load():\n    return torch.ones(1)\n');
    },
  });
  await vscode.configure({ 'memlens.pathMappings': { '/opt/app/src': ofWorkspace('checkout') } });
  view = await SnapshotView.opened(vscode, FILE);
});
test.afterAll(() => vscode?.close());

/** A folder as a setting names it. */
const ofWorkspace = (name) =>
  `\${workspaceFolder}/${path.relative(vscode.window.root, path.join(vscode.folder, name))}`;

/** Shows the stack of an allocation, and clicks a frame of it. */
async function clickFrame(name, place) {
  const allocation = NAMES.indexOf(name);
  await vscode.runCommand('View: Focus First Editor Group');
  await view.click(allocation);
  await view.selected(allocation);
  await view.locator('.panel .frames button', { hasText: place }).first().click();
}

/** Waits until the active file is in a folder. */
const inFolder = (name) =>
  vscode.page.locator('.editor-group-container.active .breadcrumbs-below-tabs', { hasText: name }).waitFor();

test('the user is asked once which of two files is meant', async () => {
  await clickFrame('twice', 'net.py:3');
  const picks = vscode.page.locator('.quick-input-list .monaco-list-row');
  await picks.filter({ hasText: 'two' }).waitFor();
  assert.equal(await picks.count(), 2);
  await vscode.pick(picks.filter({ hasText: 'two' }));
  await vscode.atLine('net.py', 3);
  await inFolder('two');
  await vscode.closeEditor('net.py');
  await view.still();
  await clickFrame('twice', 'net.py:3');
  await vscode.atLine('net.py', 3);
  await inFolder('two');
  await view.still();
});

test('Windows paths and mapped paths are found', async () => {
  await clickFrame('windows', 'load.py:2');
  await vscode.atLine('load.py', 2);
  await clickFrame('mapped', 'renamed.py:4');
  await vscode.atLine('renamed.py', 4);
});

test('a Windows path is found regardless of case', async () => {
  await clickFrame('otherCase', 'Store.py:2');
  await vscode.atLine('store.py', 2);
});

test('the line at the cursor shows its allocations', async () => {
  await clickFrame('mapped', 'renamed.py:4');
  await vscode.atLine('renamed.py', 4);
  await vscode.runCommand('Memlens: Show Allocations of the Current Line');
  await view.locator('.panel h2', { hasText: 'Line 4' }).waitFor();
  await view.locator('.panel .facts').waitFor();
  await view.settled();
  assert.equal((await view.fact('Total allocated')).title, exactBytes(size('mapped')));
});

test('a file that is not on this machine is named, and frames of libraries are folded', async () => {
  await clickFrame('nowhere', 'gone.py:12');
  const note = view.locator('.panel .frame-note');
  await note.waitFor();
  assert.match(await note.innerText(), /Looked for .*gone\.py/);
  const fold = view.locator('.panel button.fold', { hasText: '2 library frames' });
  assert.equal(await view.locator('.panel .frame', { hasText: 'linear.py:134' }).isVisible(), false);
  await fold.click();
  await view.locator('.panel .frame', { hasText: 'linear.py:134' }).waitFor();
});

test('the location of a file can be entered beside it, and is remembered for the other files of its folder', async () => {
  await clickFrame('nowhere', 'gone.py:12');
  await view.locator('.panel .frame-note button', { hasText: 'Map Folder…' }).waitFor();
  mkdirSync(path.join(vscode.folder, 'found'));
  writeFileSync(path.join(vscode.folder, 'found', 'gone.py'), '\n'.repeat(20));
  await view.locator('.panel .frame-note button', { hasText: 'Locate File…' }).click();
  await vscode.choosePath(/^\//, path.join(vscode.folder, 'found', 'gone.py'));
  await vscode.atLine('gone.py', 12);
  const mappings = () => {
    const text = readFileSync(path.join(vscode.window.root, '.vscode', 'settings.json'), 'utf8');
    return JSON.parse(text)['memlens.pathMappings'];
  };
  await until(() => {
    try {
      return mappings()['/srv/elsewhere'] === ofWorkspace('found');
    } catch {
      return false; // it is being written
    }
  }, 'the folder is kept');
});

test('a lens above a function opens the picture as well', async () => {
  await vscode.configure({ 'memlens.codeLens': true });
  await clickFrame('windows', 'load.py:2');
  await vscode.atLine('load.py', 2);
  const lens = vscode.page.locator('.editor-group-container.active .codelens-decoration a', {
    hasText: /6\.?0* MiB/,
  });
  await lens.first().click();
  await view.locator('.panel h2', { hasText: /^Line 2$/ }).waitFor();
});

test('the console has no errors', async () => {
  await until(() => vscode.processes('memlens ingest').length === 0, 'nothing is being read');
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
