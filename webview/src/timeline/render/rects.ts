/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// Rects as the renderers take them.

import { MERGED_BIT, type Geometry } from '../../../../extension/shared/geometry';
import { leadersOf } from '../scene/leaders';

/** In a rect's third word: this rect is where its band begins, so a line stands at its left edge. */
export const STARTS_BIT = 0x40000000;
export const BAND_MASK = 0x3fffffff;

/** The rects' words with STARTS_BIT set on the leftmost rect of every band. */
export function markStarts(g: Geometry): Uint32Array {
  const words = g.words.slice();
  const leaders = leadersOf(g);
  const first = new Int32Array(g.bands).fill(-1);
  for (let rect = 0; rect < g.rects; rect++) {
    const band = g.words[3 * rect + 2]!;
    if (band >= MERGED_BIT) {
      // The number of allocations is not drawn; where its colour is takes its place.
      words[3 * rect + 2] = (MERGED_BIT | (g.bands + leaders.ofRect[rect]!)) >>> 0;
      continue;
    }
    const known = first[band]!;
    if (known < 0 || g.edges[6 * rect]! < g.edges[6 * known]!) first[band] = rect;
  }
  for (const rect of first) {
    // A band that begins at the picture's edge began before it.
    if (rect >= 0 && g.edges[6 * rect]! > 0) words[3 * rect + 2]! |= STARTS_BIT;
  }
  return words;
}
