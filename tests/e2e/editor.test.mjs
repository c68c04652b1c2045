// What is shown beside source: the heat of lines and their figures, while a file is read, edited and changed; the cells
// of notebooks.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { came } from './waiting.mjs';
import { kept } from './snapshots.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

// ipykernel's name for this code (see tests/python/test_moved_lines.py).
const CELL = "import torch\nx = torch.zeros(1024, device='cuda')";
const CELL_FILE = '/tmp/ipykernel_114/2963578125.py';
const OTHER_FILE = '/tmp/ipykernel_114/1234567890.py';

let vscode;
/** The lines of model.py, as the command line prints them. */
let expected;

test.beforeAll(async () => {
  vscode = await openVSCode({
    settings: { 'workbench.editor.enablePreview': false },
    prepare: (folder) => {
      const cell = (cell_type, source, more) => ({ cell_type, source, metadata: {}, ...more });
      const code = (source, execution_count) => cell('code', source, { execution_count, outputs: [] });
      const cells = [cell('markdown', '# A run'), code('def build():\n    return 1', 1), code(CELL, 2)];
      const book = { cells, metadata: { language_info: { name: 'python' } }, nbformat: 4, nbformat_minor: 5 };
      writeFileSync(path.join(folder, 'book.ipynb'), JSON.stringify(book));
      const stacks = [[[CELL_FILE, 2, '<module>']], [[OTHER_FILE, 2, 'build']]];
      writeFileSync(path.join(folder, 'book.pickle'), kept(stacks));
    },
  });
  const lines = await vscode.lines('train.pickle');
  expected = new Map(lines.filter(({ file }) => file === 'model.py').map((line) => [line.line, line]));
  assert.ok(expected.size > 10);
});
test.afterAll(() => vscode?.close());

