// A profile of the sample program: it opens with its flame graph, a click opens the line, the line's hover has the
// figure, and all panes follow the value and the filter.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { poorContrasts } from './contrast.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'words.pb.gz';

let vscode;
let view;
/** The figures of `memlens flame --json` for each function. */
let reported;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      cpSync(
        path.join(ROOT, 'tests/fixtures/profiles/service.heaptrack.zst'),
        path.join(folder, 'heaptrack.pprof'),
      );
    },
  });
  reported = await vscode.memlens('flame', FILE);
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  await drawn();
});
test.afterAll(() => vscode?.close());

const boxes = () => view.frame.evaluate(() => window.memlensFlame.boxes());

async function drawn() {
  await view.locator('.flame[data-pictures]').waitFor();
  await boxesStandStill(view, boxes);
}

const boxOf = async (name) => (await boxes()).find((box) => box.name === name);

async function click(name, modifier) {
  await drawn();
  const box = await boxOf(name);
  const surface = await view.locator('.flame-surface').boundingBox();
  if (modifier) await vscode.page.keyboard.down(modifier);
  await vscode.page.mouse.click(surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2);
  if (modifier) await vscode.page.keyboard.up(modifier);
}

test('it opens with the flame graph of the selected value, as wide as the view', async () => {
  const surface = await view.locator('.flame-surface').boundingBox();
  assert.ok(surface.width > 700 && surface.height > 300, JSON.stringify(surface));
  const all = await boxes();
  assert.ok(Math.abs(all.find(({ node }) => node === 0).width - surface.width) <= 1);
  let looked = 0;
  for (const row of reported.rows.slice(0, 6)) {
    const own = all.filter(({ name }) => name === row.name.function);
    if (own.length !== 1) continue;
    looked++;
    const expected = (surface.width * row.bytes) / reported.total_bytes;
    assert.ok(Math.abs(own[0].width - expected) <= 1.01, row.name.function);
  }
  assert.ok(looked >= 3, `${looked} functions`);
  assert.match(await view.text('.toolbar select'), /In use/);
  await vscode.screenshot('profile');
});

test('Ctrl+click on a box opens its line, whose hover has the figure', async () => {
  const lines = await vscode.lines(FILE);
  const [line] = lines.filter((each) => each.function === 'Index.add').toSorted((a, b) => b.total - a.total);
  const row = reported.rows.find(({ name }) => name.function === 'Index.add');
  await click('Index.add');
  await view.locator('.flame-details h3', { hasText: 'Index.add' }).waitFor();
  const inclusive = view.locator(
    'xpath=//*[contains(@class,"flame-details")]//dt[normalize-space()="Inclusive"]/following-sibling::dd[1]',
  );
  await inclusive.and(view.locator(`[title="${row.bytes.toLocaleString('en-US')} bytes"]`)).waitFor();
  await click('Index.add', 'Control');
  await vscode.atLine('words.py', line.line);
  const hover = await vscode.hoverText('append', { line: 'postings[word].append', expecting: /In use/ });
  assert.ok(hover.includes(line.total.toLocaleString('en-US')), hover);
  await vscode.runCommand('View: Close Editor');
  await drawn();
});

test('another value is shown everywhere', async () => {
  const counts = await vscode.memlens('flame', FILE, '--value', 'inuse_objects');
  await view.locator('.toolbar select').selectOption({ index: 0 });
  await click('Index.search');
  await view.locator('.flame-details h3', { hasText: 'Index.search' }).waitFor();
  const row = counts.rows.find(({ name }) => name.function === 'Index.search');
  await view.locator('.flame-details', { hasText: row.bytes.toLocaleString('en-US') }).waitFor();
  await vscode.runCommand('Memlens: Show What’s in Memory');
  await view.locator('.live-set-summary', { hasText: counts.total_bytes.toLocaleString('en-US') }).waitFor();
  await view.locator('.toolbar select').selectOption({ index: 1 });
  await view.locator('.live-set-summary', { hasText: /iB in/ }).waitFor();
});

