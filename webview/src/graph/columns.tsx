// The columns of a heap dump's tables.

import type { GraphInfo, ObjectRow } from '../../../extension/shared/protocol.gen';
import { share } from '../base/format';
import { t } from '../base/l10n';
import { ShareBar } from '../widgets/share-bar';
import type { GridColumn, Room } from '../widgets/grid';
import { showsNative } from './native';
import { bytesCell, type Cell } from './words';

export interface HeapColumn<O extends string> {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  /** What sorting by it asks for; null where it can't be sorted by. */
  readonly order: O | null;
  readonly number: boolean;
  /** In what room it is left out. */
  readonly spare?: Room | null;
}

export function retainedTitle(): string {
  return t('Bytes that would be freed with it: its own and those of everything that only it keeps alive');
}

export function shallowTitle(): string {
  return t('Its own bytes, without what it refers to');
}

export function totalTitle(): string {
  return t('Its own bytes and those of everything below it, which other references may keep alive as well');
}

function nativeTitle(): string {
  return t('Memory that it owns outside of the heap: pixels, buffers, mapped files');
}

export function nativeRetainedTitle(): string {
  return t('Memory outside of the heap that would be freed with it');
}

function shareTitle(): string {
  return t('Retained, of all bytes in the dump');
}

/** A column of names, as wide as there is room. */
export function nameColumn<O extends string>(
  name: string,
  title: string,
  least: number,
  order: O | null = null,
): HeapColumn<O> {
  return { name, title, width: `minmax(${least}px, 1fr)`, order, number: false };
}

export function figureColumn<O extends string>(
  name: string,
  title: string,
  width = 92,
  order: O | null = null,
): HeapColumn<O> {
  return { name, title, width: `${width}px`, order, number: true };
}

/** A column that gives its room to the others where there is little; what it shows is in the details, too. */
export function spare<O extends string>(column: HeapColumn<O>, room: Room = 'narrow'): HeapColumn<O> {
  return { ...column, spare: room };
}

/** Bars with their figures, or in a narrow window the figures alone. */
export function shareColumn<O extends string>(title = shareTitle()): HeapColumn<O> {
  return { name: t('Share'), title, width: 'var(--share-px, 112px)', order: null, number: true };
}

/** Columns of a table that is sorted by `order`, the largest first or, of names, in the order of letters. */
export function gridColumns<O extends string>(
  columns: readonly HeapColumn<O>[],
  sorted: { readonly order: O; readonly reverse: boolean } | null,
): readonly GridColumn[] {
  return columns.map(({ name, title, width, order, number, spare: room = null }) => {
    const ascending = sorted?.reverse !== (order === 'name');
    const current = ascending ? 'ascending' : 'descending';
    const sort = sorted === null || order === null ? null : order === sorted.order ? current : 'none';
    return { name, title, width, number, sort, spare: room };
  });
}

/** Columns of memory outside of the heap, where there is enough of it. */
export function nativeColumns<O extends string>(
  info: Pick<GraphInfo, 'native_bytes' | 'shallow_bytes'>,
  orders: readonly [own: O, retained: O] | null,
): readonly HeapColumn<O>[] {
  if (!showsNative(info)) return [];
  return [
    spare(figureColumn(t('Native'), nativeTitle(), 88, orders?.[0] ?? null), 'medium'),
    spare(figureColumn(t('Native retained'), nativeRetainedTitle(), 132, orders?.[1] ?? null)),
  ];
}

/** The cells of these columns. */
export function nativeCells(
  info: Pick<GraphInfo, 'native_bytes' | 'shallow_bytes'>,
  {
    native_bytes: own,
    native_retained_bytes: retained,
  }: Pick<ObjectRow, 'native_bytes' | 'native_retained_bytes'>,
): readonly Cell[] {
  if (own === null || retained === null || !showsNative(info)) return [];
  // most objects have none, and a column of zeros hides those that do
  return [own, retained].map((value) =>
    value === 0 ? { ...bytesCell(value), parts: [''] } : bytesCell(value),
  );
}

/** Retained bytes, and their share of the whole with a bar. */
export function retainedCells(retained: number, whole: number): readonly Cell[] {
  const part = share(retained, whole);
  return [bytesCell(retained), { parts: [<ShareBar part={retained} whole={whole} />, part], copied: part }];
}
