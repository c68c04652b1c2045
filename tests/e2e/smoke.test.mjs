// The least that must be true: the extension loads in a real VS Code, and the sample opens in its editor.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openVSCode } from './harness.mjs';

let vscode;
before(async () => {
  vscode = await openVSCode();
});
after(() => vscode?.close());

test('the sample opens in the snapshot editor', async () => {
  await vscode.openFile('train.pickle');
  const view = await vscode.webview();
  await view.locator('canvas').first().waitFor();
  await vscode.screenshot('smoke');
});

test('a source file opens as text', async () => {
  await vscode.openFile('model.py');
  assert.equal(await vscode.activeFile(), 'model.py');
  assert.equal(await vscode.activeLine(), 1);
});

test('nothing asks the network, and nothing fails on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
