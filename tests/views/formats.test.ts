// A small recording of each profiler: recognised by its content whatever its name, shown with the figures of the command
// line; a box and a row open their line, whose hover has the line's figure.

import { Page } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

const FIXTURES = 'tests/fixtures/profiles';
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-formats-'));
const at = (name: string): string => path.join(folder, name);

/**
 * recorded: the recording; file: what it is called here, which says nothing of its format; box: a function whose box is
 * clicked; times: whether the view has them.
 */
const RECORDINGS = [
  {
    ...{ kind: 'heaptrack', recorded: 'service.heaptrack.zst', file: 'tuesday.recording' },
    ...{ source: 'service.cpp', box: 'Cache::keep(int)', times: true },
  },
  {
    ...{ kind: 'massif', recorded: 'massif.out.ledger', file: 'grown.txt' },
    ...{ source: 'ledger.cpp', box: 'add', times: true },
  },
  {
    ...{ kind: 'dhat', recorded: 'ledger.dhat.json', file: 'blocks.data' },
    ...{ source: 'ledger.cpp', box: 'described', times: false },
  },
  {
    ...{ kind: 'tracemalloc', recorded: 'tracemalloc.pickle', file: 'traces.bin' },
    ...{ source: 'index.py', box: 'index.py:23', times: false },
  },
  {
    ...{ kind: 'heap-text', recorded: 'go-heap.debug1.txt', file: 'go.log' },
    ...{ source: 'words.go', box: 'main.(*counter).add', times: false },
  },
  {
    ...{ kind: 'memray', recorded: 'index.memray.bin', file: 'capture' },
    ...{ source: 'index.py', box: 'build', times: true },
  },
];

interface Info {
  readonly kind: string;
  readonly default_value: number;
  readonly values: readonly { readonly title: string; readonly unit: string; readonly total: number }[];
}
interface Flame {
  readonly rows: readonly { readonly name: { readonly function: string }; readonly bytes: number }[];
}
interface Lines {
  readonly lines: readonly {
    readonly file: string;
    readonly line: number;
    readonly function: string;
    readonly total: number;
  }[];
}

let server: RealServer;
let page: Page;

before(async () => {
  cpSync(path.join(FIXTURES, 'src'), at('src'), { recursive: true });
  for (const { recorded, file } of RECORDINGS) cpSync(path.join(FIXTURES, recorded), at(file));
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

const SURFACE = '.flame-surface';
const boxes = () => window.memlensFlame?.boxes() ?? [];
/** The widest box of a function. */
const boxOf = (name: string) =>
  boxes()
    .filter((box) => box.name === name)
    .reduce((a, b) => (b.width > a.width ? b : a));
const whole = () => boxes().find(({ node }) => node === 0)!;
const exact = (amount: number, unit: string): string =>
  `${amount.toLocaleString('en-US')}${unit === 'bytes' ? ' bytes' : ''}`;
/** The exact amount of the box that is selected. */
const inclusive = (): string | null =>
  page
    .all('.flame-details dt')
    .find(({ textContent }) => textContent === 'Inclusive')!
    .nextElementSibling!.getAttribute('title');

for (const { kind, file, source, box, times } of RECORDINGS)
  test(`${kind}: its figures, its line and the line's hover`, async () => {
    page = await Page.open(server, at(file));
    const info: Info = await server.memlens(folder, 'info', file);
    const { lines }: Lines = await server.memlens(folder, 'lines', file);
    const { rows }: Flame = await server.memlens(folder, 'flame', file);
    assert.equal(info.kind, kind);
    const { total, title, unit } = info.values[info.default_value]!;
    assert.match(page.text('.status-text'), new RegExp(`^${kind}\\b`));
    const picker = page.one('.toolbar select') as HTMLSelectElement;
    assert.equal(picker.value, String(info.default_value));
    assert.equal(picker.options.length, info.values.length);
    const isShown = (selector: string): boolean => page.all(selector).some(({ hidden }) => !hidden);
    assert.equal(isShown('.profile-times'), times);
    const panes = new Set(page.texts('.dock [role=tab]'));
    if (page.all('.tab-more').length > 0) {
      await page.click('.tab-more');
      for (const pane of page.texts('.menu .menu-text')) panes.add(pane);
      await page.press('.menu', 'Escape');
    }
    assert.deepEqual([...panes], ['Hot spots', 'Compare', 'SQL']);

    // the whole, and one box
    await page.waitUntil(() => boxes().length > 1, 'the flame graph');
    await page.clickAt(SURFACE, whole());
    assert.equal(inclusive(), exact(total, unit));
    const of = rows.find(({ name }) => name.function === box)!;
    assert.ok(of.bytes > total / 100 && of.bytes < total);
    await page.clickAt(SURFACE, boxOf(box));
    assert.equal(inclusive(), exact(of.bytes, unit));

    const [line] = lines.filter((each) => each.function === box).toSorted((a, b) => b.total - a.total);
    assert.ok(line);
    await page.clickAt(SURFACE, boxOf(box), { ctrlKey: true });
    const opened = page.last('openSource');
    assert.ok(opened);
    assert.ok(opened.file.endsWith(source), opened.file);
    assert.equal(opened.line, line.line);
    const text = await server.hover(at(path.join('src', source)), line.line);
    assert.ok(text.includes(`${title}: `) && text.includes(exact(line.total, unit)), text);

    // the figures of a line alone
    await page.filter(`file:${source}:${line.line}`);
    await page.clickAt(SURFACE, whole());
    assert.equal(inclusive(), exact(line.total, unit));
    await page.filter('');

    // a row of the table opens the line that it names
    await page.pane('Hot spots');
    assert.match(page.text('.live-set-summary'), /, [\d.]+ KiB in \d+ lines/);
    const row = page.all('.live-set .grid-row', `${source}:`)[1]!;
    const number = Number(/:(\d+)$/.exec(row.querySelector('.place-link')!.textContent)![1]);
    assert.ok(lines.some((each) => each.line === number && each.file.endsWith(source)));
    await page.click(row, '', { ctrlKey: true });
    assert.equal(page.last('openSource')!.line, number);
  });
