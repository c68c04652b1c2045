// Which rows of a fleet's heat map stand where, and what they say. Nothing here draws.

import type { FleetState } from '../../../extension/shared/messages';
import type { HeatMap, HeatRow } from '../../../extension/shared/protocol.gen';
import { bytes, count, time } from '../base/format';
import { plural, t } from '../base/l10n';

/** The height of a row that has a name. */
export const NAMED_HEIGHT = 20;
const LOWEST_HEIGHT = 2;
/** From this height on a row's name is drawn. */
export const LEAST_NAMED = 12;
/** The width of what stands left of the map: names and marks, or marks alone. */
const NAMES_WIDTH = 190;
const MARKS_WIDTH = 12;
export const LEVELS = 64;

export interface Heat {
  readonly map: HeatMap;
  /** For each row and column the most that was live; NaN where a snapshot has nothing. */
  readonly values: Float32Array;
  /** The most of all. */
  readonly highest: number;
}

export function heatOf(map: HeatMap, packed: ArrayBuffer): Heat {
  const values = new Float32Array(packed);
  if (values.length !== map.rows.length * map.columns) throw new Error('The heat map has another size');
  let highest = 0;
  for (const value of values) if (value > highest) highest = value;
  return { map, values, highest };
}

export function valueAt({ map, values }: Heat, row: number, column: number): number | null {
  const value = column < 0 || column >= map.columns ? Number.NaN : values[row * map.columns + column];
  return value === undefined || Number.isNaN(value) ? null : value;
}

/** The column in which a row is highest; null for a row without a curve. */
export function highestColumn({ map, values }: Heat, row: number): number | null {
  let best: number | null = null;
  let most = -1;
  for (let column = 0; column < map.columns; column++) {
    const value = values[row * map.columns + column] ?? Number.NaN;
    if (value > most) {
      most = value;
      best = column;
    }
  }
  return best;
}

/** The numbers of rows from top to bottom. What has no figure to sort by stands last, by name. */
export function ordered(heat: Heat, order: FleetState['order']): number[] {
  const all = heat.map.rows.map((_, row) => row); // by name already
  if (order === 'name') return all;
  const keys = heat.map.rows.map((row, at) =>
    order === 'peak' ? -(row.peak_bytes ?? Number.NEGATIVE_INFINITY) : (highestColumn(heat, at) ?? Infinity),
  );
  return all.sort((a, b) => {
    const [one = 0, other = 0] = [keys[a], keys[b]];
    return one === other ? a - b : one - other;
  });
}

export function rowHeight(rows: FleetState['rows'], count: number, height: number): number {
  if (rows === 'named') return NAMED_HEIGHT;
  return Math.min(Math.max(Math.floor(height / Math.max(count, 1)), LOWEST_HEIGHT), NAMED_HEIGHT);
}

/** How wide the names of rows of a height are, with their marks. */
export function labelsWidth(each: number): number {
  return each >= LEAST_NAMED ? NAMES_WIDTH : MARKS_WIDTH;
}

/** The places in the order that are in view: from the first to before the second. */
export function inView(top: number, height: number, each: number, count: number): [number, number] {
  const first = Math.min(Math.max(Math.floor(top / each), 0), count);
  return [first, Math.min(Math.ceil((top + height) / each), count)];
}

/** The step of the colours for a value: 0 for nothing. */
export function level(value: number, highest: number): number {
  return highest > 0 ? Math.min(Math.round((value / highest) * (LEVELS - 1)), LEVELS - 1) : 0;
}

/** Where a column begins on the axis, in words. */
export function momentText({ map }: Heat, column: number): string {
  const x = map.x0 + ((map.x1 - map.x0) * column) / Math.max(map.columns, 1);
  if (map.unit === 'steps') return t('step {0}', count(Math.round(x)));
  if (map.unit !== 'microseconds') return `${count(Math.round(x))} ${map.unit}`;
  // by the clock, these are microseconds of our era
  return map.x0 > 1e14 ? `${new Date(x / 1000).toISOString().slice(0, 19).replace('T', ' ')} UTC` : time(x);
}

function problemOf({ status, problem }: HeatRow): string | null {
  switch (status) {
    case 'ok':
      return null;
    case 'damaged':
      return t('damaged: {0}', problem ?? '');
    case 'other':
      return t('not a snapshot: {0}', problem ?? '');
    case 'failed':
      return t('not read: {0}', problem ?? '');
  }
}

/** A row's own figures, one a line. */
export function rowWords(row: HeatRow): string[] {
  const problem = problemOf(row);
  if (problem !== null) return [problem];
  const words = [];
  if (row.peak_bytes !== null) {
    const peak = peakWords(row.peak_bytes, row.from_median_bytes);
    words.push(row.outlier ? t('{0}: an outlier', peak) : peak);
  }
  if (row.end_bytes !== null) words.push(t('{0} at the end', bytes(row.end_bytes)));
  if (row.ooms > 0) words.push(plural(row.ooms, '{0} out-of-memory event', '{0} out-of-memory events'));
  return words;
}

function peakWords(peak: number, fromMedian: number): string {
  if (fromMedian === 0) return t('peak {0}, the median', bytes(peak));
  const by = bytes(Math.abs(fromMedian));
  return fromMedian > 0
    ? t('peak {0}, {1} above the median', bytes(peak), by)
    : t('peak {0}, {1} below the median', bytes(peak), by);
}

/** What is at a place of the map. */
export function cellWords(heat: Heat, row: number, column: number): string {
  const value = valueAt(heat, row, column);
  const at = momentText(heat, column);
  return value === null ? t('nothing recorded at {0}', at) : t('at most {0} live at {1}', bytes(value), at);
}

export function summaryWords({ map }: Heat): string {
  const unread = map.rows.filter(({ status }) => status !== 'ok').length;
  const ooms = map.rows.filter((row) => row.ooms > 0).length;
  return [
    plural(map.rows.length, '{0} snapshot', '{0} snapshots'),
    t('median peak {0}', bytes(map.median_bytes)),
    plural(map.outliers, '{0} outlier', '{0} outliers'),
    ...(ooms > 0 ? [t('{0} out of memory', count(ooms))] : []),
    ...(unread > 0 ? [t('{0} not read', count(unread))] : []),
    ...(map.left_out > 0 ? [t('{0} not on this axis', count(map.left_out))] : []),
  ].join(' · ');
}

/** The last part of a place, with its folder where it is a pattern. */
export function placeName(place: string): string {
  const parts = place.split(/[\\/]/).filter((part) => part !== '');
  const last = parts.at(-1) ?? place;
  return /[*?[]/.test(last) ? parts.slice(-2).join('/') : last;
}
