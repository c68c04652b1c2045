// A small curve of a few figures, from nothing to their largest.

import type { VNode } from 'preact';

const WIDTH = 72;
const HEIGHT = 16;

/** The curve's points as SVG takes them: evenly apart, the largest at the top, 0 at the bottom. */
export function curve(points: readonly number[]): string {
  const top = Math.max(...points, 1);
  const each = points.length > 1 ? (WIDTH - 2) / (points.length - 1) : 0;
  return points
    .map(
      (value, at) =>
        `${(1 + at * each).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`,
    )
    .join(' ');
}

/** Its meaning stands beside it in words, so screen readers skip it. */
export function Sparkline({ points }: { readonly points: readonly number[] }): VNode {
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={curve(points)} />
    </svg>
  );
}
