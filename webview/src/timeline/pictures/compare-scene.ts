// Two curves on one axis: what was answered, and what is where. No canvas in here.

import type { CurvesAnswer } from '../../../../extension/shared/protocol.gen';
import { floats, wholes } from '../../base/base64';
import { said } from '../../base/l10n';

export interface Curves {
  readonly x0: number;
  readonly x1: number;
  readonly columns: number;
  readonly extent: { readonly x0: number; readonly x1: number };
  /** The most within each column; NaN where the run has not begun or is over. */
  readonly mine: Float64Array;
  readonly other: Float64Array;
  /** The least likewise. */
  readonly leastMine: Float64Array;
  readonly leastOther: Float64Array;
  readonly moments: Uint32Array;
  readonly top: number;
  readonly steps: CurvesAnswer['steps'];
}

export function curvesOf(answer: CurvesAnswer): Curves {
  const { x0, x1, columns, extent, steps } = answer;
  return {
    x0,
    x1,
    columns,
    extent,
    steps,
    mine: floats(answer.highest),
    other: floats(answer.other_highest),
    leastMine: floats(answer.lowest),
    leastOther: floats(answer.other_lowest),
    moments: wholes(answer.moments),
    top: Math.max(answer.peak_bytes, answer.other_peak_bytes, 1) * 1.08,
  };
}

/** The column at a place of the axis; null outside of what was asked for. */
export function columnAt(curves: Curves, x: number): number | null {
  const column = Math.floor(((x - curves.x0) / (curves.x1 - curves.x0)) * curves.columns);
  return column >= 0 && column < curves.columns ? column : null;
}

/** How high a run was within a column. */
export interface Height {
  readonly most: number;
  /** It was less at times. */
  readonly varies: boolean;
}

/** Both heights at a place, null where there is none. */
export function heightsAt(curves: Curves, x: number): { mine: Height | null; other: Height | null } {
  const column = columnAt(curves, x);
  return {
    mine: known(curves.mine, curves.leastMine, column),
    other: known(curves.other, curves.leastOther, column),
  };
}

/** The step that a place lies in: the last that began before it. */
export function stepAt(curves: Curves, x: number): string | null {
  const step = curves.steps.filter((each) => each.x <= x).at(-1);
  return step ? said(step.name) : null;
}

/** Keeps a range within an extent, with its width where that fits. */
export function within(
  range: { x0: number; x1: number },
  extent: { x0: number; x1: number },
  least: number,
): { x0: number; x1: number } {
  const width = Math.min(Math.max(range.x1 - range.x0, least), extent.x1 - extent.x0);
  const middle = (range.x0 + range.x1) / 2;
  const x0 = Math.min(Math.max(middle - width / 2, extent.x0), extent.x1 - width);
  return { x0, x1: x0 + width };
}

function known(highest: Float64Array, lowest: Float64Array, column: number | null): Height | null {
  const most = column === null ? undefined : highest[column];
  if (column === null || most === undefined || Number.isNaN(most)) return null;
  return { most, varies: lowest[column] !== most };
}
