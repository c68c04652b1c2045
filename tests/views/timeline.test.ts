// The picture of a run: its legend against the command line, what it is grouped by, keys and the commands of the
// palette.

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
  readonly allocation: {
    readonly allocation: number;
    readonly stack: number;
    readonly size_bytes: number;
    readonly start_moment: number;
    readonly end_moment: number | null;
    readonly start_time_us: number;
    readonly end_time_us: number | null;
    readonly label: { readonly file: string; readonly line: number };
  };
}

let server: RealServer;
let page: Page;
let device: TimelineInfo['devices'][number];
/** The size of the largest allocation of all, which is live at the peak. */
let largest: number;

before(async () => {
  server = await RealServer.start(SAMPLES);
  const info: TimelineInfo = await server.memlens(SAMPLES, 'info', FILE);
  device = info.devices[0]!;
  const { lines }: { lines: { largest_bytes: number }[] } = await server.memlens(SAMPLES, 'lines', FILE);
  largest = Math.max(...lines.map(({ largest_bytes }) => largest_bytes));
  page = await Page.open(server, FILE);
});
after(() => server.stop());

const camera = () => window.memlensTest!.camera();
const about = (value: number, wanted: number, share = 1e-6): void =>
  assert.ok(Math.abs(value - wanted) <= Math.abs(wanted) * share + 1e-6, `${value} is about ${wanted}`);
const fact = (name: string): string => page.one('.panel dt', name).nextElementSibling!.textContent;
const number = (): number => Number(fact('Number').replaceAll(',', ''));
const stack = (allocation: number): Promise<Stack> =>
  server.memlens(SAMPLES, 'stack', FILE, String(allocation));
const livesAtThePeak = ({ start_moment: start, end_moment: end }: Stack['allocation']): boolean =>
  start <= device.peak_moment && (end === null || end > device.peak_moment);

describe('the legend', () => {
  const chips = () =>
    page.all('.area-legend button').map((button) => ({
      name: button.querySelector('bdi')!.textContent,
      bytes: button.querySelector('.area-legend-bytes')!.textContent,
      pressed: button.getAttribute('aria-pressed'),
    }));
  const isShown = (selector: string): boolean => page.all(selector).some(({ hidden }) => !hidden);

  interface Row {
    readonly file: string;
    readonly line?: number;
    readonly bytes: number;
  }
  const atThePeak = (columns: string): Promise<Row[]> =>
    server.memlens(
      ...([SAMPLES, 'sql', FILE] as const),
      `SELECT ${columns}, sum(size_bytes) AS bytes FROM live_at() GROUP BY ${columns} ORDER BY bytes DESC`,
    );

  /** Formats an amount as the legend does: three digits, and whole numbers without decimals. */
  const words = (bytes: number): string => {
    const units = ['B', 'KiB', 'MiB', 'GiB'];
    const power = Math.max(0, Math.floor(Math.log2(bytes) / 10));
    const value = bytes / 1024 ** power;
    const places = Number.isInteger(value) || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return `${value.toFixed(places)} ${units[power]}`;
  };

  test('has the sums of the lines at the peak, largest first', async () => {
    assert.equal(page.text('.area-legend-when'), 'At the peak');
    const rows = await atThePeak('file, line');
    const shown = chips();
    assert.ok(rows.length >= 6);
    for (const [i, { file, line, bytes }] of rows.slice(0, 6).entries()) {
      assert.equal(shown[i]!.name, `${path.posix.basename(file)}:${line}`);
      assert.equal(shown[i]!.bytes, words(bytes));
    }
  });

  test('selects an area by a click; Escape deselects it', async () => {
    await page.click('.area-legend button');
    assert.equal(chips()[0]!.pressed, 'true');
    await page.press(document.body, 'Escape');
    assert.equal(chips()[0]!.pressed, 'false');
  });

  test('has an area for each file by file; in the order of PyTorch’s viewer there are none', async () => {
    await page.command('group.file');
    const rows = await atThePeak('file');
    const shown = chips();
    assert.deepEqual(
      shown.slice(0, rows.length).map(({ name, bytes }) => [name, bytes]),
      rows.map(({ file, bytes }) => [path.posix.basename(file), words(bytes)]),
    );
    assert.equal((page.one('.toolbar [aria-label="Group by"]') as HTMLSelectElement).value, 'file');
    // also when zoomed, which needs two pictures: that of the zoom, and that of the whole run
    await page.command('peak');
    await page.command('group.function');
    const functions = await atThePeak('file, function');
    assert.deepEqual(
      chips()
        .slice(0, 3)
        .map(({ bytes }) => bytes),
      functions.slice(0, 3).map(({ bytes }) => words(bytes)),
    );
    await page.command('fit');
    await page.command('group.none');
    assert.equal(isShown('.area-legend'), false);
    await page.command('group.line');
    assert.equal(isShown('.area-legend'), true);
  });

  test('is that of categories where these have the colours', async () => {
    const { categories }: TimelineInfo = await server.memlens(SAMPLES, 'info', FILE);
    const area = (): boolean => page.all('.area-legend button', 'optimizer state').length > 0;
    // areas have the colours of their groups
    await page.command('toggleColour');
    assert.equal(area(), true);
    await page.command('toggleColour');
    assert.equal(area(), false);
    await page.command('group.none');
    assert.equal(isShown('.legend'), false);
    await page.command('toggleColour');
    assert.equal(isShown('.legend'), true);
    assert.equal(page.all('.legend button').length, categories.length);
    await page.command('toggleColour');
    assert.equal(isShown('.legend'), false);
    await page.command('group.line');
  });
});

