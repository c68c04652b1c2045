// The live set as a tree table, and the filter that narrows every view.
import assert from 'node:assert/strict';
import { poorContrasts } from './contrast.mjs';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'train.pickle';

let vscode;
let view;
let device;
let lines;

test.beforeAll(async () => {
  vscode = await openVSCode();
  const [info, found] = await Promise.all([vscode.memlens('info', FILE), vscode.lines(FILE)]);
  [device] = info.devices;
  lines = found;
  view = await SnapshotView.opened(vscode, FILE);
});
test.afterAll(() => vscode?.close());

const press = (key) => view.press(key);
const row = (text) => view.locator('.grid-row', { hasText: text });
const summary = (pattern) => view.locator('.live-set-summary', { hasText: pattern }).waitFor();
/** Waits for the rows, which are fetched again whenever the question changes. */
const figures = async () => {
  await view.settled();
  const text = await view.text('.live-set-summary');
  const [count, groups] = text.match(/([\d,]+) allocations?.* in ([\d,]+) \w+/).slice(1);
  return { count: Number(count.replace(',', '')), groups: Number(groups.replace(',', '')) };
};
const filter = (text) => view.filter(text);

test.describe('the tree table', () => {
  test('groups what is live at the peak by line, down to single allocations', async () => {
    // the panel opens with this pane
    await view.locator('.scope-text', { hasText: 'At the peak' }).waitFor();
    await summary(/^[\d,]+ allocations, .* in \d+ lines, by my code$/);
    await view.settled();
    const { groups } = await figures();
    assert.equal(await view.locator('.live-set .grid').getAttribute('aria-rowcount'), String(groups + 1));
    // the largest group is first
    const shares = await view
      .locator('.grid-row > :nth-child(3)')
      .evaluateAll((cells) => cells.map((cell) => Number.parseFloat(cell.innerText.replace('<', ''))));
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => b - a),
    );

    const name = await view.locator('.grid-row .place-link').first().innerText();
    const group = row(name).first();
    const many = Number(await group.locator('[role=gridcell]').nth(3).innerText());
    await group.locator('.twistie').click();
    await view.locator('.grid-row.leaf').first().waitFor();
    assert.equal(await group.getAttribute('aria-expanded'), 'true');
    assert.equal(await view.locator('.grid-row.leaf').first().getAttribute('aria-setsize'), String(many));
    assert.equal(await view.locator('.grid-row.leaf').first().getAttribute('aria-level'), '2');
    await group.locator('.twistie').click();
    await view.locator('.grid-row.leaf').first().waitFor({ state: 'detached' });
  });

  test('a group is highlighted in the picture, and its line opens', async () => {
    const group = view.locator('.grid-row.group').first();
    await group.locator('[role=gridcell]').nth(1).click();
    await view.locator('.status-note', { hasText: /highlighted/ }).waitFor();
    await view.settled();
    assert.equal(await group.getAttribute('aria-selected'), 'true');

    const place = group.locator('.place-link');
    const [file, line] = (await place.innerText()).split(':');
    assert.ok(lines.some((each) => each.file.endsWith(file) && each.line === Number(line)));
    await place.click();
    await vscode.atLine(file, Number(line));
    await vscode.runCommand('View: Close Editor');
    view = await SnapshotView.visible(vscode);
  });

  test('a size class highlights exactly its allocations, not all of their stacks’ allocations', async () => {
    await view.groupBy('size');
    const group = view.locator('.grid-row.group').first();
    await group.locator('[role=gridcell]', { hasText: ' to ' }).first().waitFor();
    await group.locator('[role=gridcell]').nth(1).click();
    const [low, high] = (await group.locator('[role=gridcell]').first().innerText())
      .split('\n')[0]
      .split(' to ')
      .map((text) => {
        const [number, unit] = text.split(' ');
        return Number(number) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
      });
    const query = `SELECT allocation FROM live_at_peak WHERE size_bytes >= ${low} AND size_bytes < ${high}`;
    const wanted = (await vscode.memlens('sql', FILE, query)).map(({ allocation }) => allocation);
    const bands = new Set(await view.frame.evaluate(() => window.memlensTest.bands()));
    const expected = wanted.filter((each) => bands.has(each)).toSorted((one, other) => one - other);
    assert.ok(expected.length > 0 && expected.length < bands.size);
    const lit = async () => (await view.frame.evaluate(() => window.memlensTest.lit())) ?? [];
    // the previous highlight stays until the answer arrives
    await until(
      async () => String((await lit()).toSorted((one, other) => one - other)) === String(expected),
      'exactly those are highlighted',
    );
    await vscode.screenshot('live-set-lit');
    await press('Escape');
    await until(async () => (await lit()).length === bands.size, 'nothing is dimmed any more');
    await view.groupBy('line');
    await view.locator('.grid-row .place-link').first().waitFor();
  });

  test('can be navigated, opened and selected by keys alone', async () => {
    await view.locator('.live-set .grid').focus();
    await press('Home');
    await press('ArrowRight');
    const active = () => view.locator('.grid-row.active');
    await until(async () => (await active().getAttribute('aria-expanded')) === 'true', 'it is open');
    await view.locator('.grid-row.leaf').first().waitFor();
    await press('ArrowRight');
    assert.equal(await active().getAttribute('aria-level'), '2');
    const [, allocation] = (await active().getAttribute('data-id')).split(':');
    await press(' ');
    await view.selected(Number(allocation));
    await press('ArrowLeft');
    assert.equal(await active().getAttribute('aria-rowindex'), '2');
    await press('ArrowLeft');
    await until(async () => (await active().getAttribute('aria-expanded')) === 'false', 'it is closed');
    await press('End');
    const count = await view.locator('.live-set .grid').getAttribute('aria-rowcount');
    assert.equal(await active().getAttribute('aria-rowindex'), count);
  });

  test('groups by other properties can be nested, sorted by a header, and narrowed', async () => {
    await view.groupBy('category', 'size');
    await summary(/groups$/);
    const { count } = await figures();
    const names = async () =>
      view
        .locator('.grid-row.group[aria-level="1"] bdi:first-of-type')
        .evaluateAll((all) => all.map((each) => each.innerText));
    await view.locator('.grid [role=columnheader]', { hasText: 'Name' }).getByRole('button').click();
    await view.locator('.grid [role=columnheader][aria-sort=ascending]', { hasText: 'Name' }).waitFor();
    await until(async () => {
      const now = await names();
      return now.length > 1 && now.join() === now.toSorted().join();
    }, 'they are sorted by name');

    await view.locator('.grid-row.group').first().locator('.twistie').click();
    await view.locator('.grid-row.group[aria-level="2"]', { hasText: ' to ' }).first().waitFor();
    const narrow = (text) =>
      view.settings('.live-set-controls', (sheet) => sheet.locator('.live-set-narrow').fill(text));
    await narrow('size>1MiB');
    await view.locator('.live-set-controls .chip', { hasText: 'size>1MiB' }).waitFor();
    await until(async () => (await figures()).count < count, 'there are fewer');
    await narrow('size>big');
    await view.locator('.live-set-error', { hasText: "'size>big': big is not a size or time" }).waitFor();
    await view.locator('.live-set-controls .chip').click();
    await summary(new RegExp(`${count} allocations`));
  });
});

