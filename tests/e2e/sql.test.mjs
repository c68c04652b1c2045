// SQL queries: an example is run, a row highlights its allocation, a row opens its line, and names are only text.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { kept } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';
const LARGEST = 'The largest allocations at the peak';
const ENDLESS = 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c';
const HOSTILE = '<img src=x onerror="window.pwned=1">';

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) =>
      writeFileSync(path.join(folder, 'hostile.pickle'), kept([[[`${HOSTILE}.py`, 3, HOSTILE]]])),
  });
});
test.afterAll(() => vscode?.close());

const area = () => view.locator('.sql .cm-content');
const query = () =>
  area().evaluate((content) =>
    content.querySelector('.cm-placeholder')
      ? ''
      : [...content.querySelectorAll('.cm-line')].map(({ textContent }) => textContent).join('\n'),
  );
const status = () => view.text('.sql-status');
const rows = () => view.locator('.sql-body .sql-row').count();

async function run(sql) {
  await view.runQuery(sql);
  await until(
    () => area().evaluate(() => !document.querySelector('.sql').hasAttribute('aria-busy')),
    'an answer',
  );
}

async function column(name) {
  return await view.frame.evaluate((wanted) => {
    const heads = [...document.querySelectorAll('.sql-head [role=columnheader] bdi')];
    const at = heads.findIndex((head) => head.textContent === wanted);
    return [...document.querySelectorAll('.sql-body .sql-row')].map((row) => row.children[at].textContent);
  }, name);
}

test('an example shows the same rows as the command line', async () => {
  view = await SnapshotView.opened(vscode, FILE);
  await vscode.runCommand('Memlens: Query with SQL');
  await until(
    () =>
      view
        .locator('.sql select option')
        .count()
        .then((count) => count > 10),
    'the examples',
  );
  const [examples] = await view.locator('.sql select').all();
  await examples.selectOption({ label: LARGEST });
  await until(async () => /^100 rows in/.test(await status()), 'the rows');
  const printed = await vscode.memlens('sql', FILE, await query());
  assert.equal(printed.length, 100);
  const shown = await column('allocation');
  assert.ok(shown.length >= 5);
  assert.deepEqual(
    shown,
    printed.slice(0, shown.length).map((row) => String(row.allocation)),
  );
  assert.equal(await view.locator('.sql-grid').getAttribute('aria-rowcount'), '101');
});

test('a click on a row highlights its allocation, Enter opens its line', async () => {
  const [allocation] = await column('allocation');
  await view.locator('.sql-body .sql-row').first().locator('[role=gridcell]').first().click();
  await view.selected(Number(allocation));
  await until(
    async () => (await view.locator('.sql-row[aria-selected=true]').count()) === 1,
    'its row is selected',
  );
  const { allocation: facts } = await vscode.memlens('stack', FILE, Number(allocation));
  await view.locator('.sql-grid').press('Enter');
  await vscode.atLine(path.basename(facts.label.file), facts.label.line);
});

test('rows can be navigated by keyboard and sorted', async () => {
  await vscode.runCommand('View: Close Editor');
  await view.still();
  assert.match(await query(), /FROM live_at_peak/, 'the query is still there');
  await until(async () => /^100 rows in/.test(await status()), 'and so are its rows');
  await run('SELECT moment, action, size_bytes FROM events ORDER BY moment');
  assert.match(await status(), /^The first 1,000 rows in/);
  await view.locator('.sql-grid').focus();
  for (const key of ['Control+End', 'ArrowRight']) await view.locator('.sql-grid').press(key);
  await until(async () => (await column('moment')).includes('1000'), 'the last row');
  await view.locator('.sql-bar .button', { hasText: '1,000 more' }).click();
  await until(async () => /^The first 2,000 rows/.test(await status()), 'more rows');
  // Not all rows are loaded, so the server sorts.
  await view.locator('.sql-head [role=columnheader]', { hasText: 'moment' }).click();
  await until(async () => (await column('moment'))[0] === '13798', 'the last event first');
  const head = view.locator('.sql-head [aria-sort=descending]');
  assert.equal(await head.innerText(), 'moment');
  assert.equal(await head.locator('.icon-down').count(), 1);
  // All rows are loaded, so they are sorted here.
  await run('SELECT 3 AS n UNION ALL SELECT 10 UNION ALL SELECT NULL UNION ALL SELECT 2');
  await view.locator('.sql-grid').focus();
  await view.locator('.sql-grid').press('s');
  const sorted = (...values) =>
    until(async () => (await column('n')).join() === values.join(), `they stand as ${values}`);
  await sorted('10', '3', '2', 'NULL');
  await view.locator('.sql-grid').press('s');
  await sorted('NULL', '2', '3', '10');
});

