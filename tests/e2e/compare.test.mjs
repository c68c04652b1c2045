// Compares two snapshots: the other one is chosen from those that are open; the list of lines has the figures of the
// command line, a click on a row opens its line, and everything is restored after a reload.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, exactBytes, until } from './view.mjs';

const MINE = 'train.pickle';
const OTHER = 'branch.pickle';
const SHIFT = 5;

/**
 * The sample as if its code were in another folder, with lines added at the top of model.py and twice the memory held
 * by a line of train.py.
 */
const BRANCH = `
import pickle, sys
source, target, shift = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = pickle.load(open(source, 'rb'))
seen = set()
for trace in data['device_traces']:
    for event in trace:
        own = next((f for f in event['frames'] if '/' not in f['filename']), None)
        if own and id(own) not in seen and (own['filename'], own['line']) == ('train.py', 46):
            event['big'] = True
    for event in trace:
        if event.pop('big', False):
            event['size'] *= 2
    for event in trace:
        for frame in event['frames']:
            if id(frame) not in seen and '/' not in frame['filename'] and frame['filename'].endswith('.py'):
                frame['line'] += shift * (frame['filename'] == 'model.py')
                frame['filename'] = '/srv/jobs/7/' + frame['filename']
            seen.add(id(frame))
pickle.dump(data, open(target, 'wb'))
`;

test.describe.configure({ mode: 'serial' });

let vscode;
let view;
let expected;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1500, height: 1000 },
    prepare: (folder) => {
      const files = [MINE, OTHER].map((name) => path.join(folder, name));
      execFileSync(venvProgram('python'), ['-c', BRANCH, ...files, String(SHIFT)]);
    },
  });
  expected = await vscode.memlens('compare', MINE, OTHER, '--top', 1000);
  await SnapshotView.opened(vscode, OTHER);
  view = await SnapshotView.opened(vscode, MINE);
});
test.afterAll(() => vscode?.close());

const rows = () => view.locator('.compare-table tbody tr');
const choose = async (name) => {
  const row = vscode.page.locator('.quick-input-list .monaco-list-row', {
    has: vscode.page.locator('.label-name').getByText(name, { exact: true }),
  });
  await row.first().click();
};
const cells = async (index) => await rows().nth(index).locator('td').allInnerTexts();
const drawn = async () => {
  await view.locator('.compare-picture:not([hidden])[data-drawn]').waitFor();
  await view.settled();
};

test('it is compared with an open snapshot, with the figures of the command line', async () => {
  await vscode.runCommand('Memlens: Show Comparison');
  await view.locator('.dock .compare-notice .button').click();
  const first = vscode.page.locator('.quick-input-list .monaco-list-row').first();
  await first.filter({ hasText: OTHER }).waitFor();
  await choose(OTHER);
  await rows().first().waitFor();
  await drawn();
  const shown = expected.rows.slice(0, 200);
  assert.equal(await rows().count(), shown.length);
  const titles = await rows()
    .locator('td:nth-child(2)')
    .evaluateAll((all) => all.map((cell) => cell.title));
  assert.deepEqual(
    titles,
    shown.map(({ difference_bytes: difference }) =>
      difference === 0
        ? 'No difference'
        : `${exactBytes(Math.abs(difference))} ${difference > 0 ? 'more' : 'less'} after`,
    ),
  );
  const summary = await view.text('.compare-summary');
  assert.match(summary, /train\.pickle .* → branch\.pickle .*▲ \+/);
  // The sign and the shape show it without the colour.
  assert.match((await cells(0))[1], /▲\s*\+/);
});

test('a line that moved is paired with itself, and a click opens it here', async () => {
  const index = expected.rows.findIndex((row) => row.before?.file === 'model.py' && row.how === 'moved');
  const { before: place, after: there } = expected.rows[index];
  assert.equal(there.line, place.line + SHIFT);
  assert.match((await cells(index))[0], new RegExp(`moved from line ${place.line}\\b`));
  await rows().nth(index).click();
  await vscode.atLine('model.py', place.line);
  await view.locator(`.compare-table tr[aria-selected=true]`).waitFor();
});

test('the keys move through the rows, and a search narrows them', async () => {
  await rows().nth(2).click();
  const third = expected.rows[2];
  const opened = third.before ?? third.after;
  await vscode.atLine(path.posix.basename(opened.file), opened.line);
  // at once: the text that the click opened doesn't get the focus again
  await view.locator('.compare-grid').press('Control+Home');
  await view.press('ArrowDown');
  await view.press('Enter');
  await rows().nth(1).and(view.locator('[aria-selected=true]')).waitFor();
  const { before: place, after: there } = expected.rows[1];
  await vscode.atLine(path.posix.basename((place ?? there).file), (place ?? there).line);
  await view.locator('.compare-search').fill('train.py');
  const matching = expected.rows.filter((row) =>
    JSON.stringify([row.before, row.after]).includes('train.py'),
  );
  await until(async () => (await rows().count()) === matching.length, 'only rows of train.py are left');
  await view.locator('.compare-search').fill('');
  await until(async () => (await rows().count()) > matching.length, 'all rows are back');
});

