// The figures that a view is about: bytes in allocations, or in a profile another of its values.

import { bytes, count, counted, exactBytes, time } from './format';

export interface Figures {
  /** `bytes`, `count`, `nanoseconds` or what else a profile says. */
  readonly unit: string;
  /** What is counted beside it. */
  readonly counts: 'allocation' | 'sample';
}

const IN_US: Readonly<Record<string, number>> = {
  nanoseconds: 1e-3,
  microseconds: 1,
  milliseconds: 1e3,
  seconds: 1e6,
};

// one view stands in a webview
let shown: Figures = { unit: 'bytes', counts: 'allocation' };

export function setFigures(figures: Figures): void {
  shown = figures;
}

/** An amount as people read it. */
export function figureIn(value: number, unit: string): string {
  if (unit === 'bytes') return value < 0 ? `−${bytes(-value)}` : bytes(value);
  const inUs = IN_US[unit];
  if (inUs !== undefined) return time(value * inUs);
  return unit === 'count' || unit === '' ? count(value) : `${count(value)} ${unit}`;
}

/** An amount of what the view is about. */
export function figure(value: number): string {
  return figureIn(value, shown.unit);
}

export function exactFigure(value: number): string {
  if (shown.unit === 'bytes') return exactBytes(value);
  return shown.unit === 'count' ? count(value) : `${count(value)} ${shown.unit}`;
}

/** What the counts beside the figures are of. */
export function countsTitle(): string {
  return shown.counts === 'allocation' ? 'Allocations' : 'Samples';
}

/** "3 allocations". */
export function countedFigure(value: number): string {
  return counted(value, shown.counts);
}

/** "1.2 GiB in 34 allocations"; a count alone where that is the figure. */
export function figureAndCount(value: number, many: number): string {
  return shown.unit === 'count' ? figure(value) : `${figure(value)} in ${countedFigure(many)}`;
}
