/* oxlint-disable typescript/no-non-null-assertion -- indices are below the number of columns */
// How high the memory is that a view shows.

import type { Geometry } from '../../../../extension/shared/geometry';
import { HEADROOM, withCapacity, type Camera, type Extent } from '../../canvas/camera';

/**
 * The upper edge of a view that is as high as what is live in its part of the run, by the first picture that has all of
 * it, else by what they have; null where they have nothing.
 */
export function fittedHeight(
  pictures: readonly Geometry[],
  camera: Pick<Camera, 'x0' | 'x1'>,
  extent: Extent,
): number | null {
  const slack = (camera.x1 - camera.x0) * 1e-3;
  const whole = pictures.find((g) => g.x0 <= camera.x0 + slack && g.x1 >= camera.x1 - slack);
  const most = (whole ? [whole] : pictures).map((g) => mostIn(g, camera));
  const highest = Math.max(-1, ...most);
  if (highest < 0) return null;
  const height = withCapacity(highest, extent.capacity ?? 0) * (1 + HEADROOM);
  return Math.min(Math.max(height, extent.minHeight), extent.top);
}

function mostIn(g: Geometry, { x0, x1 }: Pick<Camera, 'x0' | 'x1'>): number {
  const perColumn = (g.x1 - g.x0) / g.columns;
  const first = Math.max(0, Math.floor((x0 - g.x0) / perColumn + 1e-6));
  const last = Math.min(g.columns, Math.ceil((x1 - g.x0) / perColumn - 1e-6));
  let most = -1;
  for (let column = first; column < last; column++) most = Math.max(most, g.total[column]!);
  return most;
}
