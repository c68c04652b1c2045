// Compares two snapshots: the other one is chosen from those that are open, a click on a row opens its line, the picture
// follows the pointer, and everything is restored after a reload. Figures: tests/views/compare.test.ts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

const MINE = 'train.pickle';
const OTHER = 'branch.pickle';
const SHIFT = 5;

test.describe.configure({ mode: 'serial' });

let vscode;
let view;
let expected;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1500, height: 1000 },
    prepare: (folder) => {
      const files = [MINE, OTHER].map((name) => path.join(folder, name));
      execFileSync(venvProgram('python'), ['-m', 'tests.e2e.branch', ...files, String(SHIFT)], { cwd: ROOT });
    },
  });
  expected = await vscode.memlens('compare', MINE, OTHER, '--top', 1000);
  await SnapshotView.opened(vscode, OTHER);
  view = await SnapshotView.opened(vscode, MINE);
});
test.afterAll(() => vscode?.close());

const rows = () => view.locator('.compare-row');
const choose = async (name) => {
  const row = vscode.page.locator('.quick-input-list .monaco-list-row', {
    has: vscode.page.locator('.label-name').getByText(name, { exact: true }),
  });
  await vscode.pick(row.first());
};
const drawn = async () => {
  await view.locator('.compare-picture:not([hidden])[data-drawn]').waitFor();
  await view.settled();
};

test('it is compared with an open snapshot, which is offered first', async () => {
  await vscode.runCommand('Memlens: Show Comparison');
  await view.locator('.dock .compare-banner .button').click();
  const first = vscode.page.locator('.quick-input-list .monaco-list-row').first();
  await first.filter({ hasText: OTHER }).waitFor();
  await choose(OTHER);
  await rows().first().waitFor();
  await drawn();
  assert.match(await view.text('.compare-summary'), /train\.pickle .* → branch\.pickle .*▲ \+/);
});

test('a click on a line that moved opens it here', async () => {
  const index = expected.rows.findIndex((row) => row.before?.file === 'model.py' && row.how === 'moved');
  const { before: place } = expected.rows[index];
  await rows().nth(index).click();
  await vscode.atLine('model.py', place.line);
  await view.locator(`.compare-row[aria-selected=true]`).waitFor();
});

/** Makes room: the picture would be too small beside the text. */
async function alone() {
  await vscode.runCommand('View: Focus First Editor Group');
  await vscode.execute('workbench.action.closeEditorsInOtherGroups');
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
  await view.locator('.dock .compare-banner').waitFor();
  assert.equal(
    await view.locator('.dock .compare-banner .button').innerText(),
    'Compare with Another Snapshot…',
  );
});

test('a file that fails to open is reported in place', async () => {
  const notice = view.locator('.dock .compare-banner');
  await notice.locator('.button').click();
  await choose('Choose File…');
  await vscode.choosePath(/^\//, path.join(vscode.folder, 'train.py'));
  await notice.getByRole('button', { name: 'Try Again' }).waitFor();
  assert.match(await notice.innerText(), /train\.py: /);
  assert.deepEqual(vscode.consoleErrors, []);
});
