// When to ask the server for another picture, and for which part of the world.

import type { Branch, DeviceInfo, GroupedBy } from '../../../../extension/shared/protocol.gen';
import type { Camera, Extent, PlotSize } from '../../canvas/camera';
import type { Highlight } from './paint';

/** What a picture is to show, whatever part of the world it shows. Compared by reference. */
export interface Asked {
  /** What is highlighted: a branch of a tree table, or some stacks. */
  readonly highlighted: Branch | null;
  readonly highlighted_stacks: number[] | null;
  /** By what it is grouped; null in the order of time. */
  readonly areas: GroupedBy | null;
}

export const NOTHING_ASKED: Asked = { highlighted: null, highlighted_stacks: null, areas: null };

/** What a picture is to show highlighted. */
export function askedFor(
  shown: Highlight,
  areas: GroupedBy | null,
  device: Pick<DeviceInfo, 'device' | 'events'> | null,
): Asked {
  const ofCategory = (category: number): Branch => ({
    of: {
      ...({ device: device?.device ?? 0, kind: 'live', filter: '', value: null } as const),
      from_moment: 0,
      to_moment: device?.events ?? 0,
    },
    ...({ by: ['category'], path: [category], narrow: '', attribution: 'mine' } as const),
  });
  return {
    areas,
    highlighted:
      shown.kind === 'group'
        ? shown.branch
        : shown.kind === 'category' && areas
          ? ofCategory(shown.category)
          : null,
    highlighted_stacks: shown.kind === 'stacks' && areas ? [...shown.stacks] : null,
  };
}

export function sameAsked(a: Asked, b: Asked): boolean {
  return (
    a.highlighted === b.highlighted && a.highlighted_stacks === b.highlighted_stacks && a.areas === b.areas
  );
}

/** What is asked: pixels over bounds. */
export interface PictureRequest extends Asked {
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
  readonly columns: number;
  readonly rows: number;
}

/** Limits of the server's packed answer, and how far beyond the view it is worth asking. */
const MAX_COLUMNS = 4096;
const MAX_ROWS = 8192;
const PAD_X = 2;
const PAD_Y = 1.5;

/** The view and some room around it, at one column and one row to a device pixel of this view. */
export function requestFor(camera: Camera, extent: Extent, plot: PlotSize, asked: Asked): PictureRequest {
  const x = padded([camera.x0, camera.x1], [extent.x0, extent.x1], plot.width, {
    factor: PAD_X,
    limit: MAX_COLUMNS,
  });
  const y = padded([camera.y0, camera.y1], [0, extent.top], plot.height, { factor: PAD_Y, limit: MAX_ROWS });
  return { x0: x.from, x1: x.to, columns: x.pixels, y0: y.from, y1: y.to, rows: y.pixels, ...asked };
}

type Range = readonly [from: number, to: number];

function padded(
  [from, to]: Range,
  [low, high]: Range,
  pixels: number,
  { factor, limit }: { readonly factor: number; readonly limit: number },
): { from: number; to: number; pixels: number } {
  const perPixel = (to - from) / pixels;
  const room = Math.min(factor, Math.max(limit / pixels, 1)) - 1;
  const side = (room / 2) * (to - from);
  const start = Math.max(low, from - side);
  const end = Math.min(high, to + side);
  // Whole pixels of this view, so that a row or a column of the answer is exactly one of them.
  const count = Math.min(limit, Math.max(1, Math.round((end - start) / perPixel)));
  return { from: start, to: pixels > limit ? end : start + count * perPixel, pixels: count };
}

/**
 * Whether a picture made for `asked` no longer serves `camera`. While the view moves, the last picture is good until
 * the view leaves its bounds or its resolution is off by a power of two; once the view rests it must be exact.
 */
export function needsPicture(
  asked: PictureRequest | null,
  camera: Camera,
  extent: Extent,
  plot: PlotSize,
  resting: boolean,
): boolean {
  if (!asked) return true;
  if (!covers(asked, camera, plot)) return true;
  const want = requestFor(camera, extent, plot, NOTHING_ASKED);
  const factorX =
    spanPerPixel(asked.x0, asked.x1, asked.columns) / spanPerPixel(want.x0, want.x1, want.columns);
  const factorY = spanPerPixel(asked.y0, asked.y1, asked.rows) / spanPerPixel(want.y0, want.y1, want.rows);
  const slack = resting ? 1.005 : 2;
  return factorX > slack || factorX < 1 / slack || factorY > slack || factorY < 1 / slack;
}

/** Whether the answer to `asked` shows anything that `camera` looks at, so that waiting for it is worth while. */
export function isUseful(asked: PictureRequest, camera: Camera): boolean {
  const overlapX = Math.min(asked.x1, camera.x1) - Math.max(asked.x0, camera.x0);
  const overlapY = Math.min(asked.y1, camera.y1) - Math.max(asked.y0, camera.y0);
  const zoom = (asked.x1 - asked.x0) / (camera.x1 - camera.x0);
  return overlapX > (camera.x1 - camera.x0) / 2 && overlapY > 0 && zoom < 16 && zoom > 1 / 16;
}

export function covers(asked: PictureRequest, camera: Camera, plot: PlotSize): boolean {
  // A pixel of tolerance: bounds and views are rounded separately.
  const tx = (camera.x1 - camera.x0) / plot.width;
  const ty = (camera.y1 - camera.y0) / plot.height;
  return (
    asked.x0 <= camera.x0 + tx &&
    asked.x1 >= camera.x1 - tx &&
    asked.y0 <= camera.y0 + ty &&
    asked.y1 >= camera.y1 - ty
  );
}

function spanPerPixel(from: number, to: number, pixels: number): number {
  return (to - from) / pixels;
}
