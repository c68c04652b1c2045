// A recording of a profiler in VS Code: recognised by its content whatever its name, shown with the figures of the
// command line; a box and a row open their line, whose hover has the line's figure. The other profilers' recordings
// are in tests/views/formats.test.ts.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

/**
 * recorded: the recording in tests/fixtures/profiles; file: what it is called here, which says nothing of its format;
 * box: a function whose box is clicked; word: of the line that it opens; times: whether the view has them.
 */
const RECORDINGS = [
  {
    ...{ kind: 'heaptrack', recorded: 'service.heaptrack.zst', file: 'tuesday.recording' },
    ...{ source: 'service.cpp', box: 'Cache::keep(int)', word: 'keep', times: true },
  },
  {
    ...{ kind: 'memray', recorded: 'index.memray.bin', file: 'capture' },
    ...{ source: 'index.py', box: 'build', word: 'add', times: true },
  },
];

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    workspace: path.join(ROOT, 'tests/fixtures/profiles'),
    viewport: { width: 1440, height: 900 },
    prepare: (folder) => {
      rmSync(path.join(folder, 'make.py'));
      for (const { recorded, file } of RECORDINGS)
        renameSync(path.join(folder, recorded), path.join(folder, file));
    },
  });
});
test.afterEach(() => vscode?.execute('workbench.action.closeAllEditors'));
test.afterAll(() => vscode?.close());

const boxes = () => view.frame.evaluate(() => window.memlensFlame?.boxes() ?? []);

/** Waits until the boxes don't move any more and all have their names. */
async function drawn() {
  await boxesStandStill(view, boxes);
}

async function open(file) {
  await vscode.openFile(file);
  // as text, or as something that isn't text
  const { page } = vscode;
  const asText = page.locator('.editor-instance .view-line').first();
  await asText.or(page.getByText('is not displayed in the text editor')).first().waitFor();
  await vscode.runCommand('Memlens: Open as Memory Snapshot');
  view = new SnapshotView(vscode, await vscode.webview());
}

async function clickBox(name, modifier) {
  // the details of an earlier click may have reduced the graph's height
  await drawn();
  const widest = (await boxes())
    .filter((box) => box.name === name)
    .reduce((a, b) => (b.width > a.width ? b : a));
  const surface = await view.locator('.flame-surface').boundingBox();
  if (modifier) await vscode.page.keyboard.down(modifier);
  const at = { x: surface.x + widest.x + widest.width / 2, y: surface.y + widest.y + widest.height / 2 };
  await vscode.page.mouse.click(at.x, at.y);
  if (modifier) await vscode.page.keyboard.up(modifier);
}

const exact = (amount, unit) => `${amount.toLocaleString('en-US')}${unit === 'bytes' ? ' bytes' : ''}`;

for (const { kind, file, source, box, word, times } of RECORDINGS) {
  test(`${kind}: its figures, its line and the line's hover`, async () => {
    const [info, lines, flame] = await Promise.all([
      vscode.memlens('info', file),
      vscode.lines(file),
      vscode.memlens('flame', file),
    ]);
    assert.equal(info.kind, kind);
    const { values, default_value: first } = info;
    const { total, title, unit } = values[first];
    await open(file);
    await view.locator('#memlens[data-model=profile][data-state=ready]').waitFor();
    await drawn();
    assert.match(await view.text('.status-text'), new RegExp(`^${kind}\\b`));
    assert.equal(await view.locator('.toolbar select').inputValue(), String(first));
    assert.equal(await view.locator('.toolbar select option').count(), values.length);
    assert.equal(await view.locator('.profile-times').count(), Number(times));
    const ordered = await view.settings('.flame-toolbar', (sheet) =>
      sheet.locator('select[aria-label="Order"]').isVisible(),
    );
    assert.equal(ordered, times);
    assert.deepEqual(await view.panes(), ['Hot spots', 'Compare', 'SQL']);

    // the whole, and one box
    const inclusive = view.locator(
      'xpath=//*[contains(@class,"flame-details")]//dt[normalize-space()="Inclusive"]/following-sibling::dd[1]',
    );
    await view.locator('.flame-surface').click({ position: { x: 3, y: 3 } });
    await inclusive.and(view.locator(`[title="${exact(total, unit)}"]`)).waitFor();
    const of = flame.rows.find(({ name }) => name.function === box);
    assert.ok(of.bytes > total / 100 && of.bytes < total);
    await clickBox(box);
    await inclusive.and(view.locator(`[title="${exact(of.bytes, unit)}"]`)).waitFor();
    await vscode.screenshot(`format-${kind}`);

    const [line] = lines.filter((each) => each.function === box).toSorted((a, b) => b.total - a.total);
    await clickBox(box, 'Control');
    await vscode.atLine(source, line.line);
    const code = readFileSync(path.join(vscode.folder, 'src', source), 'utf8').split('\n');
    const at = code[line.line - 1].trim();
    const text = await vscode.hoverText(word, { line: at, expecting: new RegExp(title) });
    assert.ok(text.includes(`${title}: `) && text.includes(exact(line.total, unit)), text);

    // from the hover to the line's figures in the view
    await vscode.page.locator('.monaco-hover:visible a', { hasText: 'Show these allocations' }).click();
    await until(
      async () => (await view.locator('.filter-input').inputValue()).includes(`${source}:${line.line}`),
      'the view is filtered to the line',
    );
    await drawn();
    await view.locator('.flame-surface').click({ position: { x: 3, y: 3 } });
    await inclusive.and(view.locator(`[title="${exact(line.total, unit)}"]`)).waitFor();
    await view.locator('.filter-input').fill('');
    await view.locator('.filter-input').press('Enter');

    // a row of the table opens the line that it names
    await view.locator('.live-set-summary', { hasText: /, [\d.]+ KiB in \d+ lines/ }).waitFor();
    const row = view.locator('.live-set .grid-row', { hasText: `${source}:` }).nth(1);
    await view.settled();
    const [, number] = /:(\d+)/.exec(await row.innerText());
    assert.ok(lines.some((each) => each.line === Number(number) && each.file.endsWith(source)));
    await row.click({ modifiers: ['Control'] });
    await vscode.atLine(source, Number(number));
    await vscode.screenshot(`format-${kind}-row`);
  });
}

test('the console has no errors', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
