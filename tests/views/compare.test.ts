// Two snapshots or profiles side by side: the table of lines, and the flame graph of both, against the command line.

import { Page, SIZE } from './support/page';
import { RealServer, python } from './support/server';
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

const SHIFT = 5;
const folder = mkdtempSync(path.join(os.tmpdir(), 'memlens-compare-'));
const at = (name: string): string => path.join(folder, name);

/** A row of `memlens compare --json`. */
interface Row {
  readonly before: Place | null;
  readonly after: Place | null;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly difference_bytes: number;
  readonly how: string;
}
interface Place {
  readonly file: string;
  readonly line: number;
  readonly function: string;
}
interface Compared {
  readonly rows: readonly Row[];
  readonly total: { readonly before_bytes: number; readonly after_bytes: number };
}

let server: RealServer;
let page: Page;
let expected: Compared;

before(async () => {
  cpSync('samples', folder, { recursive: true });
  await python('-m', 'tests.e2e.branch', at('train.pickle'), at('branch.pickle'), String(SHIFT));
  await python('-m', 'tests.e2e.later', at('words.pb.gz'), at('later.pb.gz'), String(SHIFT));
  server = await RealServer.start(folder);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
});

async function opened(mine: string, other: string): Promise<void> {
  expected = await server.memlens(folder, 'compare', mine, other, '--top', '1000');
  page = await Page.open(server, at(mine));
  await page.pane('Compare');
  await page.compare(at(other), false);
}

const rows = (): HTMLElement[] => page.all('.compare-row');
const cells = (index: number): string[] =>
  [...(rows()[index]?.querySelectorAll('[role=gridcell]') ?? [])].map(({ textContent }) => textContent);
const titles = (): string[] =>
  rows().map((row) => row.querySelector<HTMLElement>('[aria-colindex="2"]')!.title);
const titleOf = (difference: number, unit = ' bytes'): string => {
  const amount = `${Math.abs(difference).toLocaleString('en-US')}${unit}`;
  return difference === 0 ? 'No difference' : `${amount} ${difference > 0 ? 'more' : 'less'} after`;
};
const total = (): string => page.text('.compare-summary').split(' · ')[0]!;
const press = (name: string): Promise<void> =>
  page.click('.compare-controls button', new RegExp(`^${name}$`));
const swap = (): Promise<void> => page.click('.dock [aria-label="Swap before and after"]');
const boxes = () => window.memlensDifference?.boxes() ?? [];
const byName = (name: string) => boxes().filter((box) => box.name === name && !box.more);

