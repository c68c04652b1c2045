// Tools for language models: what VS Code lists, what a chat is answered, and what VS Code asks about first.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { openVSCode, ROOT } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
const QUERY = 'SELECT count(*) AS n FROM allocations';

let vscode;

test.beforeAll(async () => {
  vscode = await openVSCode();
});
test.afterAll(() => vscode?.close());

/** Lets a chat's model call a tool; what it is told, once it is. */
const begin = (tool, input) =>
  vscode.window.driver.ask('callTool', tool, input).then(
    (ok) => ({ ok }),
    (error) => ({ error: error.message }),
  );

async function call(tool, input) {
  const told = await begin(tool, input);
  assert.equal(told.error, undefined);
  return JSON.parse(told.ok);
}

test('VS Code lists the tools of package.json', async () => {
  const { contributes } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
  const all = await vscode.window.driver.ask('tools');
  const listed = all.filter(({ name }) => name.startsWith('memlens_'));
  assert.deepEqual(
    listed.map(({ name }) => name).sort(),
    contributes.languageModelTools.map(({ name }) => name).sort(),
  );
  for (const { name, description, inputSchema } of listed) {
    const declared = contributes.languageModelTools.find((tool) => tool.name === name);
    assert.equal(description, declared.modelDescription);
    assert.deepEqual(inputSchema, declared.inputSchema);
  }
});

test('without an open snapshot a path is needed, and one of the workspace is found', async () => {
  const { error } = await begin('memlens_summary', {});
  assert.match(error, /name no file/);
  const file = path.relative(vscode.window.root, path.join(vscode.folder, 'words.pb.gz'));
  const summary = await call('memlens_summary', { path: file });
  const { headline } = await vscode.memlens('findings', 'words.pb.gz');
  // a model reads names in quotes
  assert.equal(summary.headline.replace(/[“”]/g, ''), headline.text);
});

test('without a path the open snapshot answers, from its session', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  const summary = await call('memlens_summary', {});
  const { headline } = await vscode.memlens('findings', 'train.pickle');
  // a model reads names in quotes
  assert.equal(summary.headline.replace(/[“”]/g, ''), headline.text);
  const lines = (await vscode.lines('train.pickle'))
    .filter((line) => line.self_live_at_peak_bytes)
    .map((line) => [`${line.file}:${line.line}`, line.self_live_at_peak_bytes]);
  const top = await call('memlens_top', { limit: 100 });
  assert.deepEqual(new Map(top.rows.map(({ name, bytes }) => [name, bytes])), new Map(lines));
});

test('a model is told what is wrong with its question', async () => {
  const { error } = await begin('memlens_top', { by: 'type' });
  assert.match(error, /has no objects/);
});

test('a query is asked about with its text, and can be cancelled', async () => {
  const dialog = vscode.page.locator('.monaco-dialog-box', { hasText: 'Query train.pickle?' });
  const answer = begin('memlens_sql', { query: QUERY });
  await dialog.waitFor();
  assert.match(await dialog.innerText(), /sent to the language model/);
  await until(async () => (await dialog.innerText()).replace(/\s+/g, ' ').includes(QUERY), 'the query');
  await vscode.screenshot('tool-confirmation');
  await dialog.getByRole('button', { name: 'Yes' }).click();
  const { ok } = await answer;
  const [{ n }] = await vscode.memlens('sql', 'train.pickle', QUERY);
  assert.deepEqual(JSON.parse(ok).rows, [[n]]);
  const endless = begin('memlens_sql', { query: ENDLESS });
  await dialog.waitFor();
  await dialog.getByRole('button', { name: 'Yes' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await vscode.window.driver.ask('cancelTool');
  assert.match((await endless).error, /Cancel/);
});

test('what a filter does is asked about, too', async () => {
  const elsewhere = path.join(ROOT, 'samples', 'words.pb.gz');
  for (const [filter, title] of [
    [`query:"${QUERY}"`, 'Query train.pickle?'],
    [`in:"${elsewhere}"`, 'Read words.pb.gz?'],
  ]) {
    const dialog = vscode.page.locator('.monaco-dialog-box', { hasText: title });
    const answer = begin('memlens_top', { filter });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.match((await answer).error, /Cancel/);
  }
});

test('what objects contain is sent only after a question of its own', async () => {
  const dialog = vscode.page.locator('.monaco-dialog-box', {
    hasText: 'Send the contents of objects in train.pickle?',
  });
  // Models also write true as text.
  for (const values of [true, 'true']) {
    const answer = begin('memlens_summary', { values });
    await dialog.waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    assert.match((await answer).error, /Cancel/);
  }
});

test('a file that is not in the workspace is read only once it is confirmed', async () => {
  const file = path.join(ROOT, 'samples', 'words.pb.gz');
  const dialog = vscode.page.locator('.monaco-dialog-box', { hasText: 'Read words.pb.gz?' });
  const refused = begin('memlens_top', { path: file });
  await dialog.waitFor();
  assert.ok((await dialog.innerText()).includes(file));
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  assert.match((await refused).error, /Cancel/);
  // Models also write a file's URI.
  const answer = begin('memlens_top', { path: pathToFileURL(file).href });
  await dialog.waitFor();
  assert.ok((await dialog.innerText()).includes(file));
  await dialog.getByRole('button', { name: 'Yes' }).click();
  assert.equal(JSON.parse((await answer).ok).value, 'inuse_space');
});
