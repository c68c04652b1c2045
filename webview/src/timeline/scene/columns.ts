/* oxlint-disable typescript/no-non-null-assertion -- indices are below the number of columns */
// Single columns of a picture.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Camera } from '../../canvas/camera';

/** The column at a place of the x axis; null beside the picture. */
export function columnAt(g: Geometry, x: number): number | null {
  const column = Math.floor(((x - g.x0) / (g.x1 - g.x0)) * g.columns);
  return column >= 0 && column < g.columns ? column : null;
}

/** The column of those in view with the most live bytes; null where none is in view. */
export function highestColumn(g: Geometry, { x0, x1 }: Pick<Camera, 'x0' | 'x1'>): number | null {
  const perColumn = (g.x1 - g.x0) / g.columns;
  let best: number | null = null;
  for (let column = 0; column < g.columns; column++) {
    const x = g.x0 + (column + 0.5) * perColumn;
    if (x < x0 || x > x1) continue;
    if (best === null || g.total[column]! > g.total[best]!) best = column;
  }
  return best;
}
