// The columns of a comparison's table: a row for each line, function, file or stack.

import type { VNode } from 'preact';
import type { ComparedRow, Frame } from '../../../extension/shared/protocol.gen';
import { countsTitle, exactFigure, figure } from '../base/figure';
import { categoryName, count, libraryMark, share } from '../base/format';
import { t } from '../base/l10n';
import { fileName } from '../base/paths';
import { shorten } from '../base/text';
import type { TableColumn } from '../widgets/table';
import { arrow, direction, withSign } from './comparison';
import { isGrouped, type By } from './sums';

export const COMPARE_PAGE = 200;

const ORDERS = ['difference', 'before', 'after', 'count', 'name'] as const;
export type CompareOrder = (typeof ORDERS)[number];

export function orderOf(column: string): CompareOrder {
  return ORDERS.find((order) => order === column) ?? 'difference';
}

/** Where the bar of a row begins and ends. */
interface Step {
  readonly from: number;
  readonly to: number;
}

/** The bars of a table's rows, and the lowest and the highest place of any. */
export interface Waterfall {
  readonly steps: ReadonlyMap<ComparedRow, Step>;
  readonly low: number;
  readonly high: number;
}

/**
 * What became of a total, row by row: each bar begins where the one above it ends. Rows that don't add up begin at nothing,
 * in the middle.
 */
export function waterfallOf(rows: readonly ComparedRow[], total: number, addUp: boolean): Waterfall {
  const steps = new Map<ComparedRow, Step>();
  let [at, low, high] = addUp ? [total, total, total] : [0, 0, 0];
  for (const row of rows) {
    const from = addUp ? at : 0;
    at = from + row.difference_bytes;
    steps.set(row, { from, to: at });
    low = Math.min(low, at);
    high = Math.max(high, at);
  }
  const half = Math.max(-low, high);
  return addUp ? { steps, low, high } : { steps, low: -half, high: half };
}

export const NO_ROWS = waterfallOf([], 0, true);

export function compareColumns(waterfall: Waterfall, by: By): readonly TableColumn<ComparedRow>[] {
  const figures = { number: true, width: '110px' } as const;
  return [
    {
      key: 'name',
      name: headOf(by),
      number: false,
      width: 'minmax(220px, 100fr)',
      cell: (row) => ({
        content: isGrouped(by) ? <GroupName row={row} by={by} /> : <Place row={row} />,
        title: titleOf(row),
      }),
      copied: nameOfRow,
    },
    {
      key: 'difference',
      name: t('Difference'),
      number: true,
      width: '270px',
      cell: (row) => ({
        class: `compare-difference ${direction(row.difference_bytes)}`,
        title: exactDifference(row.difference_bytes),
        content: <Difference row={row} waterfall={waterfall} />,
      }),
      copied: ({ difference_bytes: difference }) => ({ shown: withSign(difference), exact: difference }),
    },
    {
      ...figures,
      key: 'before',
      name: t('Before'),
      cell: (row) => ({
        title: exactFigure(row.before_bytes),
        content: amount(row.before_bytes, row.before_count),
      }),
      copied: (row) => ({ shown: amount(row.before_bytes, row.before_count), exact: row.before_bytes }),
    },
    {
      ...figures,
      key: 'after',
      name: t('After'),
      cell: (row) => ({
        title: exactFigure(row.after_bytes),
        content: amount(row.after_bytes, row.after_count),
      }),
      copied: (row) => ({ shown: amount(row.after_bytes, row.after_count), exact: row.after_bytes }),
    },
    {
      key: 'count',
      name: countsTitle(),
      number: true,
      width: '180px',
      cell: (row) => ({
        title: t('{0} before, {1} after', count(row.before_count), count(row.after_count)),
        content: counts(row),
      }),
      copied: (row) => ({ shown: counts(row), exact: row.after_count }),
    },
  ];
}

function counts({ before_count: before, after_count: after }: ComparedRow): string {
  const change = after - before;
  return change === 0
    ? count(after)
    : `${count(after)} (${change > 0 ? '+' : '−'}${count(Math.abs(change))})`;
}