test.describe('the filter', () => {
  test('narrows the picture, the figures and the table', async () => {
    await view.locator('.plot-surface').first().focus();
    await press('/');
    assert.equal(await view.frame.evaluate(() => document.activeElement.className), 'filter-input');
    await view.locator('.filter-offers li', { hasText: 'file:' }).first().waitFor();
    // the list of terms isn't a separate tab stop
    await press('Tab');
    assert.ok(await view.frame.evaluate(() => document.activeElement.closest('.filter') === null));
    await filter('size>1MiB');
    await view.locator('.filter-badge').waitFor();
    const [fit, every] = (await view.text('.filter-badge')).replaceAll(',', '').match(/\d+/g).map(Number);
    assert.equal(every, device.allocations);
    assert.ok(fit > 0 && fit < every);
    await view.locator('.status-text', { hasText: `${fit.toLocaleString('en-US')} allocations` }).waitFor();
    await summary(/^Filtered/);
    await view.drawn();
    const bands = await view.frame.evaluate(() => window.memlensTest.bands());
    const listed = await Promise.all(bands.slice(0, 5).map((band) => vscode.memlens('stack', FILE, band)));
    assert.ok(listed.every(({ allocation }) => allocation.size_bytes > 2 ** 20));
  });

  test('shows in place which term is wrong, and keeps the last valid filter', async () => {
    const before = await view.text('.filter-badge');
    await filter('size>1MiB flie:x');
    await view.locator('.filter-error', { hasText: "'flie:x' is not a filter term" }).waitFor();
    assert.equal(await view.locator('.filter-input').getAttribute('aria-invalid'), 'true');
    await filter('size>1MiB');
    await view.locator('.filter-error').waitFor({ state: 'hidden' });
    await until(
      async () => (await view.text('.filter-badge')) === before,
      'the same allocations match again',
    );
  });

  test('is kept when the tab is hidden, and cleared by Escape', async () => {
    await vscode.openFile('train.py');
    await vscode.openFile(FILE);
    view = await SnapshotView.visible(vscode);
    await view.locator('.filter-badge').waitFor();
    assert.equal(await view.locator('.filter-input').inputValue(), 'size>1MiB');
    await view.locator('.filter-input').focus();
    await press('Escape');
    await view.locator('.filter-badge').waitFor({ state: 'hidden' });
    await view
      .locator('.status-text', { hasText: `${device.allocations.toLocaleString('en-US')} allocations` })
      .waitFor();
  });

  test('"filter to this" works for a group, and a filter finds the allocation at an address', async () => {
    await view.groupBy('line');
    const group = view.locator('.grid-row.group').first();
    await group.hover();
    const name = await group.locator('.place-link').innerText();
    await group.getByRole('button', { name: 'Filter to this' }).click();
    await view.locator('.filter-badge').waitFor();
    assert.match(await view.locator('.filter-input').inputValue(), /^by:/);
    await summary(/in 1 line, by my code$/);
    await view.settled();
    assert.equal(await view.locator('.grid-row.group .place-link').innerText(), name);

    // the same with the row's menu
    const chosen = await view.locator('.filter-input').inputValue();
    await filter('');
    await view.locator('.filter-badge').waitFor({ state: 'hidden' });
    await view.locator('.grid-row.group', { hasText: name }).first().click({ button: 'right' });
    const menu = view.locator('.menu [role=menuitem]');
    await menu.filter({ hasText: 'Highlight' }).waitFor();
    await vscode.screenshot('live-set-menu');
    await menu.filter({ hasText: 'Filter to This' }).click();
    await view.locator('.filter-badge').waitFor();
    assert.equal(await view.locator('.filter-input').inputValue(), chosen);

    // an error message has only an address
    const { allocation } = await vscode.memlens('stack', FILE, lines[0].largest_allocation ?? 100);
    const inside = `0x${(BigInt(allocation.address) + BigInt(Math.max(allocation.size_bytes - 1, 0))).toString(16)}`;
    await filter(`${inside} allocation:${allocation.allocation}`);
    await view.locator('.filter-badge', { hasText: /^1 of/ }).waitFor();
    await filter('');
    await view.locator('.filter-badge').waitFor({ state: 'hidden' });
  });
});

