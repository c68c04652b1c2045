// The tables of a comparison of heap dumps: their columns, and how their rows and a difference are written.

import type {
  ComparedType,
  CompareHeapTypesParams,
  GrowingHolder,
  GrownPath,
  ObjectRow,
  SeriesType,
} from '../../../extension/shared/protocol.gen';
import { bytes, count } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { visible } from '../base/text';
import { arrow, direction } from '../compare/comparison';
import type { GridColumn } from '../widgets/grid';
import {
  figureColumn,
  gridColumns,
  nameColumn,
  nativeRetainedTitle,
  retainedTitle,
  shallowTitle,
  spare,
  type HeapColumn,
} from './columns';
import { bytesCell, countCell, EMPTY, objectCell, shortType, typeCell, type Cell } from './words';

/** What the tree shows. */
export type CompareForm = 'types' | 'holders' | 'paths' | 'series';
type Order = CompareHeapTypesParams['order'];
export interface CompareSort {
  readonly order: Order;
  readonly reverse: boolean;
}

export type CompareNode =
  | { readonly is: 'type'; readonly row: ComparedType }
  | { readonly is: 'object'; readonly row: ObjectRow; readonly of: string }
  | { readonly is: 'holder'; readonly row: GrowingHolder }
  | { readonly is: 'path'; readonly row: GrownPath }
  | { readonly is: 'series'; readonly row: SeriesType };

const NAME_PX = 130;
const FIGURE_PX = 80;
/** The room that a number of seven digits or more takes besides. */
const MILLIONS_PX = 16;

/** What is known of two dumps. */
export interface Known {
  /** Which objects are new. */
  readonly ids: boolean;
  /** Memory outside of the heap, in one of them at least. */
  readonly native: boolean;
  /** A million objects, in one of them at least. */
  readonly millions: boolean;
}

function columnsOf(form: CompareForm, known: Known, dumps: number): readonly HeapColumn<Order>[] {
  const figure = (name: string, title: string, order: Order | null = null, width = FIGURE_PX) =>
    figureColumn<Order>(name, title, width, order);
  const growth = (order: Order | null): HeapColumn<Order> =>
    figure(t('± Retained'), t('{0}: the difference', retainedTitle()), order, 110);
  const after = figure(t('Retained'), t('{0}, after', retainedTitle()));
  const native = (order: Order | null): readonly HeapColumn<Order>[] =>
    known.native
      ? [
          spare(figure(t('Native retained'), t('{0}, after', nativeRetainedTitle()), null, 116), 'medium'),
          spare(figure(t('± Native'), t('{0}: the difference', nativeRetainedTitle()), order, 110)),
        ]
      : [];
  switch (form) {
    case 'types': {
      const more = known.millions ? MILLIONS_PX : 0;
      return [
        nameColumn(t('Type'), t('Sort by name'), NAME_PX, 'name'),
        spare(figure(t('Instances'), t('How many objects after'), null, 78 + more), 'medium'),
        figure(t('± Instances'), t('The difference'), 'count', 108 + more),
        ...(known.ids
          ? [
              spare(figure(t('New'), t('Objects that only the later dump has'), 'new', 66 + more)),
              spare(figure(t('Gone'), t('Objects that only the earlier dump has'), 'gone', 66 + more)),
            ]
          : []),
        spare(figure(t('± Shallow'), t('{0}: the difference', shallowTitle()), 'shallow', 104), 'medium'),
        after,
        growth('retained'),
        ...native('native_retained'),
      ];
    }
    case 'holders':
      return [
        nameColumn(t('Held by'), t('Objects of both dumps'), NAME_PX),
        figure(t('New'), t('New objects that it dominates, with no other object of both in between')),
        spare(figure(t('New shallow'), t('Their own bytes'), null, 100)),
        figure(t('Before'), t('{0}, before', retainedTitle())),
        after,
        growth(null),
      ];
    case 'paths':
      return [
        nameColumn(t('Held by › type'), t('The dominator tree by type, from the root down'), NAME_PX),
        spare(figure(t('Objects'), t('How many of them after'))),
        figure(t('± Objects'), t('The difference'), null, 108),
        after,
        growth(null),
        ...native(null),
      ];
    case 'series':
      return [
        nameColumn(
          t('Type'),
          plural(
            dumps,
            'In {0} dump; those that grow throughout come first',
            'In {0} dumps; those that grow throughout come first',
          ),
          NAME_PX,
        ),
        spare(figure(t('Instances'), t('In the last dump'))),
        spare(figure(t('First'), t('{0}, in the first dump', retainedTitle()))),
        figure(t('Last'), t('{0}, in the last dump', retainedTitle())),
        growth(null),
      ];
  }
}

