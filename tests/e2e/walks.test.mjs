// Ten questions that people ask about a file they have just opened, each answered within two clicks, with the
// figures of `memlens sql` or another command for the same file; and bookmarks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT, openVSCode } from './harness.mjs';
import { writeLater } from './profiles.mjs';
import { outOfMemory } from './snapshots.mjs';
import { note, test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FIXTURES = path.join(ROOT, 'tests', 'fixtures');
const MOST_CLICKS = 2;
const MOST_CONTROLS = 12;
const MOST_IN_PALETTE = 21;
const DUMP = 'app.heapsnapshot';
const OOM = 'oom.pickle';
/** Recordings under names that a double click opens; they are recognised by their content. */
const RECORDINGS = {
  'service.heaptrack.zst': 'heaptrack.service.71.zst',
  'massif.out.ledger': 'massif.out.72',
  'go-heap.debug1.txt': 'go.pprof',
};

let vscode;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      for (const [name, as] of Object.entries(RECORDINGS))
        cpSync(path.join(FIXTURES, 'profiles', name), path.join(folder, as));
      cpSync(path.join(FIXTURES, 'heap', 'leak.js'), path.join(folder, 'leak.js'));
      execFileSync(process.execPath, ['leak.js', DUMP], { cwd: folder });
      writeFileSync(path.join(folder, OOM), outOfMemory());
      writeLater(path.join(folder, 'words.pb.gz'), path.join(folder, 'words-today.pb.gz'), 3);
    },
  });
});
test.afterAll(() => vscode?.close());

/** A test that opens a file and answers a question about it; `ask` gets a function that clicks and counts. */
function walk(question, file, ask) {
  test(question, async () => {
    const began = performance.now();
    await vscode.openFile(file);
    const view = new SnapshotView(vscode, await vscode.webview());
    await view.locator('#memlens[data-state=ready], #memlens[data-model]').first().waitFor();
    await view.locator('.headline-first').first().waitFor();
    await vscode.page.mouse.move(5, 5); // some appear only under the pointer
    await view.settled();
    const controls = await view.controls();
    assert.ok(controls.length <= MOST_CONTROLS, `${controls.length}: ${controls}`);
    let clicks = 0;
    await ask(view, async (locator) => {
      clicks++;
      await locator.click();
    });
    note(`${clicks} clicks, ${((performance.now() - began) / 1000).toFixed(1)} s with opening`);
    assert.ok(clicks <= MOST_CLICKS, `${clicks} clicks`);
  });
}

/** The rows of a query, each as a list of values. */
const sql = async (file, query) => (await vscode.memlens('sql', file, query)).map(Object.values);

/** The line with the most at the peak, by the line that each stack is attributed to. */
const topLine = async (file, amount = 'live_at_peak_bytes') => {
  const [[name, line, bytes]] = await sql(
    file,
    `SELECT frames.file, frames.line, SUM(stacks.${amount}) AS amount FROM stacks JOIN frames USING (frame)
     WHERE frames.line > 0 GROUP BY 1, 2 ORDER BY amount DESC LIMIT 1`,
  );
  return { place: `${path.posix.basename(name)}:${line}`, bytes };
};

const UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Whether the first amount after some words is that many bytes, to the three digits that are displayed. */
function assertBytes(text, words, bytes) {
  const at = text.indexOf(words);
  assert.ok(at >= 0, `"${words}" is in "${text}"`);
  const [, amount, unit] = /([\d.,]+)\s(B|KiB|MiB|GiB)/.exec(text.slice(at + words.length)) ?? [];
  const shown = Number(amount?.replaceAll(',', '')) * UNITS[unit];
  assert.ok(Math.abs(shown - bytes) <= bytes * 0.006, `${amount} ${unit} after "${words}" is ${bytes} bytes`);
}

const headline = async (view) => (await view.text('.headline-text')).replaceAll('\u00a0', ' ');

walk('whose line?', 'train.pickle', async (view) => {
  const { place, bytes } = await topLine('train.pickle');
  const said = await headline(view);
  assertBytes(said, place, bytes);
  const [[peak]] = await sql('train.pickle', 'SELECT SUM(size_bytes) FROM live_at_peak');
  assertBytes(said, 'Peak ', peak);
});

