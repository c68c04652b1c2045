// What is in memory as a tree table, and the filter that narrows every view, of the sample.

import { Page } from './support/page';
import { RealServer } from './support/server';
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { TimelineInfo } from '../../extension/shared/protocol.gen';

const SAMPLES = path.resolve('samples');
const FILE = path.join(SAMPLES, 'train.pickle');

/** What `memlens stack --json` prints. */
interface Stack {
  readonly allocation: { readonly address: number; readonly size_bytes: number; readonly allocation: number };
}

let server: RealServer;
let page: Page;
let info: TimelineInfo;

before(async () => {
  server = await RealServer.start(SAMPLES);
  page = await Page.open(server, FILE);
  info = await server.memlens(SAMPLES, 'info', FILE);
});
after(() => server.stop());

const rows = (more = ''): HTMLElement[] => page.all(`.live-set .grid-row${more}`);
const grid = (): HTMLElement => page.one('.live-set .grid');
const summary = (): string => page.text('.live-set-summary');
const count = (): number => Number(/([\d,]+) allocations?/.exec(summary())?.[1]?.replaceAll(',', ''));
const groupBy = async (...kinds: string[]): Promise<void> => {
  for (const [level, kind] of kinds.entries()) {
    const select = page.all('.live-set-controls select')[level];
    assert.ok(select);
    await page.choose(select, kind);
  }
};
const filterText = (): string => (page.one('.filter-input') as HTMLInputElement).value;
const badge = (): string => page.all('.filter-badge')[0]?.textContent ?? '';
const sql = async (query: string): Promise<Record<string, number>[]> =>
  await server.memlens(SAMPLES, 'sql', FILE, query);

