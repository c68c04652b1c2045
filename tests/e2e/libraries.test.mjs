// The source of classes that no file of the workspace declares: what a language extension knows, archives on this
// machine, and what is said where neither has it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

const FILE = 'sessions.hprof.zst';
const SOURCE = path.join(ROOT, 'tests/fixtures/heap/src/Sessions.java');
const archives = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-archives-'));

let vscode;
let view;
let line;

/** Packs the source of the program as a build tool does, with some empty lines first. Returns the line of a class. */
function pack(version, empty) {
  const folder = path.join(archives, 'unpacked', version);
  mkdirSync(path.join(folder, 'shop'), { recursive: true });
  const text = '\n'.repeat(empty) + readFileSync(SOURCE, 'utf8');
  writeFileSync(path.join(folder, 'shop/Sessions.java'), text);
  const jar = path.join(archives, `shop-${version}-sources.jar`);
  execFileSync(venvProgram('python'), ['-m', 'zipfile', '-c', jar, 'shop'], { cwd: folder });
  return text.split('\n').findIndex((line) => line.includes('class Session {')) + 1;
}

before(async () => {
  line = pack('1.0', 0);
  pack('2.0', 5);
  const workspace = path.join(archives, 'workspace');
  mkdirSync(workspace);
  cpSync(path.join(ROOT, 'tests/fixtures/heap', FILE), path.join(workspace, FILE));
  writeFileSync(path.join(workspace, 'README.md'), '# A dump without its program\n');
  vscode = await openVSCode({
    workspace,
    settings: {
      'workbench.editorAssociations': { '*.zst': 'memlens.snapshot.optional' },
      'memlens.sourceArchives': [archives],
    },
    viewport: { width: 1440, height: 900 },
    extensions: ['symbols'],
  });
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
});
after(async () => {
  await vscode?.close();
  rmSync(archives, { recursive: true, force: true });
});

/** Shows the first object of a type, and asks for its source. */
async function openSource(type) {
  await vscode.runCommand('View: Focus First Editor Group');
  await boxesStandStill(view, () => view.frame.evaluate(() => window.memlensFlame?.boxes() ?? []));
  await view.locator('.filter-input').fill(`type:"=${type}"`);
  await view.pane('Types');
  const types = view.locator('[id=pane-types] .grid-row[aria-level="1"]');
  await types.filter({ hasText: type.split('.').at(-1) }).waitFor();
  await until(async () => (await types.count()) === 1, 'one type is left');
  await view.locator('[id=pane-types] .grid-row[aria-level="2"]').first().click();
  await view.locator('.heap-details h2', { hasText: 'Object' }).waitFor();
  await view.locator('.heap-actions button', { hasText: 'Open Source' }).click();
}

/** The file that is open lies in the archive. */
const inArchive = () =>
  vscode.page
    .locator('.editor-group-container.active .breadcrumbs-below-tabs', { hasText: 'shop-1.0-sources.jar' })
    .waitFor();

const SESSION = 'shop.Sessions$Session (jdk.internal.loader.ClassLoaders$AppClassLoader)';

test('a class of an archive is shown at its declaration, read-only; which of two versions is asked once', async () => {
  await openSource(SESSION);
  const picks = vscode.page.locator('.quick-input-list .monaco-list-row');
  await picks.filter({ hasText: 'shop-2.0-sources.jar' }).waitFor();
  assert.equal(await picks.count(), 2);
  await vscode.screenshot('library-versions');
  await picks.filter({ hasText: 'shop-1.0-sources.jar' }).click();
  await vscode.atLine('Sessions.java', line);
  await inArchive();
  await vscode.page.keyboard.type('x');
  await vscode.page
    .getByText(/is read-only/)
    .first()
    .waitFor();
  await vscode.page.keyboard.press('Escape');
  await vscode.screenshot('library-source');
  await vscode.reload();
  await vscode.page.locator('.view-line', { hasText: 'class Session {' }).first().waitFor();
  await inArchive();
  view = new SnapshotView(vscode, await vscode.webview());
  await vscode.runCommand('View: Close Editor');
  await openSource(SESSION);
  await vscode.atLine('Sessions.java', line);
  await vscode.runCommand('View: Close Editor');
});

test('a class that a language extension knows is shown as that has it, at its declaration', async () => {
  await openSource('java.util.HashMap$Node');
  await vscode.atLine('HashMap.class', 6);
  await vscode.screenshot('library-decompiled');
  await vscode.runCommand('View: Close Editor');
});

test('where there is no source, the view says what was looked for and what to do', async () => {
  await openSource('java.lang.module.ModuleDescriptor');
  const said = view.locator('.heap-details', { hasText: 'was not found' });
  await said.waitFor();
  const text = await said.innerText();
  assert.match(
    text,
    /ModuleDescriptor\.java, .* for java\.lang\.module\.ModuleDescriptor among the symbols/s,
  );
  assert.ok(text.includes(archives), text);
  assert.match(text, /redhat\.java/);
  assert.deepEqual(await view.violations(), []);
  await vscode.screenshot('library-missing');
});

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
