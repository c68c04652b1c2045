// The figures that a view is about: bytes in allocations, or in a profile another of its values.

import { bytes, exactBytes, time } from './format';
import { count, plural, t } from './l10n';
import { visible } from './text';

export interface Figures {
  /** `bytes`, `count`, `nanoseconds` or what else a profile says, which is any text. */
  readonly unit: string;
  /** What is counted beside it; null where that isn't known. */
  readonly counts: 'allocation' | 'sample' | 'object' | null;
}

/** A map, as a file may call its unit `constructor`. */
const IN_US = new Map([
  ['nanoseconds', 1e-3],
  ['microseconds', 1],
  ['milliseconds', 1e3],
  ['seconds', 1e6],
]);

// a webview shows one view
let shown: Figures = { unit: 'bytes', counts: 'allocation' };

export function setFigures(figures: Figures): void {
  shown = figures;
}

/** An amount as people read it. */
export function figureIn(value: number, unit: string): string {
  if (unit === 'bytes') return value < 0 ? `−${bytes(-value)}` : bytes(value);
  const inUs = IN_US.get(unit);
  if (inUs !== undefined) return time(value * inUs);
  return unit === 'count' || unit === '' ? count(value) : `${count(value)} ${visible(unit)}`;
}

/** An amount of what the view is about. */
export function figure(value: number): string {
  return figureIn(value, shown.unit);
}

export function exactFigure(value: number): string {
  if (inBytes()) return exactBytes(value);
  return isCount() ? count(value) : `${count(value)} ${visible(shown.unit)}`;
}

export function inBytes(): boolean {
  return shown.unit === 'bytes';
}

/** Whether the view's figures are numbers of something. */
export function isCount(): boolean {
  return shown.unit === 'count';
}

/** The head of a column of figures, by their unit. */
export function figureHead(): string {
  const { unit } = shown;
  if (unit === 'bytes') return t('Bytes');
  if (IN_US.get(unit) !== undefined) return t('Time');
  if (isCount()) return t('Number');
  return unit === '' ? t('Amount') : visible(unit.charAt(0).toUpperCase() + unit.slice(1));
}

/** Whether what is counted beside the figures are samples. */
export function countsSamples(): boolean {
  return shown.counts === 'sample';
}

/** What the counts beside the figures are of. */
export function countsTitle(): string {
  if (shown.counts === 'object') return t('Objects');
  return countsSamples() ? t('Samples') : t('Allocations');
}

export function countsKnown(): boolean {
  return shown.counts !== null;
}

/** "3 allocations". */
export function countedFigure(value: number): string {
  if (shown.counts === 'object') return plural(value, '{0} object', '{0} objects');
  return countsSamples()
    ? plural(value, '{0} sample', '{0} samples')
    : plural(value, '{0} allocation', '{0} allocations');
}

/** "1.2 GiB in 34 allocations"; the figure alone where it is a count, or where none is known. */
export function figureAndCount(value: number, many: number | null): string {
  if (isCount() || shown.counts === null || many === null) return figure(value);
  return t('{0} in {1}', figure(value), countedFigure(many));
}
