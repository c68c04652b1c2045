/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// Where the names of areas have room: a box that lies in the area all along.

import type { Geometry, Grouped } from '../../../../extension/shared/geometry';
import { areaName } from '../scene/areas';
import type { Camera, PlotSize } from '../../canvas/camera';
import { placementOf, snap } from '../scene/place';
import { bytes } from '../../base/format';

export interface AreaLabel {
  readonly area: number;
  /** The best first. */
  readonly texts: readonly string[];
  /** CSS pixels: the room for the label. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** CSS pixels that a label needs. */
const LEAST = { width: 56, height: 14 };
/** Columns that are looked at, and in how many parts of them room is looked for. */
const SAMPLES = 400;
const PARTS = 8;

/**
 * Room for each area that has any in what is in view. Its bytes follow its name where they are the same all along: those
 * of some moment would contradict the figures of the one that the legend names.
 */
export function areaLabels(
  g: Geometry,
  grouped: Grouped,
  camera: Camera,
  plot: PlotSize,
  scale: number,
): AreaLabel[] {
  const place = placementOf(g, camera, plot);
  const first = Math.max(0, Math.floor(-place.offsetX / place.scaleX));
  const last = Math.min(g.columns, Math.ceil((plot.width - place.offsetX) / place.scaleX));
  if (first >= last) return [];
  const perByte = plot.height / (camera.y1 - camera.y0);
  const groups = grouped.areas.length;
  const top = (sum: number): number => Math.min(Math.max((sum - camera.y0) * perByte, 0), plot.height);
  const step = Math.max(1, Math.ceil((last - first) / SAMPLES));
  const samples = Math.floor((last - first + step - 1) / step);
  const [low, high, sums] = [new Float64Array(samples), new Float64Array(samples), new Float64Array(samples)];
  const found: AreaLabel[] = [];
  for (let area = 0; area < groups; area++) {
    for (let i = 0; i < samples; i++) {
      low[i] = top(sums[i]!);
      sums[i]! += grouped.bytes[(first + i * step) * groups + area]!;
      high[i] = top(sums[i]!);
    }
    const box = roomiest(low, high, LEAST.height * scale);
    if (!box) continue;
    const x0 = Math.max(snap(first + box.from * step, place.scaleX, place.offsetX), 0);
    const x1 = Math.min(snap(first + box.to * step, place.scaleX, place.offsetX), plot.width);
    if (x1 - x0 < LEAST.width * scale) continue;
    const name = areaName(grouped.areas[area]!, grouped.by.by);
    const size = constantBytes(grouped, area, first, last);
    found.push({
      area,
      texts: size === null ? [name] : [`${name}  ${bytes(size)}`, name],
      x: x0 / scale,
      y: (plot.height - box.high) / scale,
      width: (x1 - x0) / scale,
      height: (box.high - box.low) / scale,
    });
  }
  return found;
}

/** What an area has in all of some columns; null where that differs. */
function constantBytes(
  { areas, bytes: of }: Grouped,
  area: number,
  first: number,
  last: number,
): number | null {
  const size = of[first * areas.length + area]!;
  for (let column = first + 1; column < last; column++)
    if (of[column * areas.length + area] !== size) return null;
  return size;
}

interface Box {
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly high: number;
}

/** The widest room of some height: looked for around the highest column of each of some parts. */
function roomiest(low: Float64Array, high: Float64Array, height: number): Box | null {
  let found: Box | null = null;
  const part = Math.max(1, Math.ceil(low.length / PARTS));
  for (let from = 0; from < low.length; from += part) {
    if (found && from + part <= found.to) continue;
    let best = from;
    for (let i = from; i < Math.min(from + part, low.length); i++)
      if (high[i]! - low[i]! > high[best]! - low[best]!) best = i;
    if (high[best]! - low[best]! < height) continue;
    const box = widened(low, high, best, height);
    if (!found || box.to - box.from > found.to - found.from) found = box;
  }
  return found;
}

/** The columns around one all along which an area leaves room of some height. */
function widened(low: Float64Array, high: Float64Array, at: number, height: number): Box {
  let box: Box = { from: at, to: at + 1, low: low[at]!, high: high[at]! };
  for (;;) {
    const left = reach(low, high, box, box.from - 1);
    const right = reach(low, high, box, box.to);
    // to the side on which more of the height is left
    const leftward = left !== null && (right === null || left.high - left.low >= right.high - right.low);
    const next = leftward ? left : right;
    if (!next || next.high - next.low < height) return box;
    box = { ...box, ...next, ...(leftward ? { from: box.from - 1 } : { to: box.to + 1 }) };
  }
}

function reach(
  low: Float64Array,
  high: Float64Array,
  box: { low: number; high: number },
  column: number,
): { low: number; high: number } | null {
  if (column < 0 || column >= low.length) return null;
  return { low: Math.max(box.low, low[column]!), high: Math.min(box.high, high[column]!) };
}