test('a frame of the panel filters by its line or its function; its totals are those of the matches', async () => {
  await vscode.runCommand('Memlens: Reset Zoom');
  await view.drawn();
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  await until(async () => (await view.text('.same-stack-title')) === 'Same stack', 'the sums of its stack');
  const frame = view.locator('.frame.user > button:first-child').first();
  const file = (await frame.getAttribute('title')).replaceAll('\\', '/');
  await frame.focus();
  await press('f');
  await view.locator('.filter-badge').waitFor();
  assert.equal(await view.locator('.filter-input').inputValue(), `file:"=${file}"`);
  await view.locator('.same-stack-title', { hasText: 'of what matches the filter' }).waitFor();
  await view.settled();
  const [, kept] = (await view.text('.filter-badge')).match(/^([\d,]+) of/);
  assert.ok(Number(kept.replace(',', '')) < device.allocations);
  // narrowed further, so that nothing of the stack matches
  await filter(`file:"=${file}" -allocation:${allocation}`);
  await view
    .locator('.filter-badge', { hasText: (Number(kept.replace(',', '')) - 1).toLocaleString('en-US') })
    .waitFor();
  await filter('');
  await view.locator('.filter-badge').waitFor({ state: 'hidden' });
  await until(async () => (await view.text('.same-stack-title')) === 'Same stack', 'of all again');

  await view.locator('.frame.user').first().hover();
  const name = await frame.locator('.frame-function').innerText();
  await view
    .locator('.frame.user .frame-filter')
    .first()
    .click({ modifiers: ['Shift'] });
  await view.locator('.filter-badge').waitFor();
  assert.equal(await view.locator('.filter-input').inputValue(), `function:"=${name}"`);
  await filter('');
  await view.locator('.filter-badge').waitFor({ state: 'hidden' });
});

test('the groups and their order are restored after the view was hidden', async () => {
  await view.groupBy('size', 'line');
  await view.locator('.live-set .grid').getByRole('columnheader', { name: 'Count' }).click();
  await view.locator('.grid [role=columnheader][aria-sort=descending]', { hasText: 'Count' }).waitFor();
  await vscode.hideAndShow(FILE);
  view = await SnapshotView.visible(vscode);
  await view.locator('.grid [role=columnheader][aria-sort=descending]', { hasText: 'Count' }).waitFor();
  const chosen = await view
    .locator('.live-set-controls select')
    .evaluateAll((all) => all.map((one) => one.value));
  assert.deepEqual(chosen, ['size', 'line', '']);
  await view.groupBy('size', '');
});

test('every text can be read in every theme', async () => {
  await view.groupBy('line', 'category');
  await filter('size>64KiB');
  await view.locator('.filter-badge').waitFor();
  await view.locator('.grid-row.group').first().locator('.twistie').click();
  await view.locator('.grid-row.group[aria-level="2"]').first().waitFor();
  await view.settled();
  await view.locator('.grid-row.group').nth(1).locator('[role=gridcell]').nth(1).click();
  await view.settled();
  for (const theme of ['light', 'hc', 'hc-light', 'dark']) {
    await vscode.setTheme(theme);
    await vscode.screenshot(`live-set-${theme}`);
    const { looked, poor } = await view.frame.evaluate(poorContrasts, ['.headline', '.toolbar', '.dock']);
    assert.ok(looked > 40, `${looked} texts and icons were looked at`);
    assert.deepEqual(poor, [], theme);
  }
  // the help on filter terms
  await view.locator('.filter-input').fill('size>64KiB f');
  await view.locator('.filter-offers li').first().waitFor();
  await vscode.screenshot('filter-offers');
  assert.deepEqual(vscode.consoleErrors, []);
});
