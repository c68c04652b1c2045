// The page in the pseudo-language, in which every vowel of a text has an accent: imported before what shows texts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const host = document.createElement('div');
host.id = 'memlens';
host.dataset['texts'] = readFileSync(path.resolve('l10n/bundle.l10n.qps-ploc.json'), 'utf8');
document.body.append(host);

const READ_ATTRIBUTES = ['title', 'aria-label', 'placeholder', 'aria-description', 'alt'];
/** Units, keys, products, terms of a filter, and V8's mark of its own references are the same in every language. */
const SAME =
  /\b([KMGTPE]iB|PyTorch|SQL|SVG|PNG|JSON|CSV|Markdown|Ctrl|Shift|Alt|Enter|Escape|Delete|Arrow(Up|Down)|Space)\b|\b[a-z-]+[:<>][^\s,]*|\(internal\)/g;

/** The words of a text that are English still: those of data have to be written in another script. */
function englishIn(text: string): readonly string[] {
  const words = text.replace(SAME, ' ').match(/\p{L}+/gu) ?? [];
  return words.filter((word) => /^[A-Za-z]{2,}$/.test(word) && /[aeiou]/i.test(word));
}

/** Asserts that an element shows texts, and none of them in English. */
export function assertTranslated(root: Element, what: string): void {
  const texts: string[] = [];
  for (const each of [root, ...root.querySelectorAll('*')]) {
    if (each.closest('code, kbd, .menu-key, style')) continue;
    for (const name of READ_ATTRIBUTES) texts.push(each.getAttribute(name) ?? '');
    for (const node of each.childNodes) if (node.nodeType === 3) texts.push(node.textContent ?? '');
  }
  assert.ok(
    texts.some((text) => text.startsWith('[')),
    `${what} shows a text`,
  );
  const english = texts.filter((text) => englishIn(text).length > 0);
  assert.deepEqual(english, [], `${what} shows only what can be translated`);
}
