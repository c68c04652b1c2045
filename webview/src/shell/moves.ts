// How keys and commands zoom and move a picture over time.

import { fitAll, panBy, zoomAt, type Camera, type Extent } from '../canvas/camera';
import type { Action } from './keys';

const ZOOM = 1.5;

const STEP = 0.15;

const FAR = 0.9;

type Factors = readonly [x: number, y: number];

/** By which factors an action zooms, or by which shares of the view it moves. */
const MOVES: Readonly<Partial<Record<Action, { readonly zoom?: Factors; readonly pan?: Factors }>>> = {
  zoomIn: { zoom: [1 / ZOOM, 1] },
  zoomOut: { zoom: [ZOOM, 1] },
  zoomInHeight: { zoom: [1, 1 / ZOOM] },
  zoomOutHeight: { zoom: [1, ZOOM] },
  left: { pan: [-STEP, 0] },
  right: { pan: [STEP, 0] },
  up: { pan: [0, STEP] },
  down: { pan: [0, -STEP] },
  farLeft: { pan: [-FAR, 0] },
  farRight: { pan: [FAR, 0] },
};

/** Whether an action zooms or moves a picture. */
export const movesCamera = (action: Action): boolean => action === 'fit' || action in MOVES;

interface Moved {
  /** Where its camera will be when it stands still. */
  readonly target: Camera;
  readonly bounds: Extent;
  moveTo(camera: Camera, glide: boolean): void;
}

/** Moves a picture's camera; false for an action that does something else. */
export function moveCamera(action: Action, plot: Moved): boolean {
  const zoom = (fx: number, fy: number): void => {
    const c = plot.target;
    plot.moveTo(
      zoomAt(c, plot.bounds, { x: (c.x0 + c.x1) / 2, y: fx === 1 ? c.y0 : (c.y0 + c.y1) / 2 }, fx, fy),
      true,
    );
  };
  const pan = (dx: number, dy: number): void => plot.moveTo(panBy(plot.target, plot.bounds, dx, dy), true);
  const { zoom: by, pan: far } = MOVES[action] ?? {};
  if (action === 'fit') plot.moveTo(fitAll(plot.bounds), true);
  else if (by) zoom(...by);
  else if (far) pan(...far);
  else return false;
  return true;
}
