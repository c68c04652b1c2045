// Where the view looks. All absolute coordinates are float64: times reach 1e12 microseconds.
//
// Data space: x in the axis' unit (microseconds or moments), y in bytes upwards.
// Plot space: device pixels of the plot, y downwards. The two meet in `toPixelX`, `toPixelY` and their inverses.

export interface Camera {
  readonly x0: number;
  readonly x1: number;
  readonly y0: number;
  readonly y1: number;
}

/** The data that a camera may look at, and how close it may come. */
export interface Extent {
  readonly x0: number;
  readonly x1: number;
  /** Height in bytes that is shown when everything fits; the peak and some air. */
  readonly top: number;
  readonly minWidth: number;
  readonly minHeight: number;
  /** What was reserved at the end, which is shown with what is almost as high. */
  readonly capacity?: number;
}

/** Size of the plot in device pixels. */
export interface PlotSize {
  readonly width: number;
  readonly height: number;
}

/** Air above the peak, as a share of the peak. */
export const HEADROOM = 0.08;
/** Closest zoom: this many microseconds or moments, and bytes (allocators hand out 512 at least). */
const CLOSEST = { time: 4, event: 4 };
const CLOSEST_BYTES = 256;

/** A capacity line is worth room for it up to this many times what is live. */
const CAPACITY_ROOM = 1.3;

/** A height, or that of the capacity line a little above it. */
export function withCapacity(height: number, capacity: number): number {
  return capacity > height && capacity <= CAPACITY_ROOM * height ? capacity : height;
}

export function extentOf(
  range: { x0: number; x1: number },
  peakBytes: number,
  axis: 'time' | 'event',
  capacity = 0,
): Extent {
  // A run of no length still is one picture: one unit wide.
  const x1 = range.x1 > range.x0 ? range.x1 : range.x0 + 1;
  const top = withCapacity(Math.max(peakBytes, 1), capacity) * (1 + HEADROOM);
  return {
    x0: range.x0,
    x1,
    top,
    minWidth: Math.min(CLOSEST[axis], x1 - range.x0),
    minHeight: Math.min(CLOSEST_BYTES, top),
    capacity,
  };
}

export function fitAll(extent: Extent): Camera {
  return { x0: extent.x0, x1: extent.x1, y0: 0, y1: extent.top };
}

/** The same view moved and scaled as little as needed to stay within the extent. */
export function clampCamera(camera: Camera, extent: Extent): Camera {
  const [x0, x1] = clampRange(camera.x0, camera.x1, extent.x0, extent.x1, extent.minWidth);
  const [y0, y1] = clampRange(camera.y0, camera.y1, 0, extent.top, extent.minHeight);
  return { x0, x1, y0, y1 };
}

function clampRange(from: number, to: number, low: number, high: number, least: number): [number, number] {
  if (!Number.isFinite(from) || !Number.isFinite(to)) return [low, high];
  const width = Math.min(Math.max(to - from, least), high - low);
  const middle = (from + to) / 2;
  // Keep the low end where the width is unchanged: panning must not creep by rounding.
  let start = width === to - from ? from : middle - width / 2;
  if (start + width > high) start = high - width;
  if (start < low) start = low;
  return [start, Math.min(start + width, high)];
}

/** Zooms about a point in data space; a factor below 1 comes closer. */
export function zoomAt(
  camera: Camera,
  extent: Extent,
  at: { x: number; y: number },
  fx: number,
  fy: number,
): Camera {
  // At its limit an axis stays put, instead of sliding.
  const kx = limited(fx, camera.x1 - camera.x0, extent.minWidth, extent.x1 - extent.x0);
  const ky = limited(fy, camera.y1 - camera.y0, extent.minHeight, extent.top);
  return clampCamera(
    {
      x0: at.x + (camera.x0 - at.x) * kx,
      x1: at.x + (camera.x1 - at.x) * kx,
      y0: at.y + (camera.y0 - at.y) * ky,
      y1: at.y + (camera.y1 - at.y) * ky,
    },
    extent,
  );
}

function limited(factor: number, span: number, least: number, most: number): number {
  return Math.min(Math.max(factor, least / span), most / span);
}

/** Moves by shares of the view: `dx` 0.5 is half a view to the right. */
export function panBy(camera: Camera, extent: Extent, dx: number, dy: number): Camera {
  const x = dx * (camera.x1 - camera.x0);
  const y = dy * (camera.y1 - camera.y0);
  return clampCamera({ x0: camera.x0 + x, x1: camera.x1 + x, y0: camera.y0 + y, y1: camera.y1 + y }, extent);
}

/** Shows a box with some air around it. */
export function fitBox(box: Camera, extent: Extent, air = 0.15): Camera {
  const ax = Math.max((box.x1 - box.x0) * air, 0);
  const ay = Math.max((box.y1 - box.y0) * air, 0);
  return clampCamera({ x0: box.x0 - ax, x1: box.x1 + ax, y0: box.y0 - ay, y1: box.y1 + ay }, extent);
}

/** A smooth way from one view to another: spans grow by equal factors, as when zooming by hand. */
export function between(a: Camera, b: Camera, t: number): Camera {
  const [x0, x1] = betweenRanges(a.x0, a.x1, b.x0, b.x1, t);
  const [y0, y1] = betweenRanges(a.y0, a.y1, b.y0, b.y1, t);
  return { x0, x1, y0, y1 };
}

function betweenRanges(a0: number, a1: number, b0: number, b1: number, t: number): [number, number] {
  if (t <= 0) return [a0, a1];
  if (t >= 1) return [b0, b1];
  const ratio = (b1 - b0) / (a1 - a0);
  if (!(ratio > 0) || Math.abs(ratio - 1) < 1e-6) return [a0 + (b0 - a0) * t, a1 + (b1 - a1) * t];
  // The point that both views show at the same place of the screen stays there all the way.
  const fixed = (b0 - a0 * ratio) / (1 - ratio);
  const scale = ratio ** t;
  return [fixed + (a0 - fixed) * scale, fixed + (a1 - fixed) * scale];
}

export function toPixelX(camera: Camera, plot: PlotSize, x: number): number {
  return ((x - camera.x0) / (camera.x1 - camera.x0)) * plot.width;
}

export function toPixelY(camera: Camera, plot: PlotSize, y: number): number {
  return plot.height - ((y - camera.y0) / (camera.y1 - camera.y0)) * plot.height;
}

export function fromPixelX(camera: Camera, plot: PlotSize, px: number): number {
  return camera.x0 + (px / plot.width) * (camera.x1 - camera.x0);
}

export function fromPixelY(camera: Camera, plot: PlotSize, py: number): number {
  return camera.y0 + ((plot.height - py) / plot.height) * (camera.y1 - camera.y0);
}

export function sameCamera(a: Camera, b: Camera): boolean {
  return a.x0 === b.x0 && a.x1 === b.x1 && a.y0 === b.y0 && a.y1 === b.y1;
}
