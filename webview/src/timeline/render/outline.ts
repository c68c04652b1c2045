/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// The outline of a band, which is a stair of rects.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import { pixelBox } from '../scene/hit';

/** A band's rects from left to right. */
export function rectsOf(g: Geometry, allocation: number): number[] {
  const band = g.allocation.indexOf(allocation);
  if (band < 0) return [];
  const rects: number[] = [];
  for (let rect = 0; rect < g.rects; rect++) if (g.words[3 * rect + 2] === band) rects.push(rect);
  return rects.sort((a, b) => g.edges[6 * a]! - g.edges[6 * b]!);
}

/** Closed paths, in device pixels: along the upper edges to the right, and back along the lower ones. */
export function outlinePaths(
  g: Geometry,
  camera: Camera,
  plot: PlotSize,
  rects: readonly number[],
): number[][] {
  const paths: number[][] = [];
  let upper: number[] = [];
  let lower: number[] = [];
  let end = NaN;
  const close = (): void => {
    if (upper.length === 0) return;
    for (let i = lower.length - 2; i >= 0; i -= 2) upper.push(lower[i]!, lower[i + 1]!);
    paths.push(upper);
    upper = [];
    lower = [];
  };
  for (const rect of rects) {
    const box = pixelBox(g, camera, plot, rect);
    if (box.x + box.width < -4 || box.x > plot.width + 4) continue;
    if (g.edges[6 * rect]! !== end) close();
    end = g.edges[6 * rect + 1]!;
    upper.push(box.x, box.y, box.x + box.width, box.y);
    lower.push(box.x, box.y + box.height, box.x + box.width, box.y + box.height);
  }
  close();
  return paths;
}
