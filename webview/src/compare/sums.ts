// What a comparison comes to, in words.

import type { CompareAnswer, ComparedSums } from '../../../extension/shared/protocol.gen';
import type { CompareState } from '../../../extension/shared/messages';
import { figure } from '../base/figure';
import { plural, t } from '../base/l10n';
import { signed, withSign, type CompareContext } from './comparison';

export type By = CompareState['by'];

type Sums = Pick<CompareContext, 'compare' | 'setName' | 'attribution'>;

/** Both in all, and what became more or less. */
export function totalsText({ compare }: Sums, answer: CompareAnswer): string {
  const { by } = compare.settings;
  const { before, after } = compare.names;
  const { total } = answer;
  const parts: string[] = [];
  const part = (sums: ComparedSums, words: (rows: string, change: string) => string): void => {
    if (sums.rows > 0)
      parts.push(words(counted(sums.rows, by), withSign(sums.after_bytes - sums.before_bytes)));
  };
  part(answer.grown, (rows, change) => t('{0} grew by {1}', rows, change));
  part(answer.shrunk, (rows, change) => t('{0} shrank by {1}', rows, change));
  part(answer.only_after, (rows, change) => t('{0} only after: {1}', rows, change));
  part(answer.only_before, (rows, change) => t('{0} only before: {1}', rows, change));
  if (answer.same.rows > 0) parts.push(t('{0} the same', counted(answer.same.rows, by)));
  const both = answer.grown.rows + answer.shrunk.rows + answer.same.rows;
  if (total.rows > 0 && both === 0) parts.push(nothingInCommon(by));
  const sums = t(
    '{0} {1} → {2} {3}, {4}',
    ...[before, figure(total.before_bytes), after, figure(total.after_bytes)],
    signed(total.after_bytes - total.before_bytes),
  );
  return [sums, ...parts].join(' · ');
}

/** What the rows are. */
export function rowsText(
  { compare, setName, attribution }: Sums,
  answer: CompareAnswer,
  search: string,
  inferredSteps: boolean,
): string {
  const { by, measure, mine } = compare.settings;
  const words = search.trim();
  return [
    counted(answer.found, by),
    mine === 'end' ? t('live at the end') : setName,
    inferredSteps && t('beside each other by inferred steps'),
    isGrouped(by)
      ? false
      : measure === 'inclusive'
        ? t('with what each called (these do not add up)')
        : t('self by {0}', attribution.name),
    words !== '' &&
      t(
        'with {0}: {1} → {2}',
        ...[words, figure(answer.matching.before_bytes), figure(answer.matching.after_bytes)],
      ),
  ]
    .filter((part) => part !== false)
    .join(', ');
}

/** Whether rows are no places in code: nothing calls them. */
export function isGrouped(by: By): by is 'category' | 'module' | 'package' {
  return by === 'category' || by === 'module' || by === 'package';
}

function counted(rows: number, by: By): string {
  switch (by) {
    case 'line':
      return plural(rows, '{0} line', '{0} lines');
    case 'function':
      return plural(rows, '{0} function', '{0} functions');
    case 'file':
      return plural(rows, '{0} file', '{0} files');
    case 'stack':
      return plural(rows, '{0} stack', '{0} stacks');
    case 'category':
      return plural(rows, '{0} category', '{0} categories');
    case 'module':
      return plural(rows, '{0} module', '{0} modules');
    case 'package':
      return plural(rows, '{0} package', '{0} packages');
  }
}

function nothingInCommon(by: By): string {
  switch (by) {
    case 'line':
      return t('They have no line in common.');
    case 'function':
      return t('They have no function in common.');
    case 'file':
      return t('They have no file in common.');
    case 'stack':
      return t('They have no stack in common.');
    case 'category':
      return t('They have no category in common.');
    case 'module':
      return t('They have no module in common.');
    case 'package':
      return t('They have no package in common.');
  }
}