describe('two snapshots', () => {
  before(() => opened('train.pickle', 'branch.pickle'));

  test('the table has the figures of the command line', () => {
    const shown = expected.rows.slice(0, 200);
    assert.ok(shown.length > 20);
    assert.deepEqual(
      titles(),
      shown.map(({ difference_bytes }) => titleOf(difference_bytes)),
    );
    assert.match(page.text('.compare-summary'), /train\.pickle .* → branch\.pickle .*▲ \+/);
    // The sign and the shape show it without the colour.
    assert.match(cells(0)[1]!, /▲\s*\+/);
  });

  test('the headline is the difference: both peaks, and the lines that changed most', async () => {
    const { before_bytes, after_bytes } = expected.total;
    const { after } = expected.rows.find(({ difference_bytes }) => difference_bytes > 0)!;
    const text = page.text('.headline');
    assert.match(text, /^Peak [\d.]+ MiB instead of [\d.]+ MiB, [\d.]+ [KM]iB more/);
    assert.ok(after_bytes > before_bytes);
    assert.ok(text.includes(`${path.basename(after!.file)}:${after!.line}`), text);
    assert.equal(page.all('.headline-all').length, 0, 'findings of one file are not about both');
    await page.click('.headline .link', `${path.basename(after!.file)}:${after!.line}`);
    const { file, line } = page.last('openSource')!;
    assert.deepEqual([file, line], [after!.file, after!.line]);
    await swap();
    assert.match(page.text('.headline'), /^Peak .* less/);
    await swap();
    assert.equal(page.text('.headline'), text);
  });

  test('rows by category and by module have the same sums', async () => {
    const before = total();
    for (const by of ['Category', 'Module']) {
      await press(by);
      assert.ok(rows().length > 0);
      assert.match(page.text('.compare-caption'), by === 'Category' ? /categor/ : /module/);
      assert.equal(total(), before);
      assert.doesNotMatch(cells(0)[0]!, /no line of source/);
    }
    await press('Line');
  });

  test('a line that moved is paired with itself, and a click opens it here', async () => {
    const index = expected.rows.findIndex((row) => row.before?.file === 'model.py' && row.how === 'moved');
    const { before: place, after: there } = expected.rows[index]!;
    assert.equal(there!.line, place!.line + SHIFT);
    assert.match(cells(index)[0]!, new RegExp(`moved from line ${place!.line}\\b`));
    await page.click(rows()[index]!);
    const { file, line } = page.last('openSource')!;
    assert.deepEqual([file, line], ['model.py', place!.line]);
    assert.equal(rows()[index]!.getAttribute('aria-selected'), 'true');
  });

  test('the keys move through the rows, and a search narrows them', async () => {
    const grid = '.compare-grid';
    await page.press(grid, 'Home', { ctrlKey: true });
    await page.press(grid, 'ArrowDown');
    await page.press(grid, 'Enter');
    const { before: place, after: there } = expected.rows[1]!;
    const opened = page.last('openSource')!;
    assert.deepEqual([opened.file, opened.line], [(place ?? there)!.file, (place ?? there)!.line]);
    assert.equal(rows()[1]!.getAttribute('aria-selected'), 'true');
    const every = rows().length;
    await page.type('.compare-search', 'train.py');
    const matching = expected.rows.filter((row) =>
      JSON.stringify([row.before, row.after]).includes('train.py'),
    );
    assert.ok(matching.length > 0 && matching.length < every);
    assert.equal(rows().length, matching.length);
    await page.type('.compare-search', '');
    assert.equal(rows().length, every);
  });

  test('swapping the sides reverses the differences; the sums are the same by function and file', async () => {
    const before = total();
    await swap();
    assert.match(cells(0)[1]!, /▼\s*−/);
    assert.notEqual(total(), before);
    await swap();
    assert.equal(total(), before);
    for (const by of ['Function', 'File', 'Stack', 'Line']) {
      await press(by);
      assert.match(page.text('.compare-caption'), new RegExp(`\\b${by.toLowerCase()}`));
      assert.equal(total(), before);
    }
  });

  test('the flame graph of both has the sums of the table', async () => {
    await press('Flame graph');
    const root = boxes().find(({ node }) => node === 0)!;
    const { before_bytes, after_bytes } = expected.total;
    assert.deepEqual([root.before, root.after], [before_bytes, after_bytes]);
    await press('Table');
    assert.ok(rows().length > 0);
  });

  test('the picture and the table have the figures at the cursor', async () => {
    await page.click('.compare-picture button', /^By event$/);
    await page.clickAt('.compare-surface', { x: 0, y: 0, ...SIZE });
    assert.match(page.text('.compare-caption'), /at event/);
    const size = String.raw`([\d.,]+ \w+)`;
    const inPicture = new RegExp(`At the cursor: .*?${size} before, ${size} after`).exec(
      page.text('.compare-readout'),
    );
    const inTable = new RegExp(`${size} → .*? ${size},`).exec(page.text('.compare-summary'));
    assert.ok(inPicture && inTable);
    assert.deepEqual(inPicture.slice(1), inTable.slice(1));
  });

  test('by step, the picture and the table say that the steps are inferred', async () => {
    await page.click('.compare-picture button', /^By step$/);
    // the sample has no annotations
    assert.match(page.text('.compare-heights'), /6 steps detected from the repeating pattern/);
    assert.match(page.text('.compare-caption'), /beside each other by inferred steps/);
  });
});

