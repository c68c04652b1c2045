// What moves a picture over time by the pointer, whatever it shows.

import { fitBox, zoomAt, type Camera, type Extent, type PlotSize } from '../canvas/camera';
import type { PointerActions } from './pointer';

/** A box thinner than this zooms the other axis only. */
const THIN_BOX = 8;

/** A picture of a part of the run, in which one can move about. */
export interface LookedAt {
  readonly camera: Camera;
  readonly bounds: Extent;
  readonly plotSize: PlotSize;
  readonly pixelRatio: number;
  /** Its height isn't the user's to move. */
  readonly followsHeight: boolean;
  /** Data coordinates of a point of the surface, in CSS pixels. */
  dataAt(x: number, y: number): { x: number; y: number };
  momentAt(x: number): number | null;
  moveTo(camera: Camera, glide: boolean): void;
  setBox(box: { x0: number; y0: number; x1: number; y1: number } | null): void;
}

/** `spanned` gets the moments that were marked. */
export function movements(
  plot: LookedAt,
  spanned: (from: number, to: number) => void,
): Pick<PointerActions, 'drag' | 'wheel' | 'pinch' | 'box' | 'span' | 'boxDone'> {
  return {
    drag: (dx, dy) => {
      const c = plot.camera;
      const x = (-dx * plot.pixelRatio * (c.x1 - c.x0)) / plot.plotSize.width;
      // a height that follows from the part of the run in view isn't moved as well
      const up = plot.followsHeight ? 0 : dy;
      const y = (up * plot.pixelRatio * (c.y1 - c.y0)) / plot.plotSize.height;
      plot.moveTo({ x0: c.x0 + x, x1: c.x1 + x, y0: c.y0 + y, y1: c.y1 + y }, false);
    },
    wheel: (at, turn) => {
      const c = zoomAt(plot.camera, plot.bounds, plot.dataAt(at.x, at.y), turn.zoomX, turn.zoomY);
      const x = (turn.panX * plot.pixelRatio * (c.x1 - c.x0)) / plot.plotSize.width;
      plot.moveTo({ ...c, x0: c.x0 + x, x1: c.x1 + x }, false);
    },
    pinch: (at, factor) =>
      plot.moveTo(zoomAt(plot.camera, plot.bounds, plot.dataAt(at.x, at.y), factor, 1), false),
    box: (from, to) => plot.setBox(to && { x0: from.x, y0: from.y, x1: to.x, y1: to.y }),
    span: (from, to, done) => {
      const height = plot.plotSize.height / plot.pixelRatio;
      plot.setBox(done ? null : { x0: from.x, y0: -1, x1: to.x, y1: height + 1 });
      if (!done) return;
      const [a, b] = [plot.momentAt(plot.dataAt(from.x, 0).x), plot.momentAt(plot.dataAt(to.x, 0).x)];
      if (a !== null && b !== null) spanned(Math.min(a, b), Math.max(a, b));
    },
    boxDone: (from, to) => {
      plot.setBox(null);
      const a = plot.dataAt(Math.min(from.x, to.x), Math.max(from.y, to.y));
      const b = plot.dataAt(Math.max(from.x, to.x), Math.min(from.y, to.y));
      const c = plot.camera;
      const x = Math.abs(to.x - from.x) < THIN_BOX ? { x0: c.x0, x1: c.x1 } : { x0: a.x, x1: b.x };
      const y = Math.abs(to.y - from.y) < THIN_BOX ? { y0: c.y0, y1: c.y1 } : { y0: a.y, y1: b.y };
      plot.moveTo(fitBox({ ...x, ...y }, plot.bounds, 0), true);
    },
  };
}
