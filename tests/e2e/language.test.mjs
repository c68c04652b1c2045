// VS Code in the pseudo-language: on the first screen of each kind of snapshot, in errors and beside source lines only
// names, paths and amounts aren't translated. They are in an element for names (<bdi>) or in code; kinds of objects are
// named by the dump.
import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openVSCode, ROOT } from './harness.mjs';
import { test } from './test.mjs';
import { SnapshotView } from './view.mjs';

test.describe.configure({ mode: 'serial' });

const HEAP = 'sessions.hprof.zst';
const FILES = ['train.pickle', 'words.pb.gz', HEAP];

let vscode;

test.beforeAll(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    language: 'qps-ploc',
    settings: { 'memlens.codeLens': true },
    prepare: (folder) => {
      writeFileSync(
        path.join(folder, 'cut.pickle'),
        readFileSync(path.join(folder, 'train.pickle')).subarray(0, -5000),
      );
      cpSync(path.join(ROOT, 'tests/fixtures/heap', HEAP), path.join(folder, HEAP));
    },
  });
});
test.afterAll(() => vscode?.close());

/** Texts, other than names, with an English word; the pseudo-language has an accent on every vowel. */
const english = (view) =>
  view.frame.evaluate(() => {
    const same =
      /\b([KMGT]iB|PyTorch|pprof|HPROF|SQL|Ctrl|Shift|Alt|Enter|Escape|Delete)\b|\b[a-z-]+[:<>][^\s,]*/g;
    const isEnglish = (text) =>
      (text.replace(same, ' ').match(/\p{L}+/gu) ?? []).some(
        (word) => /^[A-Za-z]{2,}$/.test(word) && /[aeiou]/i.test(word),
      );
    const found = [];
    for (const each of document.body.querySelectorAll('*')) {
      if (each.closest('bdi, code, kbd, script, style, .heap-part') || each.getClientRects().length === 0)
        continue;
      for (const node of each.childNodes)
        if (node.nodeType === 3 && isEnglish(node.data))
          found.push(`${each.tagName.toLowerCase()}.${each.className}: ${node.data}`);
    }
    return found;
  });

for (const file of FILES)
  test(`no sentence is left in English on the first screen of ${file}`, async () => {
    const view = await SnapshotView.opened(vscode, file);
    await view.locator('.headline-first').waitFor();
    await view.settled();
    assert.match(await view.text('.headline-text'), /^\[/);
    await vscode.screenshot(`pseudo-${file.split('.')[0]}`);
    assert.deepEqual(await english(view), []);
  });

/** The words of a text that are in English; `names` match what stands for itself. */
const englishWords = (text, names) =>
  (text.replace(names, ' ').match(/\p{L}+/gu) ?? []).filter(
    (word) => /^[A-Za-z]{2,}$/.test(word) && /[aeiou]/i.test(word),
  );

test('an error is in the language of the editor, with what to do about it', async () => {
  await vscode.openFile('cut.pickle');
  const screen = (await vscode.webview()).locator('.screen.failed');
  await screen.waitFor();
  const text = await screen.innerText();
  await vscode.screenshot('pseudo-error');
  assert.match(text, /^\[Thé pîcklé îs trûncåtéd/m);
  assert.match(text, /\[Cöpy ör récörd thé fîlé ågåîn/);
  assert.deepEqual(englishWords(text, /cut\.pickle/g), []);
});

test('so are the names of rows that are no names of the file', async () => {
  const view = await SnapshotView.opened(vscode, 'train.pickle');
  await view.settled();
  await view.pane('[Léåks~~]');
  assert.match(await view.text('.steps-how'), /^\[6 stéps détéctéd/);
  assert.match(await view.text('.steps-table'), /\[stép 1~*\]/);
});

test('so are code lenses and hovers of source lines', async () => {
  await SnapshotView.opened(vscode, 'train.pickle');
  await vscode.openFile('model.py');
  const lens = vscode.page.locator('.codelens-decoration a', { hasText: 'MiB' }).first();
  await lens.waitFor();
  const title = await lens.innerText();
  assert.match(title, /^\[.*\]/);
  assert.deepEqual(englishWords(title, /[KM]iB/g), []);
  const hover = await vscode.hoverText('softmax', { line: 'scores.softmax', expecting: /Tötål ållöcåtéd/ });
  await vscode.screenshot('pseudo-hover');
  const own = hover.slice(hover.indexOf('train.pickle'));
  assert.deepEqual(englishWords(own, /train\.pickle|[KM]iB|\bforward\b/g), []);
});
