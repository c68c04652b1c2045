// What the columns of an answer mean, and its rows in order and as text.

import type { SqlColumn } from '../../../extension/shared/protocol.gen';
import { bytes, count, exactBytes, time } from '../base/format';
import { csvLine } from '../base/csv';
import { shorten } from '../base/text';

export type Cell = number | string | null;
export type Row = readonly Cell[];

/** Which columns lead somewhere, by their names; -1 where there is none. */
export interface Roles {
  readonly allocation: number;
  readonly object: number;
  readonly stack: number;
  readonly file: number;
  readonly line: number;
  readonly function: number;
}

export function rolesOf(columns: readonly SqlColumn[]): Roles {
  const at = (name: string): number => columns.findIndex((column) => column.name.toLowerCase() === name);
  return {
    allocation: at('allocation'),
    object: at('object'),
    stack: at('stack'),
    file: at('file'),
    line: at('line'),
    function: at('function'),
  };
}

/** The whole number in a row's column, null where there is none. */
export function numberIn(row: Row, column: number): number | null {
  const value = row[column];
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : null;
}

export function placeIn(row: Row, roles: Roles): { file: string; line: number; function: string } | null {
  const file = row[roles.file];
  const line = numberIn(row, roles.line);
  if (typeof file !== 'string' || file === '' || line === null || line === 0) return null;
  const name = row[roles.function];
  return { file, line, function: typeof name === 'string' ? name : '' };
}

const MOST_SHOWN = 300;

/** A value as it is shown, and in full. Sizes and times are recognised by their column's name. */
export function shownCell(value: Cell, name: string): { text: string; full: string } {
  if (value === null) return { text: 'NULL', full: 'NULL' };
  if (typeof value === 'string') return { text: shorten(value, MOST_SHOWN), full: shorten(value, 4000) };
  if (/_bytes$/i.test(name)) return { text: bytes(value), full: exactBytes(value) };
  if (/_us$/i.test(name) && !/origin/i.test(name)) return { text: time(value), full: `${count(value)} µs` };
  return { text: String(value), full: String(value) };
}

/** SQLite's order: NULL, numbers, text. */
function compareCells(a: Cell, b: Cell): number {
  const rank = (value: Cell): number => (value === null ? 0 : typeof value === 'number' ? 1 : 2);
  const difference = rank(a) - rank(b);
  if (difference !== 0) return difference;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return a === b ? 0 : String(a) < String(b) ? -1 : 1;
}

/** The rows in the order of a column; equal ones stay as they were. */
export function sortedRows(rows: readonly Row[], column: number, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => sign * compareCells(a[column] ?? null, b[column] ?? null));
}

/**
 * Comma-separated values as RFC 4180 has them. Text that a spreadsheet would take for a formula gets an apostrophe
 * before it (OWASP, "CSV Injection"): names in a snapshot are anybody's.
 */
export function toCsv(columns: readonly SqlColumn[], rows: readonly Row[]): string {
  return csvLine(columns.map((column) => column.name)) + rows.map(csvLine).join('');
}

/** An array of objects; SQL lets columns have the same name, an object does not. */
export function toJson(columns: readonly SqlColumn[], rows: readonly Row[]): string {
  const keys: string[] = [];
  for (const { name } of columns) {
    let key = name;
    for (let number = 2; keys.includes(key); number++) key = `${name}_${number}`;
    keys.push(key);
  }
  const lines = rows.map((row) => {
    const pairs = keys.map((key, i) => `${JSON.stringify(key)}: ${JSON.stringify(row[i] ?? null)}`);
    return `  {${pairs.join(', ')}}`;
  });
  return `[\n${lines.join(',\n')}\n]\n`;
}