test('keys zoom, move, fit and go to the peak', async () => {
  const move = async (key: string, more: KeyboardEventInit = {}) => {
    await page.press('.plot-surface', key, more);
    return camera();
  };
  const all = camera();
  const width = all.x1 - all.x0;
  const zoomed = await move('+');
  about(zoomed.x1 - zoomed.x0, width / 1.5);
  about(zoomed.x0 + zoomed.x1, all.x0 + all.x1);
  const right = await move('ArrowRight');
  about(right.x0 - zoomed.x0, 0.15 * (zoomed.x1 - zoomed.x0));
  const taller = await move('ArrowUp', { shiftKey: true });
  assert.ok(taller.y1 - taller.y0 < all.y1 * 0.7);
  assert.ok((await move('ArrowUp')).y0 > 0);
  assert.deepEqual(await move('0'), all);

  const peak = await move('p');
  about((peak.x0 + peak.x1) / 2, device.peak_time_us!);
  about(peak.x1 - peak.x0, width / 10);
});

test('the palette’s commands do the same', async () => {
  const moved = async (command: Parameters<Page['command']>[0]) => {
    await page.command(command);
    return camera();
  };
  const all = await moved('fit');
  const closer = await moved('zoomIn');
  about(closer.x1 - closer.x0, (all.x1 - all.x0) / 1.5);
  const back = await moved('zoomOut');
  about(back.x1 - back.x0, all.x1 - all.x0);
  assert.ok((await moved('peak')).x0 > all.x0);
  await moved('fit');
  const events = await moved('toggleAxis');
  assert.deepEqual([events.x0, events.x1], [device.event_axis.x0, device.event_axis.x1]);
  await moved('toggleAxis');
  const isOpen = (): boolean => page.all('.live-set .grid').some((grid) => grid.closest('[hidden]') === null);
  const before = isOpen();
  await page.command('togglePane');
  assert.equal(isOpen(), !before);
  await page.command('togglePane');
  assert.equal(isOpen(), before);
});

test('what a key does is read out, and the same again when it does the same again', async () => {
  const heard = (): string => page.text('[role=status].sr-only');
  const press = (key: string): Promise<void> => page.press('.plot-surface', key);
  const peak = /Peak ([\d.]+\s\w+)/.exec(page.text('.headline-text'))![1]!;
  const hears = (what: RegExp): Promise<void> => page.waitUntil(() => what.test(heard()), `${what} is heard`);
  await press('p');
  await hears(new RegExp(`^From .+ to .+, with the peak of ${peak}$`));
  const first = heard();
  await press('p');
  await page.waitUntil(() => heard() !== first, 'it is read out again');
  assert.equal(heard().trim(), first.trim());
  await press('m');
  const [, live] = /^Cursor at .+: (.+) live$/.exec(heard()) ?? [];
  assert.ok(live !== undefined && page.text('.live-set-summary').includes(live), heard());
  await press('c');
  assert.equal(heard(), 'By category');
  await press('c');
  assert.equal(heard(), 'By line');
  await press('a');
  assert.equal(heard(), 'Axis: event number');
  await press('0');
  await hears(/^Events 0 to 13,798, with the peak of /);
  await press('a');
  await press('Escape');
});

test('a pane that a key shows has the focus, and its name', async () => {
  const [, second] = page.texts('.dock [role=tab]');
  await page.press('.plot-surface', '2');
  const { activeElement: focused } = document;
  assert.equal(focused?.getAttribute('role'), 'tabpanel');
  assert.equal(focused.getAttribute('aria-label'), second);
  await page.press('.plot-surface', '1');
  assert.equal(document.activeElement?.id, 'pane-liveSet');
});

