// The source of classes that no file of the workspace declares: what a language extension knows, archives on this
// machine, and what is said where there is nothing: a build tool may download it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { venvProgram } from '../../scripts/lib/paths.mjs';
import { ROOT, openVSCode } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView, boxesStandStill, until } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const FILE = 'sessions.hprof.zst';
const SOURCE = path.join(ROOT, 'tests/fixtures/heap/src/Sessions.java');
const archives = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-archives-'));
/** What Maven would download. */
const repository = mkdtempSync(path.join(os.tmpdir(), 'memlens-e2e-repository-'));

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

test.beforeAll(async () => {
  line = pack('1.0', 0);
  pack('2.0', 5);
  const workspace = path.join(archives, 'workspace');
  mkdirSync(workspace);
  cpSync(path.join(ROOT, 'tests/fixtures/heap', FILE), path.join(workspace, FILE));
  writeFileSync(path.join(workspace, 'README.md'), '# A dump without its program\n');
  writeFileSync(path.join(workspace, 'pom.xml'), '<project/>\n');
  const later = path.join(repository, 'java/lang/module');
  mkdirSync(later, { recursive: true });
  writeFileSync(
    path.join(later, 'ModuleDescriptor.java'),
    'package java.lang.module;\n\npublic class ModuleDescriptor {}\n',
  );
  const jar = path.join(repository, 'modules-1.0-sources.jar');
  execFileSync(venvProgram('python'), ['-m', 'zipfile', '-c', jar, 'java'], { cwd: repository });
  const mvnw = `#!/bin/sh\n[ "$*" = dependency:sources ] && cp '${jar}' '${archives}' && echo "resolved in $PWD"\n`;
  writeFileSync(path.join(workspace, 'mvnw'), mvnw, { mode: 0o755 });
  vscode = await openVSCode({
    workspace,
    settings: {
      'workbench.editorAssociations': { '*.zst': 'memlens.snapshot.optional' },
      'memlens.sourceArchives': [archives],
    },
    viewport: { width: 1440, height: 900 },
  });
  await vscode.openFile(FILE);
  view = new SnapshotView(vscode, await vscode.webview());
  await view.locator('#memlens[data-model=graph][data-state=ready]').waitFor();
});
test.afterAll(async () => {
  await vscode?.close();
  for (const folder of [archives, repository]) rmSync(folder, { recursive: true, force: true });
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
  // until then the details are those of the object before
  await view.locator('.heap-details .panel-name', { hasText: `${type} ` }).waitFor();
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
  await vscode.pick(picks.filter({ hasText: 'shop-1.0-sources.jar' }));
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
  await vscode.execute('workbench.action.closeActiveEditor');
  await openSource(SESSION);
  await vscode.atLine('Sessions.java', line);
  await vscode.execute('workbench.action.closeActiveEditor');
});

test('a class that a language extension knows is shown as that has it, at its declaration', async () => {
  await openSource('java.util.HashMap$Node');
  await vscode.atLine('HashMap.class', 6);
  await vscode.screenshot('library-decompiled');
  await vscode.execute('workbench.action.closeActiveEditor');
});

test('where there is no source, the view says what was looked for and what to do', async () => {
  await openSource('java.lang.module.ModuleDescriptor');
  const said = view.locator('.heap-details', { hasText: 'was not found' });
  await said.waitFor();
  const text = await said.innerText();
  assert.match(text, /ModuleDescriptor\.java, .*\njava\.lang\.module\.ModuleDescriptor among the symbols/s);
  assert.ok(text.includes(archives), text);
  // each place is a row of a list
  assert.equal(await said.locator('.heap-missing li').count(), 5);
  assert.match(text, /redhat\.java/);
  assert.deepEqual(await view.violations(), []);
  await vscode.screenshot('library-missing');
});

test('what Maven has downloaded in a terminal on request is shown at once', async () => {
  await view.locator('.heap-missing').getByRole('button', { name: 'Download Sources…' }).click();
  const pick = vscode.page.locator('.quick-input-list .monaco-list-row', { hasText: 'pom.xml' });
  await pick.waitFor();
  assert.match(await pick.innerText(), /\.\/mvnw dependency:sources/);
  await vscode.screenshot('library-download');
  await vscode.pick(pick);
  await vscode.atLine('ModuleDescriptor.java', 3);
  const breadcrumbs = vscode.page.locator('.editor-group-container.active .breadcrumbs-below-tabs');
  await breadcrumbs.filter({ hasText: 'modules-1.0-sources.jar' }).waitFor();
  await vscode.page.locator('.terminal-wrapper.active').waitFor();
  await vscode.screenshot('library-downloaded');
});

test('nothing failed on the console', () => {
  assert.deepEqual(vscode.foreignRequests, []);
  assert.deepEqual(vscode.consoleErrors, []);
});
