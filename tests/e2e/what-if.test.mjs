// What would have happened: a line is left out, and the timeline is drawn as if; beside a run of another batch it is said
// which one fits. Figures: packs/pytorch/tests/test_replay_changes.py and test_how_large.py.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from './harness.mjs';
import { batchOf, tooTight } from './snapshots.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const TIGHT = 'tight.pickle'; // a snapshot's kind is recognised by its content
const [SMALLER, LARGER] = ['batch-4.pickle', 'batch-6.pickle'];

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    prepare: (folder) => {
      writeFileSync(path.join(folder, TIGHT), tooTight());
      writeFileSync(path.join(folder, SMALLER), batchOf(4));
      writeFileSync(path.join(folder, LARGER), batchOf(6));
    },
  });
});
test.afterAll(() => vscode?.close());

/** The timeline is drawn as if: its areas, and the peak. */
async function drawnWith(areas, peak) {
  await view.settled();
  await view.locator('.status', { hasText: 'With the changes:' }).filter({ hasText: peak }).waitFor();
  const chips = view.locator('.area-legend-chips button');
  await until(
    async () => {
      const texts = await chips.allInnerTexts();
      const found = Object.fromEntries(texts.map((text) => text.split('\n').filter((part) => part.trim())));
      return JSON.stringify(Object.entries(found).sort()) === JSON.stringify(Object.entries(areas).sort());
    },
    `areas ${JSON.stringify(areas)}`,
  );
}

test('a line is left out, and it would have fitted', async () => {
  view = await SnapshotView.opened(vscode, TIGHT);
  await view.pane('What’s in memory');
  await view.locator('.live-set .grid-row.group', { hasText: 'model.py:22' }).click({ button: 'right' });
  await view.locator('.menu').getByRole('menuitem', { name: 'What If Without This' }).click();
  const conclusion = view.locator('.what-if-conclusion');
  await conclusion.filter({ hasText: 'it would have fitted, with 80 MiB reserved at the peak' }).waitFor();
  await drawnWith({ 'model.py:43': '40 MiB' }, 'peak 40 MiB');
  await view.locator('.what-if-terms select').selectOption({ label: 'Half the bytes' });
  await conclusion
    .filter({ hasText: 'halved it would have fitted, with 100 MiB reserved at the peak' })
    .waitFor();
  await drawnWith({ 'model.py:22': '20 MiB', 'model.py:43': '40 MiB' }, 'peak 60 MiB');
  const memory = view.locator('input[name=capacity]');
  await memory.fill('0.05');
  await memory.press('Tab');
  await conclusion.filter({ hasText: 'halved memory would still have run out' }).waitFor();
  await memory.fill('');
  await memory.press('Tab');
  await conclusion.filter({ hasText: 'with 100 MiB reserved at the peak' }).waitFor();
  await view.locator('.what-if-sizes summary').click();
  await view.locator('.what-if-sizes input[name=size]').fill('8');
  await view.locator('.what-if-ask').click();
  await view.locator('.what-if-sizes p').filter({ hasText: 'Not even size 8 certainly fits into' }).waitFor();
  await view.settled();
  await view.assertAccessible(['What if']);
  await vscode.screenshot('what-if');
});

test('beside a run with another batch it is said what grows, and the largest that fits', async () => {
  await vscode.closeEditor(TIGHT);
  view = await SnapshotView.opened(vscode, LARGER);
  await view.pane('Compare');
  await view.locator('.dock .compare-banner .button').click();
  const picked = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: SMALLER });
  await vscode.pick(picked.first());
  await view.locator('.compare-row').first().waitFor();
  await view.locator('.compare-sizes button').click();
  const sizes = view.locator('.what-if-sizes');
  await sizes.locator('input[name=size]').fill('6');
  await sizes.locator('input[name=other]').fill('4');
  // 40 + 10 n + n²: 240 MiB with a batch of 10, and 273 with 11, in segments of whole 2 MiB
  await sizes.locator('input[name=memory]').fill('0.25');
  await sizes.locator('.what-if-ask').click();
  await sizes.locator('p').filter({ hasText: 'Sizes of up to 10 fit into 256 MiB.' }).waitFor();
  for (const [line, grows] of [
    ['model.py:22', 'not at all'],
    ['model.py:43', 'in proportion'],
    ['model.py:46', 'with the square'],
  ])
    await sizes.locator('tr', { hasText: line }).filter({ hasText: grows }).waitFor();
  await view.settled();
  await view.assertAccessible(['What if']);
  await vscode.screenshot('how-large');
});