test('the table, the sizes and SQL agree; a filter set in one applies to all', async () => {
  assert.deepEqual(await view.panes(), ['Hot spots', 'Sizes', 'Compare', 'SQL']);
  await view.pane('Sizes');
  const rows = view.locator('.sizes tbody tr');
  await rows.first().waitFor();
  await view.settled();
  assert.ok((await rows.count()) > 4);
  await vscode.screenshot('profile-sizes');
  await rows.last().locator('button').click();
  await until(async () => (await rows.count()) === 1, 'one size is left');
  assert.match(await view.locator('.filter-input').inputValue(), /^size>=/);
  await view.locator('.filter-input').fill('function:nothing_like_this');
  await view.locator('.flame-empty', { hasText: 'Nothing' }).waitFor();
  await view.locator('.filter-input').fill('life>1s');
  await view.locator('.filter-error', { hasText: "a profile doesn't record that" }).waitFor();
  await view.locator('.filter-input').fill('');
  await view.locator('.filter-input').press('Enter');
  await drawn();
});

for (const theme of ['light', 'hc', 'hc-light', 'dark']) {
  test(`${theme}: every text can be read`, async () => {
    await vscode.setTheme(theme);
    await drawn();
    await vscode.screenshot(`profile-${theme}`);
    const parts = ['.headline', '.toolbar', '.flame-toolbar', '.dock', '.status'];
    const { looked, poor } = await view.frame.evaluate(poorContrasts, parts);
    assert.deepEqual(poor, []);
    assert.ok(looked > 15, `${looked} texts`);
  });
}

test('the whole view follows the selected stretch of time', async () => {
  await vscode.openFile('heaptrack.pprof');
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
  await view.locator('.profile-times-key', { hasText: 'Live' }).first().waitFor();
  await drawn();
  const canvas = await view.locator('.profile-times-canvas').boundingBox();
  const y = canvas.y + canvas.height / 2;
  await vscode.page.mouse.move(canvas.x + 0.3 * canvas.width, y);
  await vscode.page.mouse.down();
  await vscode.page.mouse.move(canvas.x + 0.8 * canvas.width, y, { steps: 4 });
  await vscode.page.mouse.up();
  const reported = view.locator('.profile-times-head [role=status]', {
    hasText: /allocated .* in .*, freed /,
  });
  await reported.waitFor();
  const [, allocated, many] = /allocated (\S+ \S+) in ([\d,]+),/.exec(await reported.innerText());
  await vscode.runCommand('Memlens: Show What’s in Memory');
  await view.locator('.live-set-summary', { hasText: `${many} allocations, ${allocated}` }).waitFor();
  await drawn();
  await vscode.screenshot('profile-times');
  await view.locator('.profile-times-head').getByRole('button', { name: 'Freed' }).click();
  // values aren't known for a stretch: none is selected, and choosing one shows the whole run
  const chosen = () =>
    view
      .locator('.toolbar select')
      .first()
      .evaluate((list) => list.selectedOptions[0].textContent);
  await until(async () => /^Freed from .*, in bytes$/.test(await chosen()), 'the stretch is shown');
  const ask = async (title) => {
    const options = await view.locator('.toolbar select option').allInnerTexts();
    await view
      .locator('.toolbar select')
      .selectOption({ index: options.findIndex((text) => title.test(text)) });
  };
  await ask(/^Temporary allocations/);
  await view.locator('.live-set [role=columnheader]', { hasText: 'Number' }).waitFor();
  assert.match(await chosen(), /^Temporary allocations · /);
  await vscode.screenshot('profile-temporary');
  await ask(/peak/i);
  await view.locator('.profile-times-canvas').press('ArrowRight');
  await until(async () => /^Live at/.test(await chosen()), 'a moment is shown');
  await view.locator('.profile-times-canvas').press('Escape');
  await until(async () => !/^Live at \d/.test(await chosen()), 'the whole run is shown again');
  // it would flatten the line of what is live, so it is hidden at first
  const hidden = view.locator('.profile-times-key.off', { hasText: 'RSS' });
  await hidden.waitFor();
  await view.locator('.profile-times-legend').click();
  await view.menuItem('Resident set (RSS)').click();
  await hidden.waitFor({ state: 'detached' });
  await vscode.setTheme('light');
  await drawn();
  await vscode.screenshot('profile-times-light');
});

