// The columns of reserved memory that the picture draws, as the server packs them.

import type { ReservedAnswer } from '../../../../extension/shared/protocol.gen';
import { floats, wholes } from '../../base/base64';

const KINDS = ['reserved', 'active', 'allocated', 'requested'] as const;
/** `fitting`: the part of what was requested that matches the filter. */
export type Kind = (typeof KINDS)[number] | 'fitting';

interface KindColumns {
  readonly kind: Kind;
  readonly highest: Float64Array;
  readonly lowest: Float64Array;
}

export interface ReservedColumns {
  readonly x0: number;
  readonly x1: number;
  readonly columns: number;
  readonly known: boolean;
  /** Bytes in each column, of each kind a part of the one before it; with a filter the last is what matches it. */
  readonly kinds: readonly KindColumns[];
  readonly first: Uint32Array;
  readonly last: Uint32Array;
}

/** The kinds that are known of a file: without segments it isn't known what was reserved. */
export const shownKinds = (filter: string, known: boolean): readonly Kind[] =>
  kindsOf(filter).filter((kind) => known || kind !== 'reserved');

const kindsOf = (filter: string): readonly Kind[] => (filter === '' ? KINDS : [...KINDS, 'fitting']);

/** Of an answer to a request with this filter. */
export function unpackReserved(answer: ReservedAnswer, filter: string): ReservedColumns {
  const { columns } = answer;
  const packed = floats(answer.bytes);
  const kinds = kindsOf(filter);
  if (packed.length !== 2 * kinds.length * columns) throw new Error('The picture’s columns are incomplete.');
  const row = (n: number): Float64Array => packed.subarray(n * columns, (n + 1) * columns);
  return {
    x0: answer.x0,
    x1: answer.x1,
    columns,
    known: answer.known,
    kinds: kinds.map((kind, n) => ({ kind, highest: row(2 * n), lowest: row(2 * n + 1) })),
    first: wholes(answer.first),
    last: wholes(answer.last),
  };
}

/** The column at a place of the axis. */
export function columnAt(data: ReservedColumns, x: number): number {
  const column = Math.floor(((x - data.x0) / (data.x1 - data.x0)) * data.columns);
  return Math.min(Math.max(column, 0), data.columns - 1);
}

/** The moment that a click there means: the last one of its column. */
export function momentIn(data: ReservedColumns, x: number): number {
  return data.last[columnAt(data, x)] ?? 0;
}