test('swapping the sides reverses the differences; the sums are the same by function and file', async () => {
  const total = async () => {
    await view.settled();
    return (await view.text('.compare-summary')).split(' · ')[0];
  };
  const before = await total();
  await view.locator('.dock').getByRole('button', { name: 'Swap before and after' }).click();
  await until(async () => /▼\s*−/.test((await cells(0))[1]), 'the first row is less now');
  assert.notEqual(await total(), before);
  await view.locator('.dock').getByRole('button', { name: 'Swap before and after' }).click();
  await until(async () => (await total()) === before, 'it is as it was');
  for (const by of ['Function', 'File', 'Stack', 'Line']) {
    await view.settings('.dock .compare-controls', (sheet) =>
      sheet.getByRole('button', { name: by, exact: true }).click(),
    );
    await until(
      async () => new RegExp(`\\b${by.toLowerCase()}`).test(await view.text('.compare-caption')),
      by,
    );
    assert.equal(await total(), before);
  }
});

test('the flame graph of both has the sums of the table', async () => {
  await view.settings('.dock .compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Flame graph' }).click(),
  );
  const { before_bytes: before, after_bytes: after } = expected.total;
  const root = async () =>
    await view.frame.evaluate(() => window.memlensDifference?.boxes().find(({ node }) => node === 0));
  await until(async () => (await root()) !== undefined, 'the graph is drawn');
  const box = await root();
  assert.deepEqual([box.before, box.after], [before, after]);
  await view.settings('.dock .compare-controls', (sheet) =>
    sheet.getByRole('button', { name: 'Table' }).click(),
  );
  await rows().first().waitFor();
});

/** Makes room: the picture would be too small beside the text. */
async function alone() {
  await vscode.runCommand('View: Focus First Editor Group');
  await vscode.runCommand('View: Close Editors in Other Groups');
  const groups = vscode.page.locator('.editor-group-container');
  await until(async () => (await groups.count()) === 1, 'it fills the panel');
  await view.still();
}

test('the picture shows both heights under the pointer, by time and by event', async () => {
  await alone();
  const surface = await view.locator('.compare-surface').boundingBox();
  const middle = { x: surface.x + surface.width / 2, y: surface.y + surface.height / 2 };
  await vscode.page.mouse.move(middle.x, middle.y);
  const tip = view.locator('.compare-surface .tooltip');
  await tip.filter({ hasText: /before train\.pickle[\s\S]*after branch\.pickle[\s\S]*[▲▼=] / }).waitFor();
  await view.locator('.compare-picture').getByRole('button', { name: 'By event' }).click();
  await vscode.page.mouse.move(middle.x + 5, middle.y);
  await until(async () => /event [\d,]+/.test(await tip.innerText()), 'the axis counts events');
  await vscode.page.mouse.click(middle.x, middle.y);
  await until(
    async () => /At the cursor: .* before, .* after/.test(await view.text('.compare-readout')),
    'the cursor shows both',
  );
  // The table follows the cursor on both sides.
  await until(async () => /at event/.test(await view.text('.compare-caption')), 'the table is of the cursor');
  // Both show the same figures.
  await view.settled();
  const size = String.raw`([\d.,]+ \w+)`;
  const inPicture = (await view.text('.compare-readout')).match(`${size} before, ${size} after`);
  const inTable = (await view.text('.compare-summary')).match(`${size} → .*? ${size},`);
  assert.ok(inPicture && inTable);
  assert.deepEqual(inPicture.slice(1), inTable.slice(1));
});

test('by step, the picture and the table say that the steps are inferred', async () => {
  await view.locator('.compare-picture').getByRole('button', { name: 'By step' }).click();
  // the sample has no annotations
  await view
    .locator('.compare-heights', { hasText: '6 steps detected from the repeating pattern' })
    .waitFor();
  await until(
    async () => /beside each other by inferred steps/.test(await view.text('.compare-caption')),
    'the table says so too',
  );
  await vscode.screenshot('compare-steps');
  await view.locator('.compare-picture').getByRole('button', { name: 'By event' }).click();
  await view.locator('.compare-heights').waitFor({ state: 'hidden' });
});

for (const theme of ['light', 'hc', 'hc-light', 'dark'])
  test(`${theme}: a picture to look at`, async () => {
    await vscode.setTheme(theme);
    await vscode.screenshot(`compare-${theme}`);
  });

test('axe-core finds nothing wrong with the two pictures and the table in any theme', async () => {
  await view.assertAccessible(['Compare']);
});

test('a reload restores the comparison, and closing it releases the other snapshot', async () => {
  await vscode.reload();
  view = await SnapshotView.visible(vscode);
  await rows().first().waitFor();
  await drawn();
  assert.match(await view.text('.compare-sides'), /train\.pickle[\s\S]*branch\.pickle/);
  await view.locator('.dock').getByRole('button', { name: 'Stop comparing' }).click();
  await view.locator('.dock .compare-notice').waitFor();
  assert.equal(
    await view.locator('.dock .compare-notice .button').innerText(),
    'Compare with an Earlier One…',
  );
});

test('a file that fails to open is reported in place', async () => {
  const notice = view.locator('.dock .compare-notice');
  await notice.locator('.button').click();
  await choose('Choose File…');
  await vscode.choosePath(/^\//, path.join(vscode.folder, 'train.py'));
  await notice.getByRole('button', { name: 'Try Again' }).waitFor();
  assert.match(await notice.innerText(), /train\.py: /);
  assert.deepEqual(vscode.consoleErrors, []);
});
