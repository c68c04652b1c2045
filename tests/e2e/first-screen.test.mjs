// The first screen of a snapshot: what it says, how many controls it has, and that everything fits.
import assert from 'node:assert/strict';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';
const MOST_CONTROLS = 12;

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({ viewport: { width: 1440, height: 900 } });
  view = await SnapshotView.opened(vscode, FILE);
  await view.locator('.headline-finding').waitFor();
  await view.locator('.live-set .grid-row').first().waitFor();
});
test.afterAll(() => vscode?.close());

/** The rows of a bar's visible controls. */
const rowsOf = (bar) =>
  view.locator(bar).evaluate((root) => {
    const middles = [...root.querySelectorAll('button, select, input')]
      .map((each) => each.getBoundingClientRect())
      .filter(({ width }) => width > 0)
      .map(({ top, bottom }) => (top + bottom) / 2)
      .sort((a, b) => a - b);
    return middles.filter((middle, at) => at === 0 || middle - middles[at - 1] > 8).length;
  });

/** Controls that are clipped by the window or by their containers. */
const cutOff = () =>
  view.frame.evaluate(() =>
    [
      ...document.querySelectorAll(
        '.toolbar button, .toolbar select, .toolbar input, .tabs button, .settings-button',
      ),
    ]
      .filter((each) => each.getBoundingClientRect().width > 0)
      .filter((each) => {
        const box = each.getBoundingClientRect();
        const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
        const inside = box.left >= 0 && box.right <= window.innerWidth && box.bottom <= window.innerHeight;
        return !inside || !at || !(each.contains(at) || at.contains(each));
      })
      .map((each) => each.getAttribute('aria-label') ?? each.textContent),
  );

test('says what filled the memory, and has few controls', async () => {
  const [line] = (await vscode.lines(FILE)).toSorted((a, b) => b.live_at_peak - a.live_at_peak);
  assert.ok(line.line > 0);
  assert.match(await view.text('.headline-text'), /^Peak .*:\d+/s);
  await view.locator('.live-set .grid-row', { hasText: /:\d+/ }).first().waitFor();
  await vscode.page.mouse.move(5, 5);
  await view.settled();
  const shown = await view.controls();
  assert.ok(shown.length >= 8, `${shown.length}: ${shown}`);
  assert.ok(shown.length <= MOST_CONTROLS, `${shown.length}: ${shown}`);
  await vscode.screenshot('first-screen');
});

test('the lists of warnings and of findings open and close', async () => {
  const findings = view.locator('.headline-all');
  if (await findings.count()) {
    await findings.click();
    await view.locator('.headline-list:visible li').nth(1).waitFor();
    await view.press('Escape');
  }
  await view.locator('.headline-list:visible').waitFor({ state: 'detached' });
  // a click on a finding shows its evidence
  await view.locator('.headline-finding .link', { hasText: 'Show' }).click();
  await view.locator('.dock [role=tab][aria-selected=true]').waitFor();
});

test('the summary can be copied', async () => {
  await vscode.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const clipboard = () => vscode.page.evaluate(() => window.navigator.clipboard.readText());
  const shown = (await view.text('.headline-text')).slice(0, 16);
  assert.match(shown, /^Peak \d/);
  for (const copy of [
    () => view.more('Copy Summary'),
    () => view.locator('.headline').getByRole('button', { name: 'Copy Summary' }).click(),
  ]) {
    await vscode.page.evaluate(() => window.navigator.clipboard.writeText('nothing yet'));
    await copy();
    const copied = await until(
      async () => (await clipboard()).replace('nothing yet', ''),
      'the summary is on the clipboard',
    );
    assert.ok(copied.startsWith(shown), copied);
  }
});

test('the toolbar is one tab stop; its menu is usable by keys', async () => {
  await view.locator('.toolbar select, .toolbar input').first().focus();
  await view.press('End');
  const focused = () => view.frame.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  assert.equal(await focused(), 'More');
  await view.press('Enter');
  await view.locator('.menu').waitFor();
  await vscode.screenshot('toolbar-menu');
  await view.press('Escape');
  await view.locator('.menu').waitFor({ state: 'detached' });
  await until(async () => (await focused()) === 'More', 'the menu’s button has the focus again');
  await view.press('Tab');
  assert.equal(
    await view.frame.evaluate(() => document.activeElement?.closest('.toolbar') === null),
    true,
    'Tab leaves the toolbar',
  );
});

test('has one row for each bar, in a small window with the sidebar as well', async () => {
  for (const [width, height] of [
    [1440, 900],
    [900, 600],
  ]) {
    await vscode.resize(width, height);
    for (const pane of await view.panes()) {
      await view.pane(pane);
      assert.equal(await rowsOf('.toolbar'), 1, `the toolbar at ${width}`);
      assert.deepEqual(await cutOff(), [], `${pane} at ${width}`);
    }
    await view.pane('What’s in memory');
    const grid = await view.locator('.live-set .grid').boundingBox();
    assert.ok(grid.height >= 44, `${grid.height} px are left for the rows at ${height}`);
    await vscode.screenshot(`first-screen-${width}`);
  }
  await vscode.resize(1440, 900);
});

test('the figures of steps stand below their headers, apart from the places before them', async () => {
  await view.pane('Leaks');
  const first = view.locator('.growth-table tbody tr').first();
  const aligned = await first
    .locator('td.number')
    .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
  assert.deepEqual(new Set(aligned), new Set(['end']));
  const apart = await first.locator('td').evaluateAll(([place, figure]) => {
    const inside = (cell, part) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect()[part];
    };
    return inside(figure, 'left') - inside(place, 'right');
  });
  assert.ok(apart >= 12, `a figure stands ${apart} pixels after the place before it`);
  const steps = view.locator('.steps-table tbody tr');
  await steps.nth(2).click();
  await view.settled();
  const ground = (row) => row.evaluate((one) => getComputedStyle(one).backgroundColor);
  assert.notEqual(await ground(steps.nth(2)), await ground(steps.nth(4)), 'the selected step is visible');
  await vscode.screenshot('steps');
  await view.command('clearSelection');
});

test('Tab leaves the filter’s list of terms out', async () => {
  // terms are offered while there is none
  await view.filter('');
  await view.locator('.plot-surface').first().focus();
  await view.press('/');
  await view.locator('.filter-offers li', { hasText: 'file:' }).first().waitFor();
  await vscode.screenshot('filter-offers');
  await view.press('Tab');
  assert.ok(await view.frame.evaluate(() => document.activeElement.closest('.filter') === null));
});

test('every text of every pane can be read in every theme, and axe-core finds nothing wrong', async () => {
  // with what is only there at times: a list of findings, a filter, groups in groups, a row that is chosen
  await view.pane('What’s in memory');
  await view.groupBy('line', 'category');
  await view.filter('size>64KiB');
  const group = view.locator('.live-set .grid-row.group');
  await group.first().locator('.twistie').click();
  await view.locator('.live-set .grid-row.group[aria-level="2"]').first().waitFor();
  await group.nth(1).locator('[role=gridcell]').nth(1).click();
  await view.locator('.headline-all').click();
  await view.assertAccessible((await view.panes()).toReversed());
  await view.locator('.headline-list:visible').getByRole('button', { name: 'Close' }).click();
  assert.deepEqual(vscode.consoleErrors, []);
});