/** Formats bytes as "13.5 MiB" or "27 KiB", implemented again for the tests. */
function short(bytes) {
  const power = bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10);
  const value = bytes / 1024 ** power;
  const digits = power === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits).replace(/\.0+$/, '')} ${['B', 'KiB', 'MiB', 'GiB'][power]}`;
}

/** The text after the visible lines of the active editor and the bars in their gutter, by line. */
function beside() {
  return vscode.page.evaluate(() => {
    const editor = document.querySelector('.editor-group-container.active .monaco-editor');
    const found = {};
    if (!editor) return found;
    const numbers = [...editor.querySelectorAll('.line-numbers')].map((element) => ({
      top: Math.round(element.getBoundingClientRect().top),
      line: Number(element.textContent),
    }));
    const at = (element) => {
      const top = Math.round(element.getBoundingClientRect().top);
      return numbers.find((number) => Math.abs(number.top - top) < 3)?.line;
    };
    const content = (element) => {
      const { content } = getComputedStyle(element, '::after');
      return content.startsWith('"') ? JSON.parse(content) : '';
    };
    for (const row of editor.querySelectorAll('.view-line')) {
      const text = [...row.querySelectorAll('span')].map(content).join('');
      const line = at(row);
      if (text && line) (found[line] ??= {}).text = text.replaceAll('\u00a0', ' ');
    }
    for (const glyph of editor.querySelectorAll('.glyph-margin-widgets .cgmr')) {
      const image = getComputedStyle(glyph).backgroundImage;
      const line = at(glyph);
      const encoded = /base64,([^"')]+)/.exec(image)?.[1];
      if (encoded && line)
        (found[line] ??= {}).bar = Number(/width="(\d+)" height="8"/.exec(window.atob(encoded))?.[1] ?? -1);
    }
    return found;
  });
}

/** Waits until the text and bars beside the lines are as expected. */
async function besideIs(test, what) {
  let seen;
  await until(async () => test((seen = await beside())), what).catch((error) => {
    throw new Error(`${error.message}; there is ${JSON.stringify(seen)}`);
  });
  return seen;
}

const titleButton = (label) =>
  vscode.page.locator(`.editor-group-container.active .editor-actions a[aria-label^="${label}"]`);

test('a button in the title shows what the lines allocated, only where there is something to show', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  await vscode.openFile('snapshot.py');
  await vscode.openFile('model.py');
  await titleButton('Show Line Annotations').waitFor();
  assert.deepEqual(await beside(), {});
  await vscode.openFile('snapshot.py');
  await titleButton('Show Line Annotations').waitFor({ state: 'detached' });
  await vscode.openFile('model.py');
  await titleButton('Show Line Annotations').click();
  const allocating = [...expected.values()].filter(
    ({ line, live_at_peak_bytes: live }) => line < 35 && live > 0,
  );
  const wanted = allocating.map(({ line }) => line).sort((a, b) => a - b);
  const seen = await besideIs((lines) => {
    const upper = Object.keys(lines).filter((line) => line < 35);
    return upper.join() === wanted.join() && Object.values(lines).every(({ text, bar }) => text && bar);
  }, `figures and bars at lines ${wanted}`);
  await titleButton('Hide Line Annotations').waitFor();
  const hottest = Math.max(...(await vscode.lines('train.pickle')).map((line) => line.live_at_peak_bytes));
  for (const [line, { text, bar }] of Object.entries(seen)) {
    const { live_at_peak_bytes: live } = expected.get(Number(line));
    assert.ok(live > 0, `line ${line}`);
    assert.ok(text.startsWith(`${short(live)} live at peak`), `line ${line}: ${text}`);
    // a step for each factor of four
    const step = Math.max(6 - Math.floor(Math.log(hottest / live) / Math.log(4)), 1);
    assert.equal(bar, 2 + 2 * step, `line ${line}: ${live} of ${hottest}`);
  }
  for (const theme of ['light', 'hc', 'hc-light', 'dark']) {
    await vscode.setTheme(theme);
    await besideIs((lines) => lines[22]?.text && lines[22]?.bar, `figures in ${theme}`);
    await vscode.screenshot(`editor-${theme}`);
  }
});

test('the figures can be totals, and can be hidden', async () => {
  await vscode.runCommand('Memlens: Toggle Line Figures: Peak/Total');
  const { total_bytes: total } = expected.get(22);
  await besideIs((lines) => lines[22]?.text === `${short(total)} in total`, 'totals after lines');
  await vscode.configure({ 'memlens.lines.totals': false });
  await besideIs((lines) => lines[22]?.bar && !lines[22].text, 'bars alone');
  await vscode.configure({ 'memlens.lines.totals': true });
  await vscode.runCommand('Memlens: Toggle Line Figures: Peak/Total');
  await besideIs((lines) => lines[22]?.text?.includes('live at peak'), 'figures at the peak');
});

test('a key goes to the next line that allocates, and from the last to the first', async () => {
  const lines = [...expected.keys()].sort((a, b) => a - b);
  await vscode.page.locator('.editor-group-container.active .view-line').first().click();
  await vscode.page.keyboard.press('ControlOrMeta+Home');
  for (const line of [...lines, lines[0]]) {
    await vscode.page.keyboard.press('Alt+F11');
    await vscode.atLine('model.py', line);
  }
  const status = vscode.page.locator('.statusbar', { hasText: `Continued from the top: line ${lines[0]}` });
  await status.waitFor();
  await vscode.page.keyboard.press('Shift+Alt+F11');
  await vscode.atLine('model.py', lines.at(-1));
  await vscode.page.locator('.statusbar', { hasText: 'Continued from the end' }).waitFor();
});

test('figures and hovers follow their lines while the file is edited', async () => {
  await vscode.page.keyboard.press('ControlOrMeta+Home');
  await vscode.page.keyboard.press('Enter');
  await vscode.page.keyboard.type('# more');
  await vscode.page.keyboard.press('Enter');
  const { live_at_peak_bytes: live } = expected.get(22);
  await besideIs((lines) => lines[24]?.text?.startsWith(short(live)) && !lines[22]?.text, 'moved figures');
  // and they stay with them when the editor is shown again
  await vscode.openFile('data.py');
  await vscode.openFile('model.py');
  await besideIs((lines) => lines[24]?.text?.startsWith(short(live)), 'figures after a change of tabs');
  const hover = await vscode.hoverText('softmax', { line: 'scores.softmax', expecting: /Total allocated/ });
  assert.ok(hover.includes(expected.get(27).total_bytes.toLocaleString('en-US')), hover);
  await vscode.execute('workbench.action.files.save');
  await vscode.openFile('data.py');
  await vscode.openFile('model.py');
  await besideIs((lines) => lines[24]?.text === `${short(live)} live at peak`, 'figures after saving');
});

test('a file that changed since the run is marked, with a link to the function’s current line', async () => {
  const file = path.join(vscode.folder, 'train.py');
  await vscode.openFile('train.py');
  await besideIs((lines) => lines[31]?.text?.includes('live at peak'), 'figures of train.py');
  // changed by another program: `train` moves to the end of the file
  const text = readFileSync(file, 'utf8');
  const begin = text.indexOf('def train(');
  const end = text.indexOf('def main(');
  writeFileSync(file, `${text.slice(0, begin)}${text.slice(end)}\n\n${text.slice(begin, end)}`);
  const moved =
    readFileSync(file, 'utf8')
      .split('\n')
      .findIndex((line) => line.startsWith('def train(')) + 1;
  await vscode.page.keyboard.press('Control+g');
  await vscode.page.locator('.quick-input-widget').waitFor();
  await vscode.page.keyboard.type('66');
  await vscode.page.keyboard.press('Enter');
  const remark = `The file has changed since the run: \`train\` is now at line ${moved}`;
  const seen = await besideIs(
    (lines) => lines[66]?.text?.includes(remark) && lines[66].bar,
    'a remark after line 66',
  );
  assert.match(seen[66].text, /\(77\.0 MiB live at peak, all of it in calls then\)$/);
  assert.equal(seen[66].bar, -1, 'the bar is an outline');
  await vscode.screenshot('editor-changed');

  await vscode.openFile('train.pickle');
  const view = await SnapshotView.visible(vscode);
  const allocation = await view.tallestAtTheMiddle();
  await view.click(allocation);
  await view.selected(allocation);
  await view.locator('.panel .frames button', { hasText: 'train.py:66' }).first().click();
  await vscode.atLine('train.py', 66);
  const message = await vscode.notification(`is now at line ${moved}`);
  await message.locator('.monaco-button', { hasText: `Go to Line ${moved}` }).click();
  await vscode.atLine('train.py', moved);
});

