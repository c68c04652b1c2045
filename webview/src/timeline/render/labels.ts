/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// Names on the bands that have room for them.

import { MERGED_BIT, NO_ALLOCATION, type Geometry } from '../../../../extension/shared/geometry';
import { shorten } from '../../base/text';
import { cut, pixelBox, type PixelBox } from '../scene/hit';
import type { Camera, PlotSize } from '../../canvas/camera';

export interface LabelSpot {
  readonly band: number;
  readonly rect: number;
}

const MOST_SPOTS = 400;

/** The largest rect of each of the largest bands: where a label may go, found once for a picture. */
export function labelSpots(g: Geometry): LabelSpot[] {
  const best = new Int32Array(g.bands).fill(-1);
  const area = new Float64Array(g.bands);
  for (let rect = 0, at = 0; rect < g.rects; rect++, at += 6) {
    const band = g.words[3 * rect + 2]!;
    if (band >= MERGED_BIT || g.allocation[band] === NO_ALLOCATION) continue;
    const size = (g.edges[at + 1]! - g.edges[at]!) * (g.edges[at + 3]! - g.edges[at + 2]!);
    if (size <= area[band]!) continue;
    area[band] = size;
    best[band] = rect;
  }
  const bands = Array.from(best.keys()).filter((band) => best[band]! >= 0);
  bands.sort((a, b) => area[b]! - area[a]!);
  return bands.slice(0, MOST_SPOTS).map((band) => ({ band, rect: best[band]! }));
}

/** The room for a label on the screen now, or null when there is too little. */
export function labelRoom(
  g: Geometry,
  { camera, plot }: { readonly camera: Camera; readonly plot: PlotSize },
  spot: LabelSpot,
  least: PlotSize,
): PixelBox | null {
  const box = cut(pixelBox(g, camera, plot, spot.rect), plot);
  return box && box.width >= least.width && box.height >= least.height ? box : null;
}

/** More letters than any picture has room for. */
const MOST_LETTERS = 240;

/** The first of some texts, the best first, that fits; nothing in it reorders its letters. */
export function fitText(
  texts: readonly string[],
  width: number,
  measure: (text: string) => number,
): string | null {
  for (const text of texts) {
    const shown = shorten(text, MOST_LETTERS);
    if (measure(shown) <= width) return shown;
  }
  return null;
}
