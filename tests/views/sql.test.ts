// Queries in SQL: rows, keys and orders against the command line; what is offered while one is written, and mistakes.

import { Page, until } from './support/page';
import { RealServer } from './support/server';
import { currentCompletions, selectedCompletion } from '@codemirror/autocomplete';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { kept } from '../e2e/snapshots.mjs';

const FILE = 'train.pickle';
const LARGEST = 'The largest allocations at the peak';
const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
const HOSTILE = '<img src=x onerror="window.pwned=1">';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-sql-'));
const at = (name: string): string => path.join(folder, name);

/** What `memlens stack --json` prints. */
interface Stack {
  readonly allocation: { readonly label: { readonly file: string; readonly line: number } };
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync(path.join('samples', FILE), at(FILE));
  writeFileSync(at('hostile.pickle'), kept([[[`${HOSTILE}.py`, 3, HOSTILE]]]));
  server = await RealServer.start(folder);
  page = await Page.open(server, at(FILE));
  await page.command('pane.sql');
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const CONTENT = '.sql .cm-content';
const GRID = '.sql-grid';
const query = (): string => page.sqlEditor.state.doc.toString();
const status = (): string => page.text('.sql-status');
const rows = (more = ''): HTMLElement[] => page.all(`.sql-body .sql-row${more}`);
const column = (name: string): string[] => {
  const index = page.texts('.sql-head [role=columnheader] bdi').indexOf(name);
  return rows().map((row) => row.children[index]!.textContent);
};

/** Enters text as a person types it, which has completions offered. */
const enter = (text: string): void => {
  const { state } = page.sqlEditor;
  page.sqlEditor.dispatch(state.replaceSelection(text), { userEvent: 'input.type' });
};
const offered = (word: string): Promise<void> =>
  until(
    () => selectedCompletion(page.sqlEditor.state)?.label.startsWith(word) ?? false,
    `${word} is offered`,
  );

test('an example shows the same rows as the command line', async () => {
  assert.ok(page.all('.sql select option').length > 10);
  await page.choose('.sql select', LARGEST);
  assert.match(status(), /^100 rows in/);
  const printed: { allocation: number }[] = await server.memlens(folder, 'sql', FILE, query());
  assert.equal(printed.length, 100);
  const shown = column('allocation');
  assert.ok(shown.length >= 5);
  assert.deepEqual(
    shown,
    printed.slice(0, shown.length).map(({ allocation }) => String(allocation)),
  );
  assert.equal(page.one(GRID).getAttribute('aria-rowcount'), '101');
});

test('a click on a row highlights its allocation, Enter opens its line, and all of it is restored', async () => {
  const [allocation] = column('allocation');
  await page.click(rows()[0]!.querySelector<HTMLElement>('[role=gridcell]')!);
  const number = page.one('.panel dt', 'Number').nextElementSibling?.textContent;
  assert.equal(number?.replaceAll(',', ''), allocation);
  assert.deepEqual(rows('[aria-selected=true]'), [rows()[0]]);
  const { allocation: facts } = await server.memlens<Stack>(folder, 'stack', FILE, allocation!);
  await page.press(GRID, 'Enter');
  const { file, line } = page.last('openSource')!;
  assert.deepEqual([file, line], [facts.label.file, facts.label.line]);
  page = await page.reopened();
  assert.match(query(), /FROM live_at_peak/, 'the query is still there');
  assert.match(status(), /^100 rows in/, 'and so are its rows');
});

test('rows can be navigated by keyboard and sorted', async () => {
  await page.runQuery('SELECT moment, action, size_bytes FROM events ORDER BY moment');
  assert.match(status(), /^The first 1,000 rows in/);
  await page.press(GRID, 'End', { ctrlKey: true });
  await page.press(GRID, 'ArrowRight');
  assert.ok(column('moment').includes('1000'), 'the last row');
  await page.press(GRID, 'Home', { ctrlKey: true });
  await page.click('.sql-bar .button', '1,000 more');
  assert.match(status(), /^The first 2,000 rows/);
  // Not all rows are loaded, so the server sorts.
  await page.click('.sql-head [role=columnheader]', 'moment');
  assert.equal(column('moment')[0], '13798', 'the last event first');
  const head = page.one('.sql-head [aria-sort=descending]');
  assert.equal(head.textContent, 'moment');
  assert.equal(head.querySelectorAll('.icon-down').length, 1);
  // All rows are loaded, so they are sorted here.
  await page.runQuery('SELECT 3 AS n UNION ALL SELECT 10 UNION ALL SELECT NULL UNION ALL SELECT 2');
  await page.press(GRID, 's');
  assert.deepEqual(column('n'), ['10', '3', '2', 'NULL']);
  await page.press(GRID, 's');
  assert.deepEqual(column('n'), ['NULL', '2', '3', '10']);
});

test('tables and columns are completed, and errors are marked', async () => {
  const { sqlEditor: editor } = page;
  editor.focus();
  editor.dispatch({ changes: { from: 0, to: editor.state.doc.length } });
  enter('SELECT size_bytes FROM live_at_p');
  await offered('live_at_peak');
  await page.press(CONTENT, 'Tab');
  assert.equal(query(), 'SELECT size_bytes FROM live_at_peak');
  enter(' AS a WHERE a.fi');
  await offered('file');
  await page.press(CONTENT, 'Enter');
  assert.equal(query(), 'SELECT size_bytes FROM live_at_peak AS a WHERE a.file');
  // where nobody types they are offered at a key
  editor.dispatch({
    changes: { from: 0, to: editor.state.doc.length, insert: 'SELECT file, si\nFROM live_at_peak' },
  });
  editor.dispatch({ selection: { anchor: 'SELECT file, si'.length } });
  await page.press(CONTENT, ' ', { ctrlKey: true });
  await offered('size_bytes');
  await page.press(CONTENT, 'Escape');
  assert.deepEqual(currentCompletions(editor.state), []);

  await page.runQuery('SELECT nix FROM events');
  assert.match(status(), /no such column: nix/);
  assert.equal(page.text('.sql-mistake'), 'nix');
  const { from, to } = editor.state.selection.main;
  assert.equal(query().slice(from, to), 'nix');
  editor.dispatch({ selection: { anchor: query().length } });
  enter(' ');
  assert.equal(page.all('.sql-mistake').length, 0);
  await page.runQuery('DELETE FROM events');
  assert.match(status(), /can only be read/);
});

test('an endless query can be cancelled, and the view keeps working meanwhile', async () => {
  page.mayLast = 'memlens/sql';
  await page.runQuery(ENDLESS);
  await until(() => status().startsWith('Running…'), 'it is running');
  const whole = window.memlensTest!.camera();
  await page.command('zoomIn');
  const camera = window.memlensTest!.camera();
  assert.ok(camera.x1 - camera.x0 < whole.x1 - whole.x0);
  await page.click('.sql-bar .button', 'Cancel');
  assert.equal(status(), 'Cancelled');
  page.mayLast = undefined;
  await page.runQuery('SELECT 1 AS one');
  assert.deepEqual(column('one'), ['1']);
});

test('rows are saved unchanged', async () => {
  await page.runQuery("SELECT '=1+1' AS formula, 'a,\"b\"' AS quoted, 5 AS number, NULL AS empty");
  await page.click('.sql-bar .button', 'CSV');
  assert.deepEqual(page.last('saveText'), {
    ...{ type: 'saveText', form: 'csv' },
    text: 'formula,quoted,number,empty\r\n\'=1+1,"a,""b""",5,\r\n',
  });
});

test('what a query reads of contents leaves a heap dump only after a question', async () => {
  cpSync('tests/fixtures/heap/sessions.hprof.zst', at('sessions.hprof.zst'));
  page = await Page.open(server, at('sessions.hprof.zst'));
  await page.command('pane.sql');
  for (const [asked, contents] of [
    ["SELECT text FROM strings WHERE text <> '' LIMIT 2", true],
    ['SELECT type FROM objects LIMIT 2', undefined],
  ] as const) {
    await page.runQuery(asked);
    page.one(GRID).dispatchEvent(new KeyboardEvent('keydown', { key: 'c', ctrlKey: true, bubbles: true }));
    assert.equal(page.last('copy')?.contents, contents);
    assert.notEqual(page.last('copy')?.text, '');
    await page.click('.sql-bar .button', 'CSV');
    assert.equal(page.last('saveText')?.contents, contents);
  }
});

test('names from a snapshot are text', async () => {
  page = await Page.open(server, at('hostile.pickle'));
  await page.command('pane.sql');
  await page.runQuery('SELECT allocation, file, line, function FROM live_at_peak');
  assert.equal(rows().length, 1);
  assert.deepEqual(column('function'), [HOSTILE]);
  assert.equal(page.all('.sql img').length, 0);
  assert.equal(Reflect.get(window, 'pwned'), undefined);
});