walk('which layer?', 'train.pickle', async (view, click) => {
  await click(view.locator('.toolbar').getByLabel('Group by'));
  await view.timelineBy('By module');
  await view.drawn();
  const names = await view.locator('.area-legend bdi').allInnerTexts();
  assert.ok(names.length > 2, names.join());
  await vscode.screenshot('walk-layer');
});

walk('which step grew, and where?', 'train.pickle', async (view, click) => {
  const { growth } = await vscode.memlens('steps', 'train.pickle');
  await click(view.locator('.dock').getByRole('tab', { name: 'Leaks' }));
  const row = view.locator('.growth-table tbody tr').first();
  await row.waitFor();
  await view.settled();
  const [{ frame, grown_bytes: bytes }] = growth.rows;
  const text = (await row.innerText()).replaceAll('\u00a0', ' ');
  assert.ok(text.includes(`${frame.file}:${frame.line}`), text);
  assertBytes(text, `:${frame.line}`, bytes);
});

walk('what would have helped?', OOM, async (view) => {
  const said = await headline(view);
  assert.match(said, /Out of memory at model\.py:24.* Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True/s);
  const [[asked, free]] = await sql(
    OOM,
    `SELECT size_bytes, notes.value FROM events JOIN notes USING (event)
     WHERE action = 'oom' AND device = 1 AND notes.name = 'device_free'`,
  );
  assertBytes(said, 'model.py:24: ', asked);
  assertBytes(said, 'requested, ', free);
});

walk('what grew in the Go service?', 'go.pprof', async (view) => {
  const { place, bytes } = await topLine('go.pprof', 'live_at_end_bytes');
  assertBytes(await headline(view), place, bytes);
});

walk('which line of mine does massif blame?', 'massif.out.72', async (view) => {
  const [[name, line, bytes]] = await sql(
    'massif.out.72',
    `SELECT file, line, SUM(stacks.live_at_peak_bytes) FROM stacks JOIN frames USING (frame)
     WHERE kind = 'user' AND line > 0 GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 1`,
  );
  assertBytes(await headline(view), `${path.posix.basename(name)}:${line}`, bytes);
});

walk('what leaks?', 'heaptrack.service.71.zst', async (view, click) => {
  const { place, bytes } = await topLine('heaptrack.service.71.zst', 'live_at_end_bytes');
  const picker = view.locator('.toolbar select').first();
  await click(picker);
  await view.press('Escape');
  const leaks = await labelOf(picker, /leak/i);
  await click({ click: () => picker.selectOption({ label: leaks }) });
  const row = view.locator('.live-set .grid-row').first();
  await row.filter({ hasText: place }).waitFor();
  assertBytes((await row.innerText()).replaceAll('\u00a0', ' '), place, bytes);
});

const labelOf = async (picker, pattern) =>
  (await picker.locator('option').allInnerTexts()).find((text) => pattern.test(text));

walk('what changed since yesterday?', 'words-today.pb.gz', async (view, click) => {
  await click(view.locator('.toolbar').getByRole('button', { name: 'Compare…' }));
  const offered = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'words.pb.gz' });
  await vscode.pick(offered.first());
  const { rows } = await vscode.memlens('compare', 'words.pb.gz', 'words-today.pb.gz');
  const [{ after: now, before: then, difference_bytes: difference }] = rows;
  const row = view.locator('.compare-row').first();
  await row.waitFor();
  await view.settled();
  const text = (await row.innerText()).replaceAll('\u00a0', ' ');
  assert.ok(text.includes(`words.py:${(now ?? then).line}`), text);
  assertBytes(text, difference > 0 ? '+' : '−', Math.abs(difference));
});

walk('who holds it?', DUMP, async (view) => {
  const said = await headline(view);
  const [, id] = /@(\d+) retains/.exec(said);
  const [[retained]] = await sql(DUMP, `SELECT retained_bytes FROM objects WHERE id = ${id}`);
  assertBytes(said, 'retains ', retained);
  // the Map by the store itself, or by the closure's context that refers to it, depending on the version of Node.js
  assert.match(said, /Map @.*4,000 Session.*Held by (?:SessionStore|store)\.sessions\. /s);
});

walk('what is alive because of it?', DUMP, async (view, click) => {
  await click(view.locator('.headline-text .link').first());
  const details = view.locator('.panel');
  await details.filter({ hasText: /retain/i }).waitFor();
});

