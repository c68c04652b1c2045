// What the filter box offers while a term is typed, and how values are written in a filter.

import { t } from '../base/l10n';
import { quotedTerm } from '../base/text';

export interface Offer {
  /** What takes the place of the word that is being typed. */
  readonly text: string;
  readonly help: string;
}

const ALLOCATION_TERMS: readonly Offer[] = [
  { text: 'file:', help: t('a file on the stack: file:model.py, file:model.py:88, file:layers/*.py') },
  { text: 'function:', help: t('a function on the stack: function:forward') },
  { text: 'by:', help: t('the line that is shown for it: by:model.py:88, by:forward') },
  { text: 'innermost:', help: t('the innermost line, no matter whose code it is: innermost:parser.go:88') },
  { text: 'module:', help: t('the torch.nn module it was made in') },
  { text: 'operator:', help: t('the operator that C++ frames name: operator:aten::mm') },
  { text: 'size>', help: t('requested bytes: size>1MiB, size<=512') },
  { text: 'size<', help: t('requested bytes: size<64KiB') },
  { text: 'life>', help: t('how long it was held: life>10ms, life>100ev (events)') },
  { text: 'life<', help: t('how long it was held, where that is known: life<1ms') },
  { text: 'category:', help: t('what it holds: category:gradient, category:none') },
  { text: 'stream:', help: t('the stream: stream:0') },
  { text: 'pool:', help: t('the memory pool: pool:default, pool:private, pool:1.0') },
  { text: 'address:', help: t('what held an address: address:0x7f3a20000000') },
  { text: 'stack:', help: t('a stack by its number: stack:12') },
  { text: 'allocation:', help: t('an allocation by its number: allocation:240') },
  { text: 'is:before', help: t('allocated before recording') },
  { text: 'is:live', help: t('never freed') },
  { text: 'is:freed', help: t('freed while recording') },
  { text: 'is:pending', help: t('free requested, still held') },
  { text: 'is:native', help: t('only C++ frames') },
  { text: 'is:inferred', help: t('its line is inferred, not recorded') },
  { text: '-', help: t('before a term: excludes what matches it') },
];

/** The terms about allocations and samples; `categories` are the names of a trace's. */
export function allocationTerms(categories: readonly string[]): readonly Offer[] {
  // up to a blank, which would need quotes: an inferred category says so in its name
  const named = categories.map((name) => ({
    text: `category:${name.split(' ', 1)[0]}`,
    help: t('a category'),
  }));
  return [...ALLOCATION_TERMS, ...named];
}

/** The terms about objects of a heap dump. */
export const OBJECT_TERMS: readonly Offer[] = [
  { text: 'type:', help: t('the type: type:HashMap, type:"=java.lang.String"') },
  { text: 'extends:', help: t('a class and all below it: extends:AbstractMap, extends:"=app.Shape"') },
  { text: 'package:', help: t('its package or namespace: package:com.example') },
  {
    text: 'module:',
    help: t('its assembly, module or class loader: module:WebappClassLoader, module:boot, module:none'),
  },
  { text: 'heap:', help: t('the heap that it is in, of Android: heap:app, heap:zygote') },
  { text: 'kind:', help: t('the kind of its type: kind:array, kind:closure') },
  { text: 'retained>', help: t('what it retains: retained>1MiB') },
  { text: 'shallow>', help: t('its own bytes: shallow>1KiB') },
  { text: 'native>', help: t('memory outside of the heap that it owns: native>1MiB') },
  { text: 'native-retained>', help: t('what it retains of that: native-retained>1MiB') },
  { text: 'distance<', help: t('references from a root: distance<5') },
  { text: 'string:', help: t('a string with this text: string:"user-1", string:/user-[0-9]+/') },
  { text: 'name:', help: t('its own name: name:onTick') },
  { text: 'field:', help: t('it has such a field: field:session') },
  { text: 'held-by:', help: t('what dominates it: held-by:Cache') },
  {
    text: 'retained-by:',
    help: t('what only these keep alive, with them: retained-by:Cache, retained-by:"is:detached"'),
  },
  { text: 'thread:', help: t('a thread, or what its variables refer to: thread:main') },
  { text: 'function:', help: t('what a function’s variables refer to: function:grow') },
  { text: 'realm:', help: t('a frame of a page by its address or script: realm:/orders.html') },
  { text: 'allocated-by:', help: t('a function or file of its allocation stack: allocated-by:cache.js:12') },
  { text: 'stack:', help: t('allocated by stacks of those numbers: stack:12,20-25') },
  { text: 'finding:', help: t('a finding is about it: finding:"Duplicate strings"') },
  {
    text: 'in:',
    help: t('another heap dump of V8 has it as well: in:2.heapsnapshot, -in:1.heapsnapshot for what is new'),
  },
  {
    text: 'query:',
    help: t('the rows of a query name it: query:"SELECT target FROM refs WHERE name = \'cart\'"'),
  },
  { text: 'since:', help: t('allocated once a recording had run that many seconds: since:2.5') },
  { text: 'until:', help: t('allocated before a recording had run that many seconds: until:4') },
  { text: 'id:', help: t('the file’s id or address: id:5143; 0x7f3a20000000 and @5143 alone mean the same') },
  { text: 'is:root', help: t('a root') },
  { text: 'is:unreachable', help: t('unreachable') },
  { text: 'is:detached', help: t('detached from its document (V8)') },
  { text: 'is:softly-reachable', help: t('reached by soft references only (Java)') },
  { text: '-', help: t('before a term: excludes what matches it') },
];

/** The findings of a heap dump, by their titles. */
export function findingTerms(titles: readonly string[]): readonly Offer[] {
  return [...new Set(titles)].map((title) => ({
    text: quotedTerm('finding:', title),
    help: t('a finding'),
  }));
}

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
    .filter(({ text }) => plain(text).startsWith(start) && text !== typed && !(not && text === '-'))
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

/** All but what matches one term; null for more than one, which can't be turned round. */
export function allBut(term: string): string | null {
  const text = term.trim();
  if (text === '' || wordAt(text, text.length).from !== 0) return null;
  return text.startsWith('-') ? text.slice(1) : `-${text}`;
}
