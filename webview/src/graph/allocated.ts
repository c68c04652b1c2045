// When objects were allocated, as dumps of one process tell that number their objects once and for all: by the dumps
// that they are in. Each choice is some terms `in:` of the filter.

import { t } from '../base/l10n';
import { quotedTerm } from '../base/text';
import { wordAt } from '../shell/filter-terms';

/** A dump as filters name it, and as people do. */
export interface NamedDump {
  readonly file: string;
  readonly name: string;
}

export interface AllocatedChoice {
  /** What the filter has besides; empty for all objects. */
  readonly terms: string;
  readonly text: string;
}

const TERM = /^-?in[:=]/i;

/** The choices for a dump between earlier and later ones, in the order in which these were written. */
export function allocatedChoices(
  earlier: readonly NamedDump[],
  later: readonly NamedDump[],
): readonly AllocatedChoice[] {
  const within = ({ file }: NamedDump): string => quotedTerm('in:', file);
  const without = ({ file }: NamedDump): string => quotedTerm('-in:', file);
  const [first, last, next] = [earlier[0], earlier.at(-1), later[0]];
  return [
    { terms: '', text: t('Allocated at any time') },
    ...(first ? [{ terms: within(first), text: t('Allocated before {0}', first.name) }] : []),
    ...earlier.slice(1).map((each, at) => {
      const before = earlier[at] ?? each;
      const text = t('Allocated between {0} and {1}', before.name, each.name);
      return { terms: `${without(before)} ${within(each)}`, text };
    }),
    ...(last ? [{ terms: without(last), text: t('Allocated after {0}', last.name) }] : []),
    ...(next ? [{ terms: without(next), text: t('Freed before {0}', next.name) }] : []),
  ];
}

/** Which choice a filter has; null for other terms about dumps. */
export function allocatedIn(filter: string, choices: readonly AllocatedChoice[]): AllocatedChoice | null {
  const { terms } = parted(filter);
  return choices.find((each) => each.terms === terms) ?? null;
}

/** A filter with another choice. */
export function withAllocated(filter: string, { terms }: AllocatedChoice): string {
  return [parted(filter).rest, terms].filter((each) => each !== '').join(' ');
}

function parted(filter: string): { readonly rest: string; readonly terms: string } {
  const [rest, terms]: [string[], string[]] = [[], []];
  for (let end = filter.length; end > 0;) {
    const { from, word } = wordAt(filter, end);
    if (word !== '') (TERM.test(word) ? terms : rest).unshift(word);
    end = from - 1;
  }
  return { rest: rest.join(' '), terms: terms.join(' ') };
}