test('a moment is bookmarked with a note: listed, drawn, renamed, visited, exported, deleted', async () => {
  const view = await SnapshotView.opened(vscode, 'train.pickle');
  const { page } = vscode;
  const input = page.locator('.quick-input-widget input');
  const note = async (text) => {
    await input.waitFor();
    await input.fill(text);
    await page.keyboard.press('Enter');
    await input.waitFor({ state: 'hidden' });
  };
  const { x, y, width, height } = await view.surface();
  await page.mouse.click(x + width * 0.3, y + height * 0.5);
  await view.press('k');
  await note('warm-up ends');
  await page.mouse.click(x + width * 0.7, y + 8, { button: 'right' });
  await view.menuItem('Add Bookmark Here…').click();
  await note('where it <b>hurts</b>');
  await view.pane('Bookmarks');
  const notes = () => view.locator('.bookmarks .bookmark-note').allInnerTexts();
  await until(async () => (await notes()).length === 2, 'both are listed');
  assert.deepEqual(await notes(), ['warm-up ends', 'where it <b>hurts</b>']);
  await vscode.screenshot('bookmarks');

  // keys in the list, and those that go from one bookmark to the next
  await view.locator('.bookmark-note').first().focus();
  await view.press('ArrowDown');
  await view.press('F2');
  await until(async () => (await input.inputValue()) === 'where it <b>hurts</b>', 'its note can be edited');
  await note('the second peak');
  await until(async () => (await notes())[1] === 'the second peak', 'it is renamed');
  await vscode.runCommand('Memlens: Go to Previous Bookmark');
  // not where it is read out: the cursor's moment follows there
  await view.locator('.status-note', { hasText: 'Bookmark at' }).waitFor();

  // they are stored beside the archive
  const { bookmarks } = JSON.parse(
    await vscode.host.commandLine.run(
      ['bookmarks', 'train.pickle', '--json', '--cache-dir', vscode.cache],
      vscode.folder,
    ),
  );
  assert.deepEqual(
    bookmarks.map((each) => each.note),
    ['warm-up ends', 'the second peak'],
  );
  await vscode.runCommand('Memlens: Export Bookmarks…');
  const saved = path.join(vscode.folder, 'notes.json');
  await vscode.choosePath(/train-bookmarks\.json$/, saved);
  const exported = await until(() => {
    try {
      return JSON.parse(readFileSync(saved, 'utf8'));
    } catch {
      return null;
    }
  }, 'they are written');
  assert.deepEqual(exported, { bookmarks });
  await vscode.hideAndShow('train.pickle');
  const again = await SnapshotView.visible(vscode);
  await again.pane('Bookmarks');
  await again.locator('.bookmark-note').first().focus();
  await again.press('Delete');
  await until(async () => (await again.locator('.bookmark-note').count()) === 1, 'one bookmark is left');
  assert.equal(await again.text('.bookmark-note'), 'the second peak');
});

test('a profile has few controls, and axe-core finds nothing wrong with it', async () => {
  await vscode.openFile('heaptrack.service.71.zst');
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model]').waitFor();
  await view.locator('.headline-first').first().waitFor();
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  const shown = await view.controls();
  assert.ok(shown.length <= MOST_CONTROLS, `${shown.length}: ${shown}`);
  await vscode.screenshot('walk-heaptrack');
  assert.deepEqual(await view.violations(), []);
  await view.assertLegible(['#memlens'], 15);
});

test('the palette has few commands, and its lists only those that apply to the active view', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  const shown = () => vscode.listed('Memlens: Show…');
  await until(async () => (await shown()).includes('Show Leaks'), 'the list has the panes of a trace');
  assert.ok(!(await shown()).includes('Show Types of Objects'));
  const inPalette = (await vscode.offered('Memlens: ')).filter((title) => title.startsWith('Memlens: '));
  assert.ok(inPalette.length <= MOST_IN_PALETTE, `${inPalette.length}: ${inPalette}`);
  assert.ok(inPalette.includes('Memlens: Group Timeline By…'));
  await vscode.openFile(DUMP);
  const view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph]').waitFor();
  await until(
    async () => (await shown()).includes('Show Types of Objects'),
    'the list has the panes of a heap dump',
  );
  assert.ok(!(await shown()).includes('Show Leaks'));
  await vscode.screenshot('walk-palette');
  assert.deepEqual(vscode.consoleErrors, []);
});
