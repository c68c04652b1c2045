// node scripts/pictures.mjs [THEME [FOLDER]]: takes the README's pictures of all views in a real VS Code.
// THEME is dark, light, hc or hc-light. `node scripts/pictures.mjs heaps` takes those of docs/, light and dark.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode } from '../tests/e2e/harness.mjs';
import { writeLater } from '../tests/e2e/profiles.mjs';
import { annotated, outOfMemory, segmented } from '../tests/e2e/snapshots.mjs';
import { SnapshotView } from '../tests/e2e/view.mjs';
import { takeHeapPictures } from './lib/heap-pictures.mjs';
import { ROOT, venvProgram } from './lib/paths.mjs';
import { main } from './lib/steps.mjs';

const MEDIA = path.join(ROOT, 'extension', 'media');
/** A delay for changes whose end can't be detected. */
const SETTLED_MS = 2500;

const QUERY = `SELECT file, line, function,
  live_at_peak_bytes, live_at_peak_count
FROM by_line
WHERE kind = 'user'
LIMIT 100;`;

const RECORDING = 'heaptrack.service.zst';

/** The sample as if nothing were kept between steps, and lines had been added at the top of model.py. */
const MENDED = `
import pickle, sys
data = pickle.load(open(sys.argv[1], 'rb'))
moved = set()
for trace in data['device_traces']:
    for event in trace:
        for frame in event['frames']:
            if id(frame) not in moved and frame['filename'].endswith('model.py'):
                frame['line'] += 6
            moved.add(id(frame))
    trace[:] = [e for e in trace if not any(f['filename'] == 'train.py' and f['line'] == 46 for f in e['frames'])]
pickle.dump(data, open(sys.argv[2], 'wb'))
`;

main(async () => {
  if (process.argv[2] === 'heaps') {
    await takeHeapPictures();
    return;
  }
  mkdirSync(MEDIA, { recursive: true });
  const theme = process.argv[2] ?? 'dark';
  const out = process.argv[3] ?? MEDIA;
  mkdirSync(out, { recursive: true });
  const vscode = await openVSCode({
    theme,
    viewport: { width: 1240, height: 860 },
    prepare: (folder) => {
      const at = (name) => path.join(folder, name);
      writeFileSync(at('segments.pickle'), segmented());
      writeFileSync(at('oom.pickle'), outOfMemory());
      writeFileSync(at('profiled.pickle'), annotated());
      const profiles = path.join(ROOT, 'tests', 'fixtures', 'profiles');
      cpSync(path.join(profiles, 'service.heaptrack.zst'), at(RECORDING));
      cpSync(path.join(profiles, 'src'), at('src'), { recursive: true });
      writeLater(at('words.pb.gz'), at('later.pb.gz'), 4);
      execFileSync(venvProgram('python'), ['-c', MENDED, at('train.pickle'), at('mended.pickle')]);
    },
  });
  const take = async (name) => {
    await vscode.page.mouse.move(620, 8); // where no tooltip appears
    await vscode.page.waitForTimeout(SETTLED_MS);
    const file = path.join(out, `${name}.png`);
    await vscode.page.screenshot({ path: file });
    process.stdout.write(`${file}\n`);
  };
  const openProfile = async (name) => {
    await vscode.openFile(name);
    const profile = new SnapshotView(vscode, await vscode.webview());
    await profile.locator('.flame[data-pictures]').waitFor();
    return profile;
  };
  const maximized = async (shown, act) => {
    const button = shown.locator('.dock header').getByRole('button', { name: 'Maximize Panel' });
    await button.click();
    await act();
    await button.click();
  };
  const pane = async (title, name) => {
    await vscode.runCommand(`Memlens: ${title}`);
    await take(name);
  };
  try {
    await vscode.runCommand('View: Toggle Primary Side Bar Visibility');
    await SnapshotView.opened(vscode, 'train.pickle');
    await vscode.openFile('train.py');
    await vscode.runCommand('Memlens: Show Line Annotations');
    for (let lines = 0; lines < 9; lines++) await vscode.page.keyboard.press('Alt+F11');
    await take('beside-code');
    await vscode.runCommand('View: Close Editor');
    await SnapshotView.opened(vscode, 'mended.pickle');
    const view = await SnapshotView.opened(vscode, 'train.pickle');
    // on the slope of the last step but one, above the names of the steps
    const surface = await view.surface();
    await vscode.page.mouse.click(surface.x + 0.757 * surface.width, surface.y + 0.62 * surface.height);
    await view.locator('.panel .frames li').first().waitFor();
    await take('memory-over-time');
    // the selection, then the cursor
    for (let times = 0; times < 2; times++) await vscode.runCommand('Memlens: Clear Selection');
    await pane('Show What’s in Memory', 'live-set');
    await pane('Show Leaks', 'steps');
    await vscode.runCommand('Memlens: Query with SQL');
    await view.locator('.sql .cm-content').waitFor();
    await view.runQuery(QUERY);
    await view.locator('.sql .sql-row').first().waitFor();
    await take('sql');
    await pane('Show Flame Graph', 'flame-graph');
    await view.flameForm('functions');
    await view.locator('.flame-functions .grid-row', { hasText: 'remember' }).first().click();
    await view.locator('.flame-halves .grid-row[aria-level="1"]').first().waitFor();
    await maximized(view, () => take('functions'));
    await vscode.resize(1500, 900);
    await vscode.runCommand('Memlens: Show Comparison');
    await view.locator('.dock .compare-notice .button').click();
    const other = vscode.page.locator('.quick-input-list .monaco-list-row', {
      has: vscode.page.locator('.label-name').getByText('mended.pickle', { exact: true }),
    });
    await other.first().click();
    await view.locator('.compare-row').first().waitFor();
    await take('compare');
    await vscode.resize(1240, 860);
    await vscode.runCommand('Memlens: Show Timeline');
    await SnapshotView.opened(vscode, 'segments.pickle');
    await pane('Show Memory Map over Time', 'memory-map');
    // all of its figures have room
    await vscode.runCommand('Memlens: Toggle Panel');
    await pane('Show Reserved Memory over Time', 'reserved');
    await vscode.runCommand('Memlens: Toggle Panel');
    await vscode.runCommand('Memlens: Show Memory Map over Time');
    await pane('Show Segments', 'allocator-state');
    await SnapshotView.opened(vscode, 'oom.pickle');
    await pane('Explain Out of Memory', 'out-of-memory');
    await SnapshotView.opened(vscode, 'profiled.pickle');
    await take('annotations');
    const profile = await openProfile(RECORDING);
    const { x, y, width, height } = await profile.locator('.profile-times-canvas').boundingBox();
    await vscode.page.mouse.move(x + 0.3 * width, y + height / 2);
    await vscode.page.mouse.down();
    await vscode.page.mouse.move(x + 0.7 * width, y + height / 2, { steps: 4 });
    await vscode.page.mouse.up();
    await pane('Show What’s in Memory', 'profile');
    await openProfile('later.pb.gz');
    const words = await openProfile('words.pb.gz');
    await vscode.runCommand('Memlens: Show Comparison');
    await words.locator('.compare-notice .button').first().click();
    await vscode.page
      .locator('.quick-input-list .monaco-list-row', { hasText: 'later.pb.gz' })
      .first()
      .click();
    await words.locator('.compare-row').first().waitFor();
    await words.settings('.compare-controls', (sheet) =>
      sheet.getByRole('button', { name: 'Flame graph', exact: true }).click(),
    );
    await words.locator('.dock header').getByRole('button', { name: 'Maximize Panel' }).click();
    await take('difference');
  } finally {
    await vscode.close();
  }
});