test('letters and signs are no keys where the setting says so; others are', async () => {
  await page.singleKeys(false);
  const all = camera();
  for (const key of ['p', '+', '2']) await page.press('.plot-surface', key);
  assert.deepEqual(camera(), all);
  assert.equal(document.activeElement?.id, 'pane-liveSet');
  await page.press('.plot-surface', 'ArrowRight');
  await page.singleKeys(true);
  await page.press('.plot-surface', 'p');
  assert.notDeepEqual(camera(), all);
  await page.press('.plot-surface', '0');
});

test('keys select an allocation, go to the next one, and open its line', async () => {
  await page.press('.plot-surface', 'p');
  const step = async (key: string, more: KeyboardEventInit = {}): Promise<Stack> => {
    await page.press('.plot-surface', key, more);
    return await stack(number());
  };
  const { allocation: first } = await step('ArrowUp', { altKey: true });
  assert.equal(first.size_bytes, largest);
  assert.ok(livesAtThePeak(first));

  const { allocation: next } = await step(']');
  assert.equal(next.stack, first.stack);
  assert.ok(next.start_moment > first.start_moment);
  assert.equal((await step('[')).allocation.allocation, first.allocation);
  // the line with the most is at the bottom, with its oldest allocation lowest
  const { allocation: younger } = await step('ArrowUp', { altKey: true });
  assert.ok(younger.allocation > first.allocation);
  assert.deepEqual(younger.label, first.label);
  assert.ok(livesAtThePeak(younger));
  assert.equal((await step('ArrowDown', { altKey: true })).allocation.allocation, first.allocation);
  await page.press('.plot-surface', 'ArrowDown', { altKey: true });
  assert.match(page.text('.status-note'), /This is the lowest allocation/);

  await page.press('.plot-surface', 'z');
  const life = camera();
  assert.ok(life.x0 <= first.start_time_us);
  assert.ok(life.x1 >= (first.end_time_us ?? life.x1));

  await page.press('.plot-surface', 'Enter');
  const { file, line } = page.last('openSource')!;
  assert.deepEqual([file, line], [first.label.file, first.label.line]);
  await page.command('fit');
  await page.command('zoomToSelection');
  assert.deepEqual(camera(), life);
  await page.command('clearSelection');
  assert.ok(page.one('.panel').hidden);
});

test('the table has the largest allocation at the peak first, and is usable by keys', async () => {
  await page.choose('.live-set-controls select', '');
  const rows = page.all('.live-set .grid-row.leaf');
  assert.ok(page.all('.live-set .grid [role=columnheader]').length >= 5);
  assert.match(page.text('.scope-text'), /^At the peak$/);
  assert.match(page.text('.live-set-summary'), /^\d+ allocations, /);
  const [first, second] = rows.map((row) => ({
    allocation: Number(row.dataset['id']!.split(':')[1]),
    size: (row.children[1]!.firstElementChild as HTMLElement).title,
  }));
  const { allocation } = await stack(first!.allocation);
  assert.equal(allocation.size_bytes, largest);
  assert.equal(first!.size, `${largest.toLocaleString('en-US')} bytes`);
  assert.ok(livesAtThePeak(allocation));

  const grid = '.live-set .grid';
  await page.press(grid, 'Home');
  await page.press(grid, ' ');
  assert.equal(number(), first!.allocation);
  await page.press(grid, 'ArrowDown');
  await page.press(grid, ' ');
  assert.equal(number(), second!.allocation);
  const selected = page.all('.live-set .grid-row[aria-selected=true]');
  assert.deepEqual(
    selected.map((row) => row.dataset['id']),
    [`allocation:${second!.allocation}`],
  );
  const { label } = (await stack(second!.allocation)).allocation;
  page.posted.length = 0;
  await page.press('.plot-surface', 'Enter');
  const { file, line } = page.last('openSource')!;
  assert.deepEqual([file, line], [label.file, label.line]);
});

test('"Show" on a finding selects its row among all, in the picture as well, and filters nothing', async () => {
  await page.filter('');
  const isUnfiltered = (): boolean => (page.one('.filter-input') as HTMLInputElement).value === '';
  await page.click('.headline-finding .link', /^Show$/);
  await page.waitUntil(() => page.all('.growth-table tr[aria-current]').length > 0, 'its line is selected');
  assert.match(page.text('.growth-table tr[aria-current]'), /train\.py:46/);
  assert.ok(isUnfiltered());
  await page.click('.headline-all');
  const [category] = page.all('.headline-list li', 'Most memory by category');
  await page.click([...category!.querySelectorAll('button')].find((each) => each.textContent === 'Show')!);
  const selected = (): HTMLElement[] => page.all('.live-set [role=row][aria-selected=true]');
  await page.waitUntil(() => selected().length > 0, 'its category is selected');
  assert.match(selected()[0]!.textContent, /activation/i);
  assert.ok(page.all('.live-set [role=row]').length > 3, page.text('.live-set'));
  assert.ok(isUnfiltered());
});
