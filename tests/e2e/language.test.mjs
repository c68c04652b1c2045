// VS Code in the pseudo-language: on the first screen of each kind of snapshot only names, paths and amounts aren't
// translated. They are in an element for names (<bdi>) or in code; kinds of objects are named by the dump.
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { openVSCode, ROOT } from './harness.mjs';
import { SnapshotView } from './view.mjs';

const HEAP = 'sessions.hprof.zst';
const FILES = ['train.pickle', 'words.pb.gz', HEAP];

let vscode;

before(async () => {
  vscode = await openVSCode({
    viewport: { width: 1440, height: 900 },
    language: 'qps-ploc',
    prepare: (folder) => {
      cpSync(path.join(ROOT, 'tests/fixtures/heap', HEAP), path.join(folder, HEAP));
    },
  });
});
after(() => vscode?.close());

/** Texts, other than names, with an English word; the pseudo-language has an accent on every vowel. */
const english = (view) =>
  view.frame.evaluate(() => {
    const same =
      /\b([KMGT]iB|PyTorch|pprof|hprof|SQL|Ctrl|Shift|Alt|Enter|Escape|Delete)\b|\b[a-z-]+[:<>][^\s,]*/g;
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