test('a frame of a notebook opens its cell and line', async () => {
  await vscode.execute('workbench.action.closeAllEditors');
  const view = await SnapshotView.opened(vscode, 'book.pickle');
  await view.click(0);
  await view.selected(0);
  await view.locator('.panel .frames button', { hasText: '2963578125.py:2' }).first().click();
  // it is above the groups of editors, not inside one
  const notebook = vscode.page.locator('.notebookOverlay');
  const cell = notebook.locator('.code-cell-row.focused');
  await cell.filter({ hasText: 'torch.zeros(1024' }).waitFor();
  await cell.locator('.monaco-editor.focused').waitFor();
  const text = () =>
    cell
      .locator('.view-line span')
      .evaluateAll((spans) => spans.map((span) => getComputedStyle(span, '::after').content).join(''));
  await until(async () => (await text()).includes('live at peak'), 'figures in the cell');
  const hover = await vscode.page.locator('.monaco-hover:visible').count();
  assert.equal(hover, 0);
  const about = vscode.page.locator('.monaco-hover:visible', { hasText: 'what this line allocated' });
  // a cell that is redrawn under the pointer loses its hover
  await until(async () => {
    await vscode.page.mouse.move(5, 5);
    await cell.locator('.view-line', { hasText: 'torch.zeros' }).hover();
    return await came(about.waitFor({ timeout: 5000 }));
  }, 'the cell has a hover');
  await vscode.screenshot('editor-notebook');
});

test('a cell that was edited since is never guessed', async () => {
  await vscode.page.mouse.move(5, 5);
  await vscode.runCommand('View: Focus First Editor Group');
  const view = await SnapshotView.visible(vscode);
  await view.click(1);
  await view.selected(1);
  await view.locator('.panel .frames button', { hasText: '1234567890.py:2' }).first().click();
  const picks = vscode.page.locator('.quick-input-list .monaco-list-row');
  await picks.filter({ hasText: 'book.ipynb: cell 2' }).waitFor();
  assert.equal(await picks.count(), 1);
  await vscode.page.locator('.quick-input-widget', { hasText: 'was edited since the run' }).waitFor();
  await vscode.pick(picks.first());
  const cell = vscode.page.locator('.notebookOverlay .code-cell-row.focused');
  await cell.filter({ hasText: 'def build' }).waitFor();
});

test('the console has no errors', async () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
