/* oxlint-disable typescript/no-non-null-assertion -- indices are below the number of columns */
// What the picture is measured against: what was reserved, the whole that a filter narrows, the run's steps.

import type { Curve, Flag } from '../../canvas/marks';
import { toPixelX, toPixelY, type Camera, type PlotSize } from '../../canvas/camera';

/** Where a step begins. */
export interface StepMark {
  readonly x: number;
  readonly text: string;
}

export interface Backdrop {
  /** Reserved memory; null where it isn't known. */
  readonly reserved: Curve | null;
  /** What was live without the filter and the changes of a replay; null without both. */
  readonly whole: Curve | null;
  /** Whether the picture is drawn with changes. */
  readonly changed: boolean;
  readonly steps: readonly StepMark[];
  /** Steps are inferred from the repeating pattern. */
  readonly inferred: boolean;
}

export const NO_BACKDROP: Backdrop = {
  reserved: null,
  whole: null,
  changed: false,
  steps: [],
  inferred: false,
};

function columnOf(curve: Curve, x: number): number {
  const column = Math.floor(((x - curve.x0) / (curve.x1 - curve.x0)) * curve.highest.length);
  return Math.min(Math.max(column, 0), curve.highest.length - 1);
}

/** The most of a curve in a part of the run; null where it has nothing. */
export function mostOf(curve: Curve, { x0, x1 }: Pick<Camera, 'x0' | 'x1'>): number | null {
  if (curve.highest.length === 0) return null;
  let most = 0;
  const last = columnOf(curve, x1);
  for (let column = columnOf(curve, x0); column <= last; column++)
    most = Math.max(most, curve.highest[column]!);
  return most > 0 ? most : null;
}

/** The corners of a curve's outline in view, from left to right, in device pixels: x, y, x, y, … */
export function outlineOf(curve: Curve, camera: Camera, plot: PlotSize): number[] {
  const { x0, x1, highest } = curve;
  if (highest.length === 0) return [];
  const each = (x1 - x0) / highest.length;
  const points: number[] = [];
  const last = columnOf(curve, camera.x1);
  for (let column = columnOf(curve, camera.x0); column <= last; column++) {
    const y = toPixelY(camera, plot, highest[column]!);
    const from = toPixelX(camera, plot, x0 + column * each);
    const to = toPixelX(camera, plot, x0 + (column + 1) * each);
    // a level that goes on has no corner
    if (points.at(-1) === y) points[points.length - 2] = to;
    else points.push(from, y, to, y);
  }
  return points;
}

/** The most that the device would have had when memory ran out: what was reserved then and what was free. */
export function limitOf(flags: readonly Flag[], reserved: Curve | null): number | null {
  if (!reserved || reserved.highest.length === 0) return null;
  const limits = flags.flatMap(({ x, free }) =>
    free === null ? [] : [reserved.highest[columnOf(reserved, x)]! + free],
  );
  return limits.length > 0 ? Math.max(...limits) : null;
}

/** The steps in view that are at least `least` device pixels apart, by every second, fourth … one. */
export function stepsInView(
  steps: readonly StepMark[],
  camera: Camera,
  plot: PlotSize,
  least: number,
): { readonly px: number; readonly text: string }[] {
  const placed = steps.map(({ x, text }) => ({ px: toPixelX(camera, plot, x), text }));
  let every = 1;
  const span = (placed.at(-1)?.px ?? 0) - (placed[0]?.px ?? 0);
  while (steps.length > 1 && (span / (steps.length - 1)) * every < least) every *= 2;
  return placed.filter(({ px }, number) => number % every === 0 && px >= 0 && px <= plot.width);
}
