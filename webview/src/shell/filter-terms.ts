// What the filter box offers while a term is typed, and how values are written in a filter.

import { t } from '../base/l10n';
import { quotedTerm } from '../base/text';
import type { ViewContext } from './context';
import { TRACE_TERMS, type Offer } from './filter-terms.gen';

export { OBJECT_TERMS, PROFILE_TERMS, type Offer } from './filter-terms.gen';

/** The terms about allocations of a trace; `categories` are the names that it has. */
export function traceTerms(categories: readonly string[]): readonly Offer[] {
  // up to a blank, which would need quotes: an inferred category says so in its name
  const named = categories.map((name) => ({
    text: `category:${name.split(' ', 1)[0]}`,
    help: t('a category'),
  }));
  return [...TRACE_TERMS, ...named];
}

/** The findings of a heap dump, by their titles. */
export function findingTerms(titles: readonly string[]): readonly Offer[] {
  return [...new Set(titles)].map((title) => ({
    text: quotedTerm('finding:', title),
    help: t('a finding'),
  }));
}

/** Terms that change a trace; what isn't changed is none. */
const CHANGES = ['without:', 'halve:', 'free-at-once:', 'recompute:'];

/** Values of these terms are offered once the term is typed. */
const WITH_VALUES = ['category:', 'finding:'];

/** The word that ends at a place of the text, and where it begins; quotes hold blanks together. */
export function wordAt(text: string, caret: number): { readonly from: number; readonly word: string } {
  let from = 0;
  let quoted = false;
  for (let at = 0; at < caret; at++) {
    const letter = text[at];
    if (quoted && letter === '\\') at++;
    else if (letter === '"') quoted = !quoted;
    else if (!quoted && letter !== undefined && /\s/.test(letter)) from = at + 1;
  }
  return { from, word: text.slice(from, caret) };
}

/** Terms that begin like a word; all of them for an empty one, but for values of a term. */
export function offersFor(word: string, terms: readonly Offer[]): readonly Offer[] {
  const not = word.startsWith('-') ? '-' : '';
  const plain = (text: string): string => text.toLowerCase().replace(/["\\]/g, '');
  const typed = word.slice(not.length);
  const start = plain(typed);
  return terms
    .filter(({ text }) => plain(text).startsWith(start) && text !== typed)
    .filter(({ text }) => not === '' || (text !== '-' && !CHANGES.includes(text)))
    .filter(({ text }) =>
      WITH_VALUES.every((term) => !text.startsWith(term) || text === term || start.startsWith(term)),
    )
    .map(({ text, help }) => ({ text: not + text, help }));
}

/** Both have to fit. */
export function both(filter: string, more: string): string {
  const trimmed = filter.trim();
  return trimmed === '' || ` ${trimmed} `.includes(` ${more} `) ? trimmed || more : `${trimmed} ${more}`;
}

/** Narrows every view by one more term. */
export function addTerm(context: Pick<ViewContext, 'filter' | 'setFilter'>, term: string): void {
  context.setFilter(both(context.filter, term));
}

/** All but what matches one term; null for more than one, which can't be turned round. */
export function allBut(term: string): string | null {
  const text = term.trim();
  if (text === '' || wordAt(text, text.length).from !== 0) return null;
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}