export function compareColumns(
  form: CompareForm,
  known: Known,
  sort: CompareSort,
  dumps: number,
): readonly GridColumn[] {
  return gridColumns(columnsOf(form, known, dumps), form === 'types' ? sort : null);
}

/** What a column is sorted by; null where it can't be. */
export function sortOf(form: CompareForm, known: Known, index: number): Order | null {
  return columnsOf(form, known, 0)[index]?.order ?? null;
}

/** "▲ +1.2 GiB", "▼ −3 MiB": shape, sign and words, so that colour is never alone. */
function changeCell(difference: number, text: (value: number) => string): Cell {
  const size = text(Math.abs(difference));
  const shown = difference > 0 ? `+${size}` : difference < 0 ? `−${size}` : size;
  return {
    parts: [
      <span class={`compare-difference ${direction(difference)}`}>
        <span class="compare-arrow" aria-hidden="true">
          {arrow(difference)}
        </span>{' '}
        {shown}
      </span>,
    ],
    copied: { shown, exact: difference },
  };
}

export function compareCells(node: CompareNode, known: Known): readonly Cell[] {
  const change = (before: number, after: number): Cell => changeCell(after - before, bytes);
  const native = (row: ComparedType | GrownPath): readonly Cell[] => {
    const { before_native_retained_bytes: before, after_native_retained_bytes: after } = row;
    return before === null || after === null ? [] : [bytesCell(after), change(before, after)];
  };
  switch (node.is) {
    case 'type': {
      const { row } = node;
      return [
        typeCell(row),
        countCell(row.after_count),
        changeCell(row.after_count - row.before_count, count),
        ...(known.ids ? [countCell(row.new ?? 0), countCell(row.gone ?? 0)] : []),
        change(row.before_shallow_bytes, row.after_shallow_bytes),
        bytesCell(row.after_retained_bytes),
        change(row.before_retained_bytes, row.after_retained_bytes),
        ...native(row),
      ];
    }
    case 'object':
      return [
        objectCell(node.row),
        ...Array.from({ length: known.ids ? 4 : 2 }, () => EMPTY),
        bytesCell(node.row.shallow_bytes),
        bytesCell(node.row.retained_bytes),
        EMPTY,
        ...(known.native ? [bytesCell(node.row.native_retained_bytes ?? 0), EMPTY] : []),
      ];
    case 'holder': {
      const { object, before_retained_bytes: before, new_objects: objects, new_bytes: held } = node.row;
      return [
        objectCell(object),
        countCell(objects),
        bytesCell(held),
        bytesCell(before),
        bytesCell(object.retained_bytes),
        change(before, object.retained_bytes),
      ];
    }
    case 'path': {
      const { row } = node;
      const path = row.path.map(said);
      const [above, own] = [path.slice(0, -1), path.at(-1) ?? ''];
      const cell: Cell = {
        parts: [
          <span class="heap-way" title={visible(path.join(' › '))}>
            <span class="muted heap-above">
              <bdi dir="ltr">{visible(above.map((each) => `${shortType(each)} › `).join(''))}</bdi>
            </span>
            <bdi class="code heap-own">{visible(shortType(own))}</bdi>
          </span>,
        ],
        copied: path.join(' › '),
      };
      return [
        cell,
        countCell(row.after_objects),
        changeCell(row.after_objects - row.before_objects, count),
        bytesCell(row.after_retained_bytes),
        change(row.before_retained_bytes, row.after_retained_bytes),
        ...native(row),
      ];
    }
    case 'series': {
      const { counts, retained_bytes: retained, grows } = node.row;
      const [first = 0, last = 0] = [retained[0], retained.at(-1)];
      return [
        typeCell(node.row, grows ? t('grows throughout') : ''),
        countCell(counts.at(-1) ?? 0),
        bytesCell(first),
        bytesCell(last),
        change(first, last),
      ];
    }
  }
}