describe('two profiles', () => {
  before(() => opened('words.pb.gz', 'later.pb.gz'));

  test('the table has the figures of the command line', () => {
    assert.ok(expected.rows.length > 5);
    assert.deepEqual(
      titles(),
      expected.rows.map(({ difference_bytes }) => titleOf(difference_bytes)),
    );
    assert.match(page.text('.compare-summary'), /words\.pb\.gz .* → later\.pb\.gz .*▲ \+/);
    const index = expected.rows.findIndex(
      (row) => row.before?.function === 'Index.add' && row.difference_bytes > 0,
    );
    const { before: place, after: there } = expected.rows[index]!;
    assert.deepEqual([there!.line, there!.file], [place!.line + SHIFT, '/srv/jobs/7/words.py']);
    assert.match(cells(index)[0]!, new RegExp(`moved from line ${place!.line}\\b`));
  });

  test('the difference is the picture and the headline, and both go with the comparison', () => {
    assert.ok(!page.one('.main-difference').hidden);
    assert.ok(page.one('.main-flame').hidden);
    assert.match(page.text('.headline'), /instead of .* more\. By line: .*words\.py:\d+/);
    assert.equal(page.all('.compare-controls button', /^Flame graph$/).length, 0);
  });

  test('the table follows the value, the order of sides, the grouping and the search', async () => {
    const counts: Compared = await server.memlens(
      ...([
        folder,
        'compare',
        'words.pb.gz',
        'later.pb.gz',
        '--value',
        'inuse_objects',
        '--top',
        '1000',
      ] as const),
    );
    const list = page.one('.compare-controls select[aria-label=Value]') as HTMLSelectElement;
    const [count, bytes] = [...list.options].map(({ value }) => value);
    assert.equal(list.options.length, 2);
    await page.choose(list, count!);
    assert.deepEqual(
      titles(),
      counts.rows.map(({ difference_bytes }) => titleOf(difference_bytes, '')),
    );
    // the value is that of the whole view
    assert.equal((page.one('.toolbar select') as HTMLSelectElement).value, '0');
    await page.choose(list, bytes!);
    assert.equal(titles()[0], titleOf(expected.rows[0]!.difference_bytes));
    await swap();
    assert.match(cells(0)[1]!, /▼\s*−/);
    await swap();
    await press('Function');
    await page.type('.compare-search', 'documents');
    assert.equal(rows().length, 1);
    assert.match(cells(0)[0]!, /only before/);
    await page.type('.compare-search', '');
    assert.ok(rows().length > 3);
  });

  test('the flame graph of both has the figures of the command line, and shows a change with sign and word', async () => {
    const functions: Compared = await server.memlens(
      ...([folder, 'compare', 'words.pb.gz', 'later.pb.gz', '--by', 'function', '--inclusive'] as const),
    );
    const whole = expected.total.before_bytes + expected.total.after_bytes;
    let looked = 0;
    for (const row of functions.rows) {
      const [own, ...more] = byName((row.before ?? row.after)!.function);
      // with recursion a box is inside another of the same name
      if (!own || more.length > 0) continue;
      looked++;
      assert.deepEqual([own.before, own.after], [row.before_bytes, row.after_bytes]);
      const width = (SIZE.width * (row.before_bytes + row.after_bytes)) / whole;
      assert.ok(Math.abs(own.width - width) <= 1.01, `${own.name} ${own.width} ${width}`);
    }
    assert.ok(looked >= 4, `${looked} functions`);
    await page.clickAt('.compare-graph .flame-surface', byName('Index.add')[0]!);
    assert.match(page.text('.compare-graph .flame-details h3'), /Index\.add/);
    assert.match(page.text('.compare-graph .flame-details dl'), /Difference\s*▲ \+704 KiB/);
  });

  test('the figures are the same normalised, bottom-up and as a table', async () => {
    const { before_bytes, after_bytes } = expected.total;
    const graph = '.compare-graph .flame-toolbar';
    await page.click(`${graph} button`, 'Normalised');
    const [add] = byName('Index.add');
    const shares = [add!.before! / before_bytes, add!.after! / after_bytes] as const;
    const width = (SIZE.width * (shares[0] + shares[1])) / 2;
    assert.ok(Math.abs(add!.width - width) <= 1.01, `${add!.width} for ${width}`);
    await page.choose(`${graph} select[aria-label=Layout]`, 'table');
    assert.match(page.text('.compare-graph .compare-difference'), /0 points/);
    await page.click(`${graph} button`, 'Bottom-up');
    const points = 100 * (shares[1] - shares[0]);
    assert.ok(
      page
        .all('.compare-graph [role=row]', 'Index.add')
        .some(({ textContent }) => textContent.includes(`▲ +${points.toFixed(1)} points`)),
    );
    await page.click(`${graph} button`, 'Top-down');
    await page.choose(`${graph} select[aria-label=Layout]`, 'icicle');
    await page.choose('.compare-graph select[aria-label="Width of boxes"]', 'after');
    assert.deepEqual(byName('documents'), []);
  });
});