describe('the tree table', () => {
  test('groups what is live at the peak by line and who called it, down to single allocations', async () => {
    assert.match(page.text('.scope-text'), /At the peak/);
    const groups = Number(/ in (\d+) lines, by my code$/.exec(summary())?.[1]);
    assert.equal(grid().getAttribute('aria-rowcount'), String(groups + 1));
    // the largest group is first
    const shares = rows().map((row) => Number.parseFloat(row.children[2]!.textContent.replace('<', '')));
    assert.ok(shares.length > 5);
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );
    const group = (): HTMLElement => rows('.group')[0]!;
    const many = group().querySelectorAll('[role=gridcell]')[3]?.textContent;
    await page.click(group().querySelector<HTMLElement>('.twistie')!);
    assert.equal(group().getAttribute('aria-expanded'), 'true');
    const callers = rows('.group[aria-level="2"]');
    const of = (row: HTMLElement): string => row.querySelectorAll('[role=gridcell]')[3]!.textContent;
    assert.equal(
      callers.reduce((sum, each) => sum + Number(of(each)), 0),
      Number(many),
    );
    assert.match(callers[0]!.textContent, /:\d+/);
    await page.click(callers[0]!.querySelector<HTMLElement>('.twistie')!);
    const leaf = rows('.leaf')[0]!;
    assert.equal(leaf.getAttribute('aria-setsize'), of(callers[0]!));
    assert.equal(leaf.getAttribute('aria-level'), '3');
    // only elements stand apart: as a text the name ran into what follows
    const name = leaf.querySelector('div')!;
    assert.ok([...name.childNodes].every((part) => part.nodeType === Node.ELEMENT_NODE || !part.textContent));
    assert.match(leaf.textContent, /^Allocation [\d,]+(held|freed|live)/);
    await page.click(group().querySelector<HTMLElement>('.twistie')!);
    assert.equal(rows('.leaf').length, 0);
  });

  test('a group is highlighted in the picture, and its line opens', async () => {
    await page.click(rows('.group')[0]!.querySelectorAll<HTMLElement>('[role=gridcell]')[1]!);
    assert.match(page.text('.status-note'), /highlighted/);
    assert.equal(rows('.group')[0]!.getAttribute('aria-selected'), 'true');
    const place = rows('.group')[0]!.querySelector<HTMLElement>('.place-link')!;
    const [file, line] = place.textContent.split(':');
    await page.click(place);
    const opened = page.last('openSource');
    assert.ok(opened);
    assert.ok(opened.file.endsWith(file!));
    assert.equal(opened.line, Number(line));
  });

  test('a size class highlights exactly its allocations, not all of their stacks’ allocations', async () => {
    await groupBy('size');
    const group = rows('.group')[0]!;
    const [low, high] = /^(.*) to (\S+ \S*B)/
      .exec(group.querySelector('[role=gridcell]')!.textContent)!
      .slice(1)
      .map((text) => {
        const [number, unit] = text.split(' ');
        return Number(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit!);
      });
    await page.click(group.querySelectorAll<HTMLElement>('[role=gridcell]')[1]!);
    const wanted = (
      await sql(`SELECT allocation FROM live_at_peak WHERE size_bytes >= ${low} AND size_bytes < ${high}`)
    ).map(({ allocation }) => allocation!);
    const bands = new Set(window.memlensTest!.bands());
    const expected = wanted.filter((each) => bands.has(each)).toSorted((a, b) => a - b);
    assert.ok(expected.length > 0 && expected.length < bands.size);
    assert.deepEqual(
      window.memlensTest!.highlighted()?.toSorted((a, b) => a - b),
      expected,
    );
    await page.press(document.body, 'Escape');
    const now = window.memlensTest!;
    assert.deepEqual(now.highlighted(), now.bands(), 'nothing is dimmed any more');
    await groupBy('line');
  });

  test('can be navigated, opened and selected by keys alone', async () => {
    const active = (): HTMLElement => page.one('.live-set .grid-row.active');
    grid().focus();
    await page.press(grid(), 'Home');
    await page.press(grid(), 'ArrowRight');
    assert.equal(active().getAttribute('aria-expanded'), 'true');
    await page.press(grid(), 'ArrowRight');
    assert.equal(active().getAttribute('aria-level'), '2');
    await page.press(grid(), 'ArrowRight');
    await page.press(grid(), 'ArrowRight');
    assert.equal(active().getAttribute('aria-level'), '3');
    const [, allocation] = active().dataset['id']!.split(':');
    await page.press(grid(), ' ');
    const number = page.one('.panel dt', 'Number').nextElementSibling?.textContent;
    assert.equal(number?.replaceAll(',', ''), allocation);
    for (const level of ['2', '2', '1']) {
      await page.press(grid(), 'ArrowLeft');
      assert.equal(active().getAttribute('aria-level'), level);
    }
    assert.equal(active().getAttribute('aria-rowindex'), '2');
    await page.press(grid(), 'ArrowLeft');
    assert.equal(active().getAttribute('aria-expanded'), 'false');
    await page.press(grid(), 'End');
    assert.equal(active().getAttribute('aria-rowindex'), grid().getAttribute('aria-rowcount'));
    await page.press(grid(), 'Home'); // a DOM without layout would stay scrolled below fewer rows
    await page.press(document.body, 'Escape');
  });

  test('groups by other properties can be nested, sorted by a header, and narrowed', async () => {
    await groupBy('category', 'size');
    assert.match(summary(), /groups$/);
    const all = count();
    await page.click(page.one('.live-set [role=columnheader]', 'Name').querySelector('button')!);
    assert.equal(page.one('.live-set [role=columnheader]', 'Name').getAttribute('aria-sort'), 'ascending');
    const names = page.texts('.grid-row.group[aria-level="1"] bdi:first-of-type');
    assert.ok(names.length > 1);
    assert.deepEqual(names, names.toSorted());
    await page.click(rows('.group')[0]!.querySelector<HTMLElement>('.twistie')!);
    assert.match(rows('.group[aria-level="2"]')[0]!.textContent, / to /);
    await page.type('.live-set-narrow', 'size>1MiB');
    assert.match(page.text('.live-set-controls .chip'), /size>1MiB/);
    assert.ok(count() < all);
    await page.type('.live-set-narrow', 'size>big');
    assert.match(page.text('.live-set-error'), /'size>big': big is not a size or time/);
    await page.click('.live-set-controls .chip');
    assert.equal(count(), all);
    await groupBy('line');
  });
});

