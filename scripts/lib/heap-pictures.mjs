// The pictures of docs/node.md, light and dark: a small service that leaks, its dumps compared, and why it holds them.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from '../../tests/e2e/harness.mjs';
import { SnapshotView } from '../../tests/e2e/view.mjs';
import { ROOT } from './paths.mjs';

const OUT = path.join(ROOT, 'docs', 'pictures');
const DUMPS = ['first', 'second', 'third', 'service'].map((name) => `${name}.heapsnapshot`);
const SETTLED_MS = 1500;

export async function takeHeapPictures() {
  mkdirSync(OUT, { recursive: true });
  const vscode = await openVSCode({
    theme: 'dark',
    workspace: path.join(ROOT, 'tests', 'fixtures', 'heap'),
    viewport: { width: 1240, height: 860 },
    prepare: (folder) => {
      execFileSync(process.execPath, ['leak.js', ...DUMPS], { cwd: folder });
    },
  });
  const take = async (name) => {
    await vscode.page.mouse.move(620, 8); // where no tooltip appears
    for (const theme of ['dark', 'light']) {
      await vscode.setTheme(theme);
      await vscode.page.waitForTimeout(SETTLED_MS);
      const file = path.join(OUT, `${name}-${theme}.png`);
      await vscode.page.screenshot({ path: file });
      process.stdout.write(`${file}\n`);
    }
  };
  try {
    await vscode.runCommand('View: Toggle Primary Side Bar Visibility');
    await vscode.openFile(DUMPS.at(-1));
    const view = new SnapshotView(vscode, await vscode.webview());
    await view.locator('.heap-icicle[data-pictures]').waitFor();
    await view.locator('.sunburst-toggle').click();
    await take('heap-sunburst');
    await view.locator('.sunburst-toggle').click();
    await view.locator('.filter-input').fill('type:=Session');
    // a single row opens automatically
    await view.locator('[id=pane-types] .grid-row[aria-level="2"]').first().click();
    await view.locator('.heap-actions button', { hasText: 'Why Alive' }).click();
    await view.locator('.heap-chain').first().waitFor();
    await take('heap-why');
    await view.locator('.heap-details').getByRole('button', { name: 'Close' }).first().click();
    await view.locator('.filter-input').fill('');
    await view.pane('Compare');
    await view.locator('.compare-notice .button').click();
    const picks = vscode.page.locator('.quick-input-list .monaco-list-row');
    await picks.filter({ hasText: DUMPS[0] }).first().click();
    await view.locator('[id=pane-compare] .grid-row').first().waitFor();
    await view
      .locator('[id=pane-compare] .grid-heads, [id=pane-compare] .grid-head')
      .getByText('New')
      .click();
    await take('heap-compare');
    await view.locator('.choice button', { hasText: 'Over time' }).click();
    await view.locator('.compare-notice .button', { hasText: 'Choose Dumps' }).click();
    await picks.filter({ hasText: DUMPS[1] }).first().waitFor();
    await vscode.page.keyboard.press('Enter');
    await view.locator('.series-chart').waitFor();
    await take('heap-series');
  } finally {
    await vscode.close();
  }
}
