// The columns of reserved memory that the picture draws, as the server packs them.

import type { ReservedAnswer } from '../../../extension/shared/protocol.gen';
import { bytesOf } from '../scene/base64';

export const KINDS = ['reserved', 'active', 'allocated', 'requested'] as const;
export type Kind = (typeof KINDS)[number];

export interface ReservedColumns {
  readonly x0: number;
  readonly x1: number;
  readonly columns: number;
  readonly known: boolean;
  /** Bytes in each column. */
  readonly highest: Readonly<Record<Kind, Float64Array>>;
  readonly lowest: Readonly<Record<Kind, Float64Array>>;
  readonly first: Uint32Array;
  readonly last: Uint32Array;
}

export function unpackReserved(answer: ReservedAnswer): ReservedColumns {
  const { columns } = answer;
  const packed = new Float64Array(bytesOf(answer.bytes));
  if (packed.length !== 2 * KINDS.length * columns) throw new Error('The picture’s columns are incomplete.');
  const row = (n: number): Float64Array => packed.subarray(n * columns, (n + 1) * columns);
  const rows = (offset: number): Record<Kind, Float64Array> => ({
    reserved: row(offset),
    active: row(2 + offset),
    allocated: row(4 + offset),
    requested: row(6 + offset),
  });
  return {
    x0: answer.x0,
    x1: answer.x1,
    columns,
    known: answer.known,
    highest: rows(0),
    lowest: rows(1),
    first: new Uint32Array(bytesOf(answer.first)),
    last: new Uint32Array(bytesOf(answer.last)),
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