/** CodeMirror ignores keys that come right after it has shown completions, which nobody has read yet: for 75 ms. */
const HELD_BACK_MS = 100;

test('tables and columns are completed, and errors are marked', async () => {
  await area().fill('');
  await area().pressSequentially('SELECT size_bytes FROM live_at_p');
  await view.locator('.cm-tooltip-autocomplete li[aria-selected]', { hasText: 'live_at_peak' }).waitFor();
  await vscode.page.waitForTimeout(HELD_BACK_MS);
  await area().press('Tab');
  assert.equal(await query(), 'SELECT size_bytes FROM live_at_peak');
  await area().pressSequentially(' AS a WHERE a.fi');
  await view.locator('.cm-tooltip-autocomplete li[aria-selected]', { hasText: 'file' }).waitFor();
  await vscode.page.waitForTimeout(HELD_BACK_MS);
  await area().press('Enter');
  assert.equal(await query(), 'SELECT size_bytes FROM live_at_peak AS a WHERE a.file');
  await run('SELECT nix FROM events');
  assert.match(await status(), /no such column: nix/);
  assert.equal(await view.text('.sql-mistake'), 'nix');
  assert.equal(await area().evaluate((each) => each.ownerDocument.getSelection().toString()), 'nix');
  await area().press('End');
  await area().pressSequentially(' ');
  await view.locator('.sql-mistake').waitFor({ state: 'detached' });
  await run('DELETE FROM events');
  assert.match(await status(), /can only be read/);
});

test('an endless query can be cancelled, and the view keeps working meanwhile', async () => {
  await area().fill(ENDLESS);
  await area().press('Control+Enter');
  await view.locator('.sql-status', { hasText: /^Running…/ }).waitFor();
  await view.moved(() => vscode.runCommand('Memlens: Zoom In'));
  await view.locator('.sql-bar .button', { hasText: 'Cancel' }).click();
  await until(async () => (await status()) === 'Cancelled', 'it is cancelled');
  await run('SELECT 1 AS one');
  assert.deepEqual(await column('one'), ['1']);
});

test('rows are saved unchanged', async () => {
  await run("SELECT '=1+1' AS formula, 'a,\"b\"' AS quoted, 5 AS number, NULL AS empty");
  await view.locator('.sql-bar .button', { hasText: 'CSV' }).click();
  await vscode.choosePath(/train-query\.csv$/);
  const target = path.join(vscode.folder, 'train-query.csv');
  await until(() => {
    try {
      return readFileSync(target, 'utf8').length > 0;
    } catch {
      return false;
    }
  }, 'the file');
  assert.equal(readFileSync(target, 'utf8'), 'formula,quoted,number,empty\r\n\'=1+1,"a,""b""",5,\r\n');
});

test('it is legible in every theme', async () => {
  const [examples] = await view.locator('.sql select').all();
  await examples.selectOption({ label: LARGEST });
  await until(async () => /^100 rows in/.test(await status()), 'the rows');
  await view.locator('.sql-body .sql-row').nth(1).locator('[role=gridcell]').first().click();
  for (const theme of ['light', 'dark', 'hc']) {
    await vscode.setTheme(theme);
    await area().fill('SELECT file, si\nFROM live_at_peak');
    await area().press('Control+Home');
    await area().press('End');
    await area().press('Control+Space');
    await view.locator('.cm-tooltip-autocomplete li').first().waitFor();
    await vscode.screenshot(`sql-${theme}`);
    await area().press('Escape');
  }
});

test('names from a snapshot are text', async () => {
  await vscode.openFile('hostile.pickle');
  view = await SnapshotView.visible(vscode);
  await vscode.runCommand('Memlens: Query with SQL');
  await until(async () => (await query()) !== '', 'the panel');
  await run('SELECT allocation, file, line, function FROM live_at_peak');
  assert.equal(await rows(), 1);
  assert.deepEqual(await column('function'), [HOSTILE]);
  assert.equal(await view.locator('.sql img').count(), 0);
  assert.equal(await view.frame.evaluate(() => window.pwned), undefined);
});
