// A heap dump beside earlier ones of its process: what is new, what holds it, types over time; queries, filters by
// their rows, rings and notes. The process keeps its sessions, of which each dump has more.

import { Page } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const FILE = 'service.heapsnapshot';
/** The same process before: the first has a quarter of the sessions, the second half of them. */
const EARLIER = ['first.heapsnapshot', 'second.heapsnapshot', 'third.heapsnapshot'] as const;
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-heap-compare-'));
const at = (name: string): string => path.join(folder, name);

/** What `memlens types --json` prints. */
interface Types {
  readonly types: readonly {
    readonly type: string;
    readonly count: number;
    readonly retained_bytes: number;
  }[];
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync('tests/fixtures/heap/leak.js', at('leak.js'));
  execFileSync(process.execPath, ['leak.js', ...EARLIER, FILE], { cwd: folder });
  server = await RealServer.start(folder);
  page = await Page.open(server, at(FILE));
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const COUNTED = "SELECT type, count(*) AS n FROM objects WHERE type = 'Session' GROUP BY 1";
const SESSION = /^Session(?!Store)/;
const rows = (pane: string, having: string | RegExp = ''): HTMLElement[] =>
  page.all(`[id=pane-${pane}] .grid-row`, having);
const compared = (having: string | RegExp = ''): HTMLElement[] => rows('compare', having);
const show = (part: string): Promise<void> => page.click('.choice button', part);
const shownPane = (): string => page.text('.dock [role=tab][aria-selected=true]');
const name = (): string => page.text('.heap-details .panel-name');
const badge = (): string => page.all('.filter-badge')[0]?.textContent ?? '';
const filterText = (): string => (page.one('.filter-input') as HTMLInputElement).value;
const sqlRows = (having: string | RegExp = ''): HTMLElement[] => page.all('.sql-body .sql-row', having);
/** A checkbox of SQL's controls, which asks other files as well. */
const ask = async (box: string): Promise<void> => {
  const input = page.one(`${box} input`) as HTMLInputElement;
  input.checked = !input.checked;
  input.dispatchEvent(new Event('change', { bubbles: true }));
  await page.settled();
};

test('compared with an earlier dump: what is new, what holds it and where', async () => {
  await page.pane('Compare');
  await page.compare(at(EARLIER[0]), true);
  const session = compared(SESSION)[0]!;
  assert.match(session.textContent, /4,000.*\+3,000.*3,000.*0.*MiB/);
  // the new objects, largest first
  await page.click(session.querySelector<HTMLElement>('.twistie')!);
  await page.click(compared(/Session @/)[0]!);
  assert.match(page.text('.heap-details h2'), /Object/);
  await page.press('[id=pane-compare] .grid', 'Home'); // a DOM without layout would stay scrolled below fewer rows
  await show('Holders');
  assert.match(compared()[0]!.textContent, /^(Map|\(array\)) @/);
  await show('Paths');
  assert.ok(compared(/Session/).length > 0);
  await show('Findings');
  const grown = page.one('.heap-compared-findings li', 'Large retained size');
  assert.match(grown.textContent, /MiB → [\d.]+ MiB\s*▲ \+[\d.]+ MiB[^]*4,000 Session/);
  const [link] = [...grown.querySelectorAll<HTMLElement>('button.link')].filter(({ textContent }) =>
    textContent.includes('4,000 Session'),
  );
  await page.click(link!);
  assert.match(page.text('.heap-details h2'), /Group/);
  await page.pane('SQL');
  await page.runQuery(COUNTED);
  await ask('.sql-both');
  assert.equal(sqlRows(/^Session\s*1000\s*4000\s*3000$/).length, 1);
  await ask('.sql-both');
});

test('over time: a type grows throughout, and what was allocated between two dumps is a filter', async () => {
  await page.pane('Compare');
  await show('Over time');
  await page.click('.compare-banner .button', 'Choose Dumps');
  assert.ok(page.last('chooseSeries'));
  await page.series(EARLIER.map(at));
  assert.equal(page.all('.series-chart').length, 1);
  const line = (): HTMLElement => compared(SESSION)[0]!;
  assert.match(line().textContent, /grows throughout.*4,000/);
  await page.click(line());
  assert.equal(page.all('.series-line.marked circle').length, 4);
  // of four dumps, what was allocated between the first two and is still there in the last
  const between = `-in:${EARLIER[0]} in:${EARLIER[1]}`;
  const { types }: Types = await server.memlens(folder, 'types', FILE, '--filter', between);
  assert.equal(types.find(({ type }) => type === 'Session')?.count, 1000);
  await page.choose('.heap-compare-note .dropdown', between);
  await page.pane('Types');
  assert.match(rows('types', SESSION)[0]!.textContent, /^Session\s*1,000/);
  await page.pane('Compare');
  await page.choose('.heap-compare-note .dropdown', '');
  assert.match(line().textContent, /4,000/, 'all objects are back');
  await page.pane('SQL');
  await ask('.sql-series');
  await page.runQuery(COUNTED);
  assert.match(page.text('.sql-head'), /1 n[^]*4 n[^]*difference n/);
  assert.equal(sqlRows(/^Session(\s*\d+){3}\s*4000\s*\d+$/).length, 1);
  await ask('.sql-series');
  await page.pane('Compare');
  page = await page.reopened();
  assert.equal(shownPane(), 'Compare');
  assert.equal(page.all('.series-chart').length, 1);
  assert.equal(page.one('.series-line').querySelectorAll('circle').length, 4);
  await show('Types');
  assert.match(compared(SESSION)[0]!.textContent, /4,000.*\+3,000/);
});

test('SQL leads to objects, and the explored objects are restored', async () => {
  await page.pane('SQL');
  await page.runQuery("SELECT object, type, retained_bytes FROM objects WHERE type = 'SessionStore'");
  await page.click('.sql-body .sql-row', 'SessionStore');
  assert.match(name(), /SessionStore/);
  await page.pane('Dominators');
  page = await page.reopened();
  assert.match(name(), /SessionStore/);
  assert.equal(shownPane(), 'Dominators');
});

test('what is selected is kept with a note, which its details show and the command line prints', async () => {
  await page.press(document.body, 'k');
  await page.noted('who <b>clears</b> it?');
  const notes = (): string[] => page.texts('.heap-bookmark bdi');
  assert.deepEqual(notes(), ['who <b>clears</b> it?']);
  await page.pane('Bookmarks');
  const kept = (): HTMLElement[] => page.all('.bookmarks tbody tr');
  assert.match(kept()[0]!.textContent, /^who <b>clears<\/b> it\?\s*Object\s*SessionStore @\d+/);
  await page.command('clearSelection');
  await page.click('.bookmarks .bookmark-note');
  assert.match(name(), /SessionStore/);
  // they are stored beside the archive
  const { bookmarks } = await server.memlens<{ bookmarks: { note: string; name: string }[] }>(
    ...([folder, 'bookmarks', FILE] as const),
  );
  assert.deepEqual(
    bookmarks.map((each) => [each.note, each.name]),
    [['who <b>clears</b> it?', 'SessionStore']],
  );
  await page.press('.bookmarks .bookmark-note', 'Delete');
  await page.noted('');
  assert.equal(kept().length, 0);
  assert.deepEqual(notes(), []);
});

test('the rows of a query are the filter of all views', async () => {
  const button = (): HTMLButtonElement => page.one('.sql-bar .button', 'Filter') as HTMLButtonElement;
  await page.pane('SQL');
  await page.runQuery('SELECT type, count(*) FROM objects GROUP BY type');
  assert.ok(sqlRows().length > 0);
  assert.equal(button().disabled, true);
  await page.runQuery("SELECT object, type -- of it\nFROM objects\nWHERE type = 'SessionStore'");
  await page.click(button());
  assert.match(badge(), /^1 of/);
  await page.pane('Types');
  const types = page.all('[id=pane-types] .grid-row[aria-level="1"]');
  assert.equal(types.length, 1);
  assert.match(types[0]!.textContent, /^SessionStore\s*1/);
  assert.equal(types[0]!.querySelectorAll('div')[1]!.textContent, '1');
  assert.equal(filterText(), `query:"SELECT object, type FROM objects WHERE type = 'SessionStore'"`);
  // it comes back with the view, and a key takes what is written
  page = await page.reopened();
  assert.match(badge(), /^1 of/);
  await page.pane('SQL');
  const run = (query: string): Promise<void> => page.runQuery(query, { shiftKey: true });
  await run("SELECT target FROM refs JOIN objects ON object = source WHERE type = 'SessionStore'");
  assert.match(badge(), /^[2-9]\d* of/);
  await run('SELECT nix FROM objects');
  assert.match(page.text('.filter-error'), /The filter's query: no such column: nix/);
  await page.filter('');
  assert.equal(badge(), '');
  await page.pane('Dominators');
});

test('the rings have the same figures, zoom and selection', async () => {
  await page.click('.sunburst-toggle');
  const arcs = window.memlensSunburst!();
  const info: { shallow_bytes: number } = await server.memlens(folder, 'info', FILE);
  const { types }: Types = await server.memlens(folder, 'types', FILE);
  const { retained_bytes: retained } = types.find(({ type }) => type === 'Session')!;
  const sessions = arcs.filter((arc) => arc.name === 'Session');
  const turn = sessions.reduce((sum, { angle }) => sum + angle, 0);
  assert.ok(Math.abs(turn - (2 * Math.PI * retained) / info.shallow_bytes) < 0.02, `${turn}`);
  const first = arcs.filter(({ depth }) => depth === 1).reduce((sum, { angle }) => sum + angle, 0);
  assert.ok(first <= 2 * Math.PI + 1e-9 && first > 1.99 * Math.PI, `${first}`);
  const widest = sessions.reduce((a, b) => (b.angle > a.angle ? b : a));
  const surface = '.sunburst-surface';
  await page.clickAt(surface, { x: widest.x, y: widest.y, width: 0, height: 0 });
  assert.match(name(), /Session/);
  await page.press(surface, 'Enter');
  assert.ok(window.memlensFlame!.camera().x1 < 1, 'it has zoomed');
  await page.press(surface, '0');
  assert.equal(window.memlensFlame!.camera().x1, 1);
  await page.click('.sunburst-toggle');
});
