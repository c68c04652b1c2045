// The pseudo-language, qps-ploc: every text with accents and brackets, so that untranslated text stands out in tests.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './paths.mjs';

/** The files with texts in English, each of which gets one in the pseudo-language beside it. */
export const ENGLISH = ['l10n/bundle.l10n.json', 'package.nls.json'];

/** What stays as it is in a translation: placeholders, code, targets of links, names of commands and settings. */
const KEPT = /\{\w+\}|`[^`]*`|\]\([^)]*\)|\$\([\w-]+\)|Memlens: [A-Z][\w ]*…?(?=")|memlens\.[\w.]+/g;
const ACCENTS = { a: 'å', e: 'é', i: 'î', o: 'ö', u: 'û', A: 'Å', E: 'É', I: 'Î', O: 'Ö', U: 'Û' };

/** A text with accents and brackets, longer by a third, as translations are. */
function pseudo(text) {
  let from = 0;
  let translated = '';
  const accented = (part) => part.replace(/[aeiouAEIOU]/g, (letter) => ACCENTS[letter]);
  for (const { 0: kept, index } of text.matchAll(KEPT)) {
    translated += accented(text.slice(from, index)) + kept;
    from = index + kept.length;
  }
  translated += accented(text.slice(from));
  return `[${translated}${'~'.repeat(Math.ceil(text.length / 3))}]`;
}

/** The file in the pseudo-language beside one in English. */
export const pseudoFileOf = (file) => file.replace('.json', '.qps-ploc.json');

/** Writes the files in the pseudo-language. Git ignores them. */
export function writePseudoLanguage() {
  for (const file of ENGLISH) {
    const texts = JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
    const translated = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, pseudo(text)]));
    writeFileSync(path.join(ROOT, pseudoFileOf(file)), `${JSON.stringify(translated, null, 2)}\n`);
  }
}