describe('the filter', () => {
  test('narrows the picture, the figures and the table', async () => {
    await page.press('.plot-surface', '/');
    assert.equal(document.activeElement?.className, 'filter-input');
    assert.ok(page.all('.filter-offers li', 'file:').length > 0);
    await page.filter('size>1MiB');
    const [fit, every] = badge().replaceAll(',', '').match(/\d+/g)!.map(Number);
    assert.equal(every, info.devices[0]!.allocations);
    assert.ok(fit! > 0 && fit! < every);
    assert.ok(page.text('.status-text').includes(`${fit!.toLocaleString('en-US')} allocations`));
    assert.match(summary(), /^Filtered/);
    const bands = window.memlensTest!.bands();
    assert.ok(bands.length > 5);
    const [{ least }] = (await sql(
      `SELECT min(size_bytes) AS least FROM allocations WHERE allocation IN (${bands.join()})`,
    )) as [{ least: number }];
    assert.ok(least > 2 ** 20);
  });

  test('says beside the filter what would match where nothing does', async () => {
    const before = badge();
    await page.filter('category:gradeint');
    await page.waitUntil(() => page.text('.filter-error').includes('Perhaps'), 'a nearer name is named');
    assert.match(
      page.text('.filter-error'),
      /Nothing matches category:gradeint. Perhaps you mean category:gradient/,
    );
    assert.match(badge(), /^0 of /);
    await page.filter('size>1MiB');
    assert.deepEqual(page.all('.filter-error:not([hidden])'), []);
    assert.equal(badge(), before);
  });

  test('shows in place which term is wrong, and keeps the last valid filter', async () => {
    const before = badge();
    await page.filter('size>1MiB flie:x');
    assert.match(page.text('.filter-error'), /'flie:x' is not a filter term/);
    assert.equal(page.one('.filter-input').getAttribute('aria-invalid'), 'true');
    await page.filter('size>1MiB');
    assert.deepEqual(
      page.all('.filter-error:not([hidden])').map((each) => each.textContent),
      [],
    );
    assert.equal(badge(), before);
  });

  test('is cleared by Escape', async () => {
    await page.press('.filter-input', 'Escape');
    assert.equal(badge(), '');
    assert.ok(
      page
        .text('.status-text')
        .includes(`${info.devices[0]!.allocations.toLocaleString('en-US')} allocations`),
    );
  });

  test('"filter to this" works for a group, and a filter finds the allocation at an address', async () => {
    const group = rows('.group')[0]!;
    const name = group.querySelector('.place-link')!.textContent;
    await page.click(group.querySelector<HTMLElement>('[aria-label="Filter to this"]')!);
    const chosen = filterText();
    assert.match(chosen, /^by:/);
    assert.match(summary(), /in 1 line, by my code$/);
    assert.equal(rows('.group')[0]!.querySelector('.place-link')!.textContent, name);
    // the same with the row's menu
    await page.filter('');
    assert.equal(badge(), '');
    await page.menu(page.one('.live-set .grid-row.group', name), 'Filter to This');
    assert.equal(filterText(), chosen);
    // an error message has only an address
    const { allocation } = await server.memlens<Stack>(SAMPLES, 'stack', FILE, '100');
    const inside = BigInt(allocation.address) + BigInt(Math.max(allocation.size_bytes - 1, 0));
    await page.filter(`0x${inside.toString(16)} allocation:${allocation.allocation}`);
    assert.match(badge(), /^1 of/);
    await page.filter('');
  });
});

test('a frame of the panel filters by its line or its function; its totals are those of the matches', async () => {
  const [{ allocation }] = (await sql(
    `SELECT allocation FROM live_at_peak ORDER BY size_bytes DESC LIMIT 1`,
  )) as [{ allocation: number }];
  await page.show(allocation);
  const title = (): string => page.text('.same-stack-title');
  assert.equal(title(), 'Same stack');
  const frame = page.one('.frame.user > button');
  const file = frame.getAttribute('title')!.replaceAll('\\', '/');
  await page.press(frame, 'f');
  assert.equal(filterText(), `file:"=${file}"`);
  assert.match(title(), /of what matches the filter/);
  const kept = Number(/^([\d,]+) of/.exec(badge())?.[1]?.replaceAll(',', ''));
  assert.ok(kept > 0 && kept < info.devices[0]!.allocations);
  // narrowed further, so that nothing of the stack matches
  await page.filter(`file:"=${file}" -allocation:${allocation}`);
  assert.ok(badge().startsWith((kept - 1).toLocaleString('en-US')));
  await page.filter('');
  assert.equal(title(), 'Same stack');
  const name = frame.querySelector('.frame-function')!.textContent;
  await page.click('.frame.user .frame-filter', '', { shiftKey: true });
  assert.equal(filterText(), `function:"=${name}"`);
  await page.filter('');
});

test('the groups, their order and the filter are restored with the state that is kept', async () => {
  await groupBy('size', 'line');
  await page.click(page.one('.live-set [role=columnheader]', 'Count').querySelector('button')!);
  await page.filter('size>1MiB');
  page = await page.reopened();
  assert.equal(filterText(), 'size>1MiB');
  assert.match(badge(), / of /);
  assert.equal(page.one('.live-set [role=columnheader]', 'Count').getAttribute('aria-sort'), 'descending');
  const chosen = page.all('.live-set-controls select').map((each) => (each as HTMLSelectElement).value);
  assert.deepEqual(chosen, ['size', 'line', '']);
});
