// The linter's own rules find what goes around a boundary, in the configuration that is used.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, copyFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

const root = process.cwd();
const folder = mkdtempSync(path.join(tmpdir(), 'memlens-lint-'));
after(() => {
  rmSync(folder, { recursive: true });
});

/** The rules that a file of the extension, of what both sides share or of the page breaks. */
const GOES_AROUND: Record<string, [string, string[]]> = {
  'extension/src/a.ts': ["void vscode.window.showInformationMessage('');", ['memlens(texts-by-window)']],
  'extension/src/b.ts': ['export const { window } = vscode;', ['memlens(no-alias-of-window)']],
  'extension/src/b1.ts': ['export const { showInputBox } = vscode.window;', ['memlens(no-alias-of-window)']],
  'extension/src/b2.ts': ['export const shown = vscode.window;', ['memlens(no-alias-of-window)']],
  'extension/src/c.ts': ['void vscode.workspace.fs.rename(from, to);', ['memlens(writes-by-save)']],
  'extension/src/d.ts': [
    "export { rmSync } from 'node:fs';\nimport { rm } from 'node:fs';\nrm('');",
    ['memlens(writes-by-save)'],
  ],
  'extension/src/e.ts': ["import '../../webview/src/api';", ['eslint(no-restricted-imports)']],
  'extension/shared/a.ts': ["import 'node:os';", ['eslint(no-restricted-imports)']],
  'webview/src/base/a.ts': [
    "import 'node:os';\nimport '../shell/view';",
    ['eslint(no-restricted-imports)', 'memlens(walls)'],
  ],
  'webview/src/widgets/a.ts': ["import '../base/dom';\nimport '../timeline/view';", ['memlens(walls)']],
  // what models share knows no pane, and panes don't know each other
  'webview/src/shell/b.ts': [
    ['timeline', 'flame', 'live-set', 'compare', 'sql'].map((pane) => `import '../${pane}/pane';`).join(''),
    Array<string>(5).fill('memlens(walls)'),
  ],
  'webview/src/sql/a.ts': ["export * from '../live-set/pane';", ['memlens(walls)']],
  'webview/src/live-set/a.ts': ["export type A = import('../flame/graph').A;", ['memlens(walls)']],
  'webview/src/flame/a.ts': ["void import('../compare/pane');", ['memlens(walls)']],
  'webview/src/shell/a.ts': [
    "page.innerHTML = '';\nacquireVsCodeApi();",
    ['eslint(no-restricted-globals)', 'eslint(no-restricted-properties)'],
  ],
  'extension/src/base/window.ts': ["void vscode.window.showInformationMessage('');", []],
};

test('what goes around a boundary is found', () => {
  copyFileSync(path.join(root, '.oxlintrc.json'), path.join(folder, '.oxlintrc.json'));
  for (const linked of ['scripts', 'node_modules'])
    symlinkSync(path.join(root, linked), path.join(folder, linked), 'junction'); // on Windows, where links need a right
  for (const [name, [text]] of Object.entries(GOES_AROUND)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), `${text}\n`);
  }
  let said: string;
  try {
    said = execFileSync(
      process.execPath,
      [path.join(root, 'node_modules/oxlint/bin/oxlint'), '--format', 'json', 'extension', 'webview'],
      { cwd: folder, encoding: 'utf8' },
    );
  } catch (error) {
    said = (error as { stdout: string }).stdout;
  }
  const { diagnostics } = JSON.parse(said) as { diagnostics: { code: string; filename: string }[] };
  const found = Object.fromEntries(
    Object.keys(GOES_AROUND).map((name) => [
      name,
      diagnostics
        .filter(({ filename, code }) => filename === name && /memlens|no-restricted/.test(code))
        .map(({ code }) => code)
        .sort(),
    ]),
  );
  assert.deepEqual(
    found,
    Object.fromEntries(Object.entries(GOES_AROUND).map(([name, [, rules]]) => [name, rules])),
  );
});
