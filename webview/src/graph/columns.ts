// The columns of a heap dump's tables.

import { share } from '../flame/words';
import { shareBar } from '../widgets/share-bar';
import type { GridColumn } from '../widgets/tree-grid';
import { bytesCell, type Cell } from './words';

export interface HeapColumn<O extends string> {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  /** What sorting by it asks for; null where it can't be sorted by. */
  readonly order: O | null;
  readonly number: boolean;
}

export const RETAINED_TITLE =
  'Bytes that would be freed with it: its own and those of all that only it keeps alive';
export const SHALLOW_TITLE = 'Its own bytes, without what it refers to';

/** Columns of a table that is sorted by `order`, the largest first or, of names, in the order of letters. */
export function gridColumns<O extends string>(
  columns: readonly HeapColumn<O>[],
  sorted: { readonly order: O; readonly reverse: boolean } | null,
): readonly GridColumn[] {
  return columns.map(({ name, title, width, order, number }) => {
    const ascending = sorted?.reverse !== (order === 'name');
    const current = ascending ? 'ascending' : 'descending';
    const sort = sorted === null || order === null ? null : order === sorted.order ? current : 'none';
    return { name, title, width, number, sort };
  });
}

/** Retained bytes, and their share of the whole with a bar. */
export function retainedCells(retained: number, whole: number): readonly Cell[] {
  return [bytesCell(retained), [shareBar(retained, whole), share(retained, whole)]];
}
