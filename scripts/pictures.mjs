// node scripts/pictures.mjs: makes the README's pictures of each view anew, in a real VS Code.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from '../tests/e2e/harness.mjs';
import { outOfMemory, segmented } from '../tests/e2e/snapshots.mjs';
import { SnapshotView } from '../tests/e2e/view.mjs';
import { ROOT } from './lib/paths.mjs';
import { main } from './lib/steps.mjs';

const MEDIA = path.join(ROOT, 'extension', 'media');
/** For what has no sign of its own that it is done. */
const SETTLED_MS = 2500;

main(async () => {
  mkdirSync(MEDIA, { recursive: true });
  const theme = process.argv[2] ?? 'dark';
  const out = process.argv[3] ?? MEDIA;
  const vscode = await openVSCode({
    theme,
    prepare: (folder) => {
      writeFileSync(path.join(folder, 'segments.pickle'), segmented());
      writeFileSync(path.join(folder, 'oom.pickle'), outOfMemory());
    },
  });
  const take = async (name) => {
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    const file = path.join(out, `${name}.png`);
    await vscode.page.screenshot({ path: file });
    process.stdout.write(`${file}\n`);
  };
  try {
    const view = await SnapshotView.opened(vscode, 'train.pickle');
    const pane = async (title, name) => {
      await vscode.runCommand(`Memlens: ${title}`);
      await take(name);
    };
    await pane('Show Live Set', 'live-set');
    await pane('Show Steps and Growth', 'steps');
    await pane('Query with SQL', 'sql');
    const examples = view.locator('.sql select').first();
    if (await examples.count()) {
      await examples.selectOption({ index: 1 });
      await view.locator('.sql').getByRole('button', { name: /^Run/ }).click();
      await take('sql');
    }
    await pane('Show Flame Graph', 'flame-graph');
    await vscode.runCommand('Memlens: Views below the Picture');
    await pane('Show Reserved Memory over Time', 'reserved');
    await SnapshotView.opened(vscode, 'segments.pickle');
    await pane('Show Memory Map over Time', 'memory-map');
    await pane("Show the Allocator's State", 'allocator-state');
    await SnapshotView.opened(vscode, 'oom.pickle');
    await take('out-of-memory');
  } finally {
    await vscode.close();
  }
});
