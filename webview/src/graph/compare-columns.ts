// The columns of a comparison of heap dumps, and how a difference is written.

import type { CompareHeapTypesParams } from '../../../extension/shared/protocol.gen';
import { arrow, direction } from '../compare/comparison';
import { element } from '../widgets/dom';
import type { GridColumn } from '../widgets/tree-grid';
import { gridColumns, RETAINED_TITLE, SHALLOW_TITLE, type HeapColumn } from './columns';
import type { Cell } from './words';

export type CompareForm = 'types' | 'holders' | 'paths' | 'series';
type Order = CompareHeapTypesParams['order'];
export interface CompareSort {
  readonly order: Order;
  readonly reverse: boolean;
}

function column(name: string, title: string, order: Order | null = null, width = '84px'): HeapColumn<Order> {
  return { name, title, width, order, number: true };
}

function first(name: string, title: string, order: Order | null): HeapColumn<Order> {
  return { name, title, width: 'minmax(150px, 1fr)', order, number: false };
}

function columnsOf(form: CompareForm, byId: boolean, dumps: number): readonly HeapColumn<Order>[] {
  const growth = column('± Retained', `${RETAINED_TITLE}: the difference`, null, '116px');
  switch (form) {
    case 'types':
      return [
        first('Type', 'Sort by name', 'name'),
        column('Instances', 'How many objects after'),
        column('± Instances', 'The difference', 'count', '96px'),
        ...(byId
          ? [
              column('New', 'Objects that only the later dump has', 'new', '68px'),
              column('Gone', 'Objects that only the earlier dump has', 'gone', '68px'),
            ]
          : []),
        column('± Shallow', `${SHALLOW_TITLE}: the difference`, 'shallow', '96px'),
        column('Retained', `${RETAINED_TITLE}, after`),
        { ...growth, order: 'retained' },
      ];
    case 'holders':
      return [
        first('Held by', 'Objects of both dumps', null),
        column('New', 'New objects that it dominates and no other object of both in between'),
        column('New bytes', 'Their own bytes'),
        column('Before', `${RETAINED_TITLE}, before`),
        column('Retained', `${RETAINED_TITLE}, after`),
        growth,
      ];
    case 'paths':
      return [
        first('Held by › type', 'The dominator tree by type, from the root down', null),
        column('Objects', 'How many of them after'),
        column('± Objects', 'The difference'),
        column('Retained', `${RETAINED_TITLE}, after`),
        growth,
      ];
    case 'series':
      return [
        first('Type', `In ${dumps} dumps; those first that grow throughout`, null),
        column('Instances', 'In the last dump'),
        column('First', `${RETAINED_TITLE}, in the first dump`),
        column('Last', `${RETAINED_TITLE}, in the last dump`),
        growth,
      ];
  }
}

export function compareColumns(
  form: CompareForm,
  byId: boolean,
  sort: CompareSort,
  dumps: number,
): readonly GridColumn[] {
  return gridColumns(columnsOf(form, byId, dumps), form === 'types' ? sort : null);
}

/** What a column is sorted by; null where it can't be. */
export function sortOf(form: CompareForm, byId: boolean, index: number): Order | null {
  return columnsOf(form, byId, 0)[index]?.order ?? null;
}

/** "▲ +1.2 GiB", "▼ −3 MiB": shape, sign and words, so that colour is never alone. */
export function changeCell(difference: number, text: (value: number) => string): Cell {
  const size = text(Math.abs(difference));
  const signed = difference > 0 ? `+${size}` : difference < 0 ? `−${size}` : size;
  return [
    element(
      'span',
      { class: `compare-difference ${direction(difference)}` },
      element('span', { class: 'compare-arrow', attributes: { 'aria-hidden': 'true' } }, arrow(difference)),
      ` ${signed}`,
    ),
  ];
}
