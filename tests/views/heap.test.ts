// Heap dumps of small programs whose leaks are known: filters, groups of the trees, why something is alive, threads.

import { Page, SIZE } from './support/page';
import { RealServer, python } from './support/server';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const FILE = 'service.heapsnapshot';
const PYTHON = 'sessions.pyheap';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-heap-'));
const PACKS = 'pyserver/memlens/packs';
const at = (name: string): string => path.join(folder, name);
const linesOf = (name: string): string[] => readFileSync(at(`src/${name}`), 'utf8').split('\n');

/** What `memlens types --json` and `memlens flame --json` print of each type, or group. */
interface Types {
  readonly types: readonly {
    readonly type: string;
    readonly count: number;
    readonly retained_bytes: number;
  }[];
}
interface Groups {
  readonly groups: readonly {
    readonly type: string;
    readonly retained_bytes?: number;
    readonly total_bytes?: number;
  }[];
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync('tests/fixtures/heap', folder, { recursive: true });
  // those of packs lie beside their tests
  cpSync(`${PACKS}/dotnet/tests/sessions.gcdump`, at('sessions.gcdump'));
  cpSync(`${PACKS}/dotnet/tests/Sessions.cs`, at('src/Sessions.cs'));
  cpSync(`${PACKS}/ruby/tests/sessions.ruby.json.zst`, at('sessions.ruby.json.zst'));
  cpSync(`${PACKS}/android/tests/both.pftrace`, at('both.pftrace'));
  cpSync(`${PACKS}/ruby/tests/src/sessions.rb`, at('src/sessions.rb'));
  execFileSync(process.execPath, ['leak.js', FILE], { cwd: folder });
  await python(at('src/sessions.py'), at(PYTHON));
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const badge = (): string => page.all('.filter-badge')[0]?.textContent ?? '';
const filterText = (): string => (page.one('.filter-input') as HTMLInputElement).value;
const rows = (pane: string, more = ''): HTMLElement[] => page.all(`[id=pane-${pane}] .grid-row${more}`);
const boxes = () => window.memlensFlame?.boxes() ?? [];
const widthOf = (name: string): number =>
  Math.max(
    ...boxes()
      .filter((box) => box.name === name)
      .map(({ width }) => width),
  );
const shownPane = (): string => page.text('.dock [role=tab][aria-selected=true]');

describe('a dump of V8', () => {
  before(async () => {
    page = await Page.open(server, at(FILE));
  });

  test('boxes are as wide as what dominators retain, and the leak is the widest of the program’s own', async () => {
    const { types }: Types = await server.memlens(folder, 'types', FILE);
    const session = types.find(({ type }) => type === 'Session')!;
    const info: { shallow_bytes: number } = await server.memlens(folder, 'info', FILE);
    const own = boxes().filter(({ name }) => name === 'Session');
    const width = own.reduce((sum, box) => sum + box.width, 0);
    assert.ok(Math.abs(width - (SIZE.width * session.retained_bytes) / info.shallow_bytes) < 3, `${width}`);
    assert.ok(width > SIZE.width / 4);
  });

  test('a filter narrows the tables, and its errors are shown', async () => {
    await page.filter('type:=Session retained>1KiB');
    assert.match(badge(), /^4,000 of/);
    await page.pane('Types');
    const types = rows('types', '[aria-level="1"]');
    assert.equal(types.length, 1);
    assert.match(types[0]!.textContent, /^Session\s*4,000/);
    await page.filter('type:Sesion');
    await page.waitUntil(() => page.text('.filter-error').includes('type:Session'), 'a nearer type is named');
    await page.filter('size>1');
    assert.match(page.text('.filter-error'), /there is no 'size'/);
    // the findings of this dump are suggested by name, and stand for their objects
    await page.type('.filter-input', 'finding:');
    assert.ok(page.texts('.filter-offers li code').includes('finding:"Large retained size"'));
    await page.filter('finding:"Large retained size"');
    const { types: about }: Types = await server.memlens(folder, 'types', FILE, '--filter', filterText());
    const objects = about.reduce((sum, { count }) => sum + count, 0);
    assert.ok(objects > 0 && badge().startsWith(`${objects} of`), badge());
    await page.filter('');
    assert.equal(badge(), '');
    // a part of the heap is chosen from a menu, as a filter
    await page.click('.heap-overview button', 'Filter by Part');
    await page.click('.menu [role^=menuitem]');
    assert.notEqual(filterText(), '');
    assert.match(badge(), / of /);
    assert.equal(shownPane(), 'Dominators');
    await page.filter('');
  });

  test('a query is the filter of all views, and its errors are shown', async () => {
    await page.filter(`query:"SELECT object FROM objects WHERE type = 'SessionStore'"`);
    assert.match(badge(), /^1 of/);
    await page.pane('Types');
    const types = rows('types', '[aria-level="1"]');
    assert.equal(types.length, 1);
    assert.match(types[0]!.textContent, /^SessionStore\s*1/);
    page = await page.reopened();
    assert.match(badge(), /^1 of/);
    await page.filter(
      `query:"SELECT target FROM refs JOIN objects ON object = source WHERE type = 'SessionStore'"`,
    );
    assert.match(badge(), /^[2-9]\d* of/);
    await page.filter('query:"SELECT nix FROM objects"');
    assert.match(page.text('.filter-error'), /The filter's query: no such column: nix/);
    await page.filter('');
  });
});

describe('a dump of Java', () => {
  const dump = 'sessions.hprof.zst';

  before(async () => {
    page = await Page.open(server, at(dump));
  });

  /** The widest box of a name is as wide as the largest group that the command line prints in the same tree. */
  async function assertAsWide(name: string, ...options: string[]): Promise<number> {
    const { groups }: Groups = await server.memlens(
      ...([folder, 'flame', dump, '--group', 'package', ...options] as const),
    );
    const size = (group: Groups['groups'][number]): number => group.retained_bytes ?? group.total_bytes ?? 0;
    const largest = Math.max(...groups.filter(({ type }) => type === name).map(size));
    const width = (SIZE.width * largest) / size(groups[0]!);
    assert.ok(Math.abs(widthOf(name) - width) < 3, `${widthOf(name)} for ${width}`);
    return largest;
  }

  test('its trees, of dominators and of shortest paths, are grouped by package as well', async () => {
    const group = '.heap-icicle-bar select[aria-label="Group the tree"]';
    const tree = '.heap-icicle-bar select[aria-label="Tree"]';
    await page.more('Group by package');
    await assertAsWide('shop');
    await page.clickAt(
      '.flame-surface',
      boxes().find(({ name }) => name === 'shop')!,
    );
    assert.equal(page.text('.heap-details .panel-name'), 'shop');
    assert.match(page.text('.heap-details'), /Session/);
    // the class is a root, and what its map holds is below it; the icicle and the table show the same tree
    await page.more('Shortest paths');
    const total = await assertAsWide('java.util', '--tree', 'paths');
    const widest = boxes().find(({ name, width }) => name === 'java.util' && width === widthOf('java.util'))!;
    await page.clickAt('.flame-surface', widest);
    assert.match(page.text('.heap-details'), /Reached through/);
    assert.match(page.text('.heap-details'), new RegExp(`Total\\s*${(total / 2 ** 20).toFixed(2)} MiB`));
    await page.pane('Dominators');
    assert.match(page.text('[id=pane-dominators] .grid-head'), /Total/);
    assert.equal((page.one('.heap-bar select[aria-label="Tree"]') as HTMLSelectElement).value, 'paths');
    await page.choose(tree, 'dominators');
    assert.doesNotMatch(page.text('[id=pane-dominators] .grid-head'), /Total/);
    await page.choose(group, 'type');
    assert.ok(boxes().some(({ name }) => name.endsWith('Sessions$Session')));
    // what a map contains is listed by its keys
    await page.filter('type:"=java.util.HashMap" retained>1MiB');
    await page.pane('Types');
    await page.click(rows('types', '[aria-level="2"]')[0]!);
    const contents = page.one('.heap-details section[aria-label="Contains (400)"]');
    assert.match(contents.textContent, /17 →\s*Sessions\$Session @/);
  });
});

/** Small programs that keep all their sessions, with a dump of each and the line that is to be found. */
const LEAKS = [
  {
    ...{ file: 'sessions.hprof.zst', source: 'Sessions.java' },
    type: 'shop.Sessions$Session (jdk.internal.loader.ClassLoaders$AppClassLoader)',
    ...{ line: 'final class Session {', finding: /Held by .*OPEN/ },
    path: /OPEN →.*HashMap.*table →.*Node\[\].*Session/s,
  },
  {
    ...{ file: 'sessions.gcdump', type: 'Shop.Session (App.dll)', source: 'Sessions.cs' },
    ...{ line: 'sealed class Session', finding: /400 Session.*Shop\.Program\.Open/ },
    path: /Program\.Open.*Dictionary.*Entry.*Session/s,
  },
  {
    ...{ file: 'sessions.ruby.json.zst', type: 'Session', source: 'sessions.rb' },
    ...{ line: '= Session.new(user)', finding: /200 Session.*Remove what is no longer needed/ },
    path: /Hash @.*Session @/s,
  },
  {
    ...{ file: PYTHON, type: '__main__.Session', source: 'sessions.py' },
    line: 'def __init__(self, user: int)',
    finding: /400 Session.*Held by __main__\.registry\.sessions\. Remove what is no longer needed/,
    path: /registry.*sessions →.*dict.*Session @/s,
  },
];
for (const { file, type, source, line, finding, path: held } of LEAKS)
  test(`a leak of ${source}: the finding names it, the path ends at it, its source is its line`, async () => {
    page = await Page.open(server, at(file));
    assert.match(page.text('.headline-text'), finding);
    await page.filter(`type:"=${type}"`);
    await page.pane('Types');
    const types = rows('types', '[aria-level="1"]');
    assert.equal(types.length, 1);
    assert.match(types[0]!.textContent, /Session/);
    // a single row opens automatically
    await page.click(rows('types', '[aria-level="2"]')[0]!);
    await page.click('.heap-actions button', 'Why Alive');
    assert.match(page.text('.heap-chain'), held);
    await page.click('.heap-actions button', 'Open Source');
    const found = await page.sourceOf(page.last('openObjectSource')!);
    assert.equal(found.path && path.basename(found.path), source);
    assert.equal(found.line, linesOf(source).findIndex((each) => each.includes(line)) + 1);
  });

test('the thread that ran out of memory: the headline leads to its frames, a frame to its line', async () => {
  const file = 'ran_out.hprof.zst';
  page = await Page.open(server, at(file));
  assert.match(page.text('.headline-text'), /ran out of memory in RanOut\.grow/);
  await page.click('.headline-text button', /^importer$/);
  assert.equal(shownPane(), 'Threads');
  const failed = rows('threads', '[aria-level="1"]')[0]!;
  assert.match(failed.textContent, /importer\s*ran out of memory\s*RanOut\.java:\d+\s*runnable, 5 frames/);
  assert.equal(failed.getAttribute('aria-expanded'), 'true');
  assert.ok(page.all('[id=pane-threads] .grid-row', 'OutOfMemoryError.<init>').length > 0);
  const frame = (): HTMLElement => page.one('[id=pane-threads] .grid-row', 'RanOut.grow');
  await page.click(frame().querySelector<HTMLElement>('.twistie')!);
  await page.click('[id=pane-threads] .grid-row[aria-level="3"]', 'ArrayList');
  assert.match(page.text('.heap-details .panel-name'), /ArrayList/);
  // what the command line says of it
  interface Threads {
    threads: {
      stack: {
        row: { frame: { function: string } | null; retained_bytes: number };
        variables: { object: { retained_bytes: number } }[];
      }[];
    }[];
  }
  const { threads }: Threads = await server.memlens(folder, 'threads', file);
  const grow = threads[0]!.stack.find(({ row }) => row.frame?.function === 'shop.RanOut.grow')!;
  assert.equal(grow.row.retained_bytes, grow.variables[0]!.object.retained_bytes);
  assert.ok(frame().textContent.includes(`${(grow.row.retained_bytes / 2 ** 20).toFixed(1)} MiB`));
  await page.click(frame().querySelector<HTMLElement>('.code')!);
  const wanted = linesOf('RanOut.java').findIndex((each) => each.includes('rows.add(')) + 1;
  const opened = page.last('openSource')!;
  assert.deepEqual([path.basename(opened.file), opened.line], ['RanOut.java', wanted]);
  // by the keys alone, through the filter
  page = await page.reopened();
  assert.equal(shownPane(), 'Threads');
  await page.filter('function:grow');
  assert.equal(rows('threads').length, 3, 'the thread, its frame and the variable are left');
  page.posted.length = 0;
  for (const key of ['Home', 'ArrowDown', 'Enter']) await page.press('[id=pane-threads] .grid', key);
  assert.equal(page.last('openSource')?.line, wanted);
});

describe('a heap graph of Android with samples of native memory', () => {
  before(async () => {
    page = await Page.open(server, at('both.pftrace'));
  });
  const stacks = () => window.memlensStacks?.boxes() ?? [];

  test('native memory is a pane of its own, whose filter and boxes are about stacks alone', async () => {
    assert.match(page.text('.headline'), /outside of the heap: 5\.07 MiB, 99% of it by cache\.h:12/);
    await page.pane('Native memory');
    const leak = stacks().find(({ name }) => name === 'notes::Cache::decode(int)');
    assert.ok(leak && leak.width > 0.98 * SIZE.width, JSON.stringify(leak));
    await page.clickAt('[id=pane-flame] .flame-surface', leak);
    assert.match(page.text('.flame-details'), /5 MiB/);
    assert.equal(page.all('.flame-details button', 'Show Objects').length, 0);
    await page.filter('-allocated-by:decode');
    assert.equal(stacks().filter(({ name }) => name.includes('decode')).length, 0);
    assert.ok(stacks().some(({ name }) => name === 'notes::parse(char const*)'));
    await page.filter('');
  });
});
