// Which part of a flame graph is seen: shares of the whole from left to right, and rows from the root on.

export interface FlameCamera {
  /** Shares of the whole, within 0 and 1. */
  readonly x0: number;
  readonly x1: number;
  /** The depth that the first row of the view shows; a part of a row may be scrolled off. */
  readonly top: number;
}

export const WHOLE: FlameCamera = { x0: 0, x1: 1, top: 0 };

/** Below it a double's steps would be seen. */
const THINNEST = 1e-12;

/** The camera within the whole. */
export function bounded({ x0, x1, top }: FlameCamera, rows: number, deepest: number): FlameCamera {
  const width = Math.min(Math.max(x1 - x0, THINNEST), 1);
  const left = Math.min(Math.max(x0, 0), 1 - width);
  return { x0: left, x1: left + width, top: Math.min(Math.max(top, 0), Math.max(deepest + 1 - rows, 0)) };
}

/** Zooms by a factor (above 1: closer) around a share of the view's width. */
export function zoomed(camera: FlameCamera, at: number, factor: number): FlameCamera {
  const width = Math.min(Math.max((camera.x1 - camera.x0) / factor, THINNEST), 1);
  const x0 = camera.x0 + (camera.x1 - camera.x0 - width) * at;
  return { ...camera, x0, x1: x0 + width };
}

/** Moves by shares of the view's width and by rows. */
export function panned(camera: FlameCamera, by: number, rows: number): FlameCamera {
  const width = camera.x1 - camera.x0;
  const x0 = Math.min(Math.max(camera.x0 + by * width, 0), 1 - width);
  return { x0, x1: x0 + width, top: camera.top + rows };
}

export interface FlameRequest {
  readonly x0: number;
  readonly x1: number;
  readonly width_px: number;
  readonly first_depth: number;
  readonly rows: number;
}

const MOST_PX = 16_000;
const SPARE_ROWS = 24;

/** What to ask for, for a camera: as much again at both sides, so that small moves need no new answer. */
export function requestFor(camera: FlameCamera, widthPx: number, rows: number): FlameRequest {
  const width = camera.x1 - camera.x0;
  const x0 = Math.max(camera.x0 - width / 2, 0);
  const x1 = Math.min(camera.x1 + width / 2, 1);
  const first = Math.max(Math.floor(camera.top) - SPARE_ROWS, 0);
  return {
    x0,
    x1,
    width_px: Math.min(Math.max(Math.round((widthPx * (x1 - x0)) / width), 1), MOST_PX),
    first_depth: first,
    rows: Math.ceil(camera.top) + rows + SPARE_ROWS - first,
  };
}

/** Whether an answer to `asked` shows all that the camera sees, as finely as it could. */
export function covers(asked: FlameRequest, camera: FlameCamera, widthPx: number, rows: number): boolean {
  const scale = asked.width_px / (asked.x1 - asked.x0) / (widthPx / (camera.x1 - camera.x0));
  return (
    asked.x0 <= camera.x0 + 1e-15 &&
    asked.x1 >= camera.x1 - 1e-15 &&
    asked.first_depth <= camera.top &&
    asked.first_depth + asked.rows >= camera.top + rows &&
    Math.abs(scale - 1) < 1e-3
  );
}