/** A bar from what was left by the rows above to what this one leaves. */
function Difference(props: { readonly row: ComparedRow; readonly waterfall: Waterfall }): VNode {
  const { steps, low, high } = props.waterfall;
  const { difference_bytes: difference } = props.row;
  const { from, to } = steps.get(props.row) ?? { from: low, to: low };
  const share = (size: number): string => `${(100 * size) / Math.max(high - low, 1)}%`;
  return (
    <>
      <span class="compare-bar" aria-hidden="true">
        <span
          class={`compare-fill ${direction(difference)}`}
          style={{ left: share(Math.min(from, to) - low), width: share(Math.abs(difference)) }}
        />
      </span>
      <span class="compare-arrow" aria-hidden="true">
        {arrow(difference)}
      </span>
      {withSign(difference)}
    </>
  );
}

function amount(size: number, allocations: number): string {
  return allocations === 0 ? '–' : figure(size);
}

function exactDifference(difference: number): string {
  if (difference === 0) return t('No difference');
  const size = exactFigure(Math.abs(difference));
  return difference > 0 ? t('{0} more after', size) : t('{0} less after', size);
}

function headOf(by: By): string {
  switch (by) {
    case 'category':
      return t('Category');
    case 'module':
      return t('Module');
    case 'package':
      return t('Package');
    case 'line':
    case 'function':
    case 'file':
    case 'stack':
      return t('Place');
  }
}

/** The name of what isn't a place in code. */
function GroupName({ row, by }: { readonly row: ComparedRow; readonly by: By }): VNode {
  const name = (row.after ?? row.before)?.function ?? '';
  return (
    <>
      <bdi>{shorten(by === 'category' ? categoryName(name) : name, 90)}</bdi>
      {marksOf(row).map((mark) => (
        <bdi key={mark} class="badge">
          {mark}
        </bdi>
      ))}
    </>
  );
}

/** The name of a place, and how it changed, in words. */
function Place({ row }: { readonly row: ComparedRow }): VNode | null {
  const place = row.after ?? row.before;
  if (!place) return null;
  const where = whereOf(place);
  const named = place.function !== '';
  return (
    <>
      {named ? (
        <bdi class="code">{shorten(place.function, 70)}</bdi>
      ) : (
        where === null && <bdi class="muted">{t('No stack')}</bdi>
      )}
      {where === null ? (
        named && <bdi class="place">{t('no line of source')}</bdi>
      ) : (
        <bdi class={named ? 'place' : 'code'}>{shorten(where, 60)}</bdi>
      )}
      {marksOf(row).map((mark) => (
        <bdi key={mark} class="badge">
          {mark}
        </bdi>
      ))}
      {row.callers.length > 0 && (
        <bdi class="place">
          {`← ${row.callers.map((each) => `${shorten(each.function, 30)}:${each.line}`).join(' ← ')}`}
        </bdi>
      )}
    </>
  );
}

function nameOfRow(row: ComparedRow): string {
  const place = row.after ?? row.before;
  if (!place) return '';
  return [place.function, whereOf(place), ...marksOf(row)].filter(Boolean).join(' ');
}

function whereOf(place: Frame): string | null {
  if (place.file === '') return null;
  return place.line > 0 ? `${fileName(place.file)}:${place.line}` : fileName(place.file);
}

/** "library", "inferred", "only before", "moved from line 12", "was old_name". */
export function marksOf(row: ComparedRow): string[] {
  const marks: string[] = [];
  const place = row.after ?? row.before;
  const library = place && place.line > 0 ? libraryMark(place) : '';
  if (library !== '') marks.push(library);
  const guessed = row.before_inferred_bytes + row.after_inferred_bytes;
  if (place?.source === 'inferred') marks.push(t('inferred'));
  else if (guessed > 0) marks.push(t('{0} inferred', share(guessed, row.before_bytes + row.after_bytes)));
  if (row.before_count === 0) marks.push(t('only after'));
  else if (row.after_count === 0) marks.push(t('only before'));
  const { before, after } = row;
  if (!before || !after) return marks;
  if (before.function !== after.function) marks.push(t('was {0}', shorten(before.function, 40)));
  if (before.line !== after.line) marks.push(t('moved from line {0}', before.line));
  return marks;
}

function pathOf(place: Frame | null): string {
  if (!place) return '';
  return place.line > 0 ? `${place.file}:${place.line}` : place.file;
}

function titleOf({ before, after }: ComparedRow): string {
  if (before && after && pathOf(before) !== pathOf(after))
    return [
      t('before: {0}', shorten(pathOf(before), 300)),
      t('after: {0}', shorten(pathOf(after), 300)),
    ].join('\n');
  const place = after ?? before;
  return place ? shorten(pathOf(place), 300) : '';
}
