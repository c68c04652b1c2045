// A heap dump with many images: from the finding about equal ones, a type and the palette to all of them side by side.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'pictures.hprof';
const MAKE =
  'import sys, pathlib; from tests.python.image_files import many; pathlib.Path(sys.argv[1]).write_bytes(many())';

let vscode;
let view;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    prepare: (folder) =>
      execFileSync(venvProgram('python'), ['-c', MAKE, path.join(folder, FILE)], {
        cwd: ROOT,
        env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
      }),
  });
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
});
test.afterAll(() => vscode?.close());

const tiles = () => view.locator('[id=pane-images] .tile');
const drawn = async () => {
  await view.settled();
  await until(
    () =>
      tiles().evaluateAll(
        (all) => all.length > 0 && all.every((tile) => tile.querySelector('canvas, .muted')),
      ),
    'the images in view are drawn',
  );
};

test('the first screen has no control more, and the palette leads to all images', async () => {
  assert.equal(await view.locator('[data-tab=images]').count(), 0);
  await vscode.runCommand('Memlens: Show Images of a Heap Dump');
  await drawn();
  const list = view.locator('[id=pane-images] [role=listbox]');
  assert.match(await view.locator('[id=pane-images] .heap-note').textContent(), /^300 images, /);
  assert.equal(
    await tiles().first().innerText(),
    '200 × 120\n938 KiB\n10 equal, 9 more than needed: 844 KiB',
  );
  // what is beyond what is in view is neither there nor drawn
  const total = Number(await tiles().first().getAttribute('aria-setsize'));
  assert.ok((await tiles().count()) < total / 4);
  await vscode.screenshot('images');
  await list.focus();
  await vscode.page.keyboard.press('End');
  await drawn();
  assert.equal(await tiles().last().getAttribute('aria-posinset'), String(total));
  await vscode.page.keyboard.press('Home');
});

test('a click shows the object, and those that are equal to it', async () => {
  await drawn();
  await tiles().first().click();
  await view.locator('.heap-details canvas').waitFor();
  await view.settled();
  const equal = view.locator('.heap-details section[aria-label="With the same pixels (9)"] li');
  assert.equal(await equal.count(), 9);
  assert.equal(await tiles().first().getAttribute('aria-selected'), 'true');
  await vscode.screenshot('images-object');
  await view.assertLegible(['.heap-images', '.heap-details'], 10);
});

test('a type and the finding lead to their images', async () => {
  await view.locator('[data-tab=types]').click();
  await view
    .locator('[id=pane-types] .grid-row:has([title="android.graphics.Bitmap"])')
    .click({ button: 'right' });
  await view.locator('[role=menuitem]', { hasText: 'Show Images' }).click();
  await drawn();
  await until(
    async () => /^300 images, /.test(await view.locator('[id=pane-images] .heap-note').textContent()),
    'the images of the type',
  );
  await view.locator('.headline-all').first().click();
  await view.locator('.headline-list button', { hasText: '844 KiB' }).first().click();
  await until(
    async () => /^10 images, /.test(await view.locator('[id=pane-images] .heap-note').textContent()),
    'the images of the finding',
  );
});

test('axe-core finds nothing wrong with it', async () => {
  await view.assertAccessible(['Images']);
});