test('hot spots and functions are charged by one rule, my code or any code', async () => {
  const ofRule = async (...rule) => {
    const { rows } = await vscode.memlens('flame', 'heaptrack.pprof', '--value', 'peak', ...rule);
    return rows.toSorted((a, b) => b.self_bytes - a.self_bytes)[0].name.function.slice(0, 40);
  };
  const [mine, any] = [await ofRule(), await ofRule('--any-code')];
  assert.notEqual(mine, any);
  await vscode.runCommand('Memlens: Show What’s in Memory');
  await view.groupBy('function');
  const first = (table, name) => view.locator(`${table} [role=row][aria-rowindex="2"]`, { hasText: name });
  await first('.live-set', mine).waitFor();
  await view.settings('.live-set-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Any code' }).click(),
  );
  await first('.live-set', any).waitFor();
  await vscode.screenshot('profile-any-code');
  await view.flameForm('functions');
  const pressed = view.locator('.flame-toolbar [aria-pressed=true]', { hasText: /(My|Any) code/ });
  assert.equal(await pressed.textContent(), 'Any code');
  await first('.flame-functions', any).waitFor();
  await view.flame('My code');
  await first('.flame-functions', mine).waitFor();
  await first('.live-set', mine).waitFor();
  await view.flame('Any code');
  await first('.live-set', any).waitFor();
  // the rule that decides a box's own value is shown with it, and kept when the view is restored
  await view.flameForm('icicle');
  await drawn();
  await view.groupBy('line');
});

test('the value, the stretch, the zoom and the selection survive the death of the server', async () => {
  await view.locator('.profile-times-canvas').focus();
  for (let times = 0; times < 3; times++) await view.press('Shift+ArrowRight');
  const stretch = view.locator('.profile-times-head [role=status]', { hasText: /live$/ });
  await stretch.waitFor();
  await drawn();
  const { width } = await view.locator('.flame-surface').boundingBox();
  const box = (await boxes()).find(
    (each) => each.node !== 0 && each.width > 0.1 * width && each.width < 0.9 * width,
  );
  const surface = await view.locator('.flame-surface').boundingBox();
  await vscode.page.mouse.dblclick(surface.x + box.x + box.width / 2, surface.y + box.y + box.height / 2);
  const camera = () => view.frame.evaluate(() => window.memlensFlame.camera());
  await until(async () => (await camera()).x1 - (await camera()).x0 < 0.95, 'it has zoomed');
  await view.locator('.flame-details h3', { hasText: box.name }).waitFor();
  await view.locator('.flame-details dt', { hasText: 'Self (any code)' }).first().waitFor();
  await drawn();
  const reported = async () => ({
    camera: await camera(),
    chosen: await view.locator('.flame-details').innerText(),
    stretch: await stretch.innerText(),
    value: await view.locator('.toolbar select').first().inputValue(),
  });
  const stood = await reported();
  await view.settled(); // so that it is stored

  const [server] = vscode.processes('-m memlens lsp');
  await view.frame.evaluate(() => {
    window.memlensFlame.ofTheOldServer = true;
  });
  process.kill(server, 'SIGKILL');
  await view.frame.waitForFunction(() => window.memlensFlame && !window.memlensFlame.ofTheOldServer);
  await stretch.waitFor();
  await view.locator('.flame-details h3', { hasText: box.name }).waitFor();
  await drawn();
  assert.deepEqual(await reported(), stood);
});

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
