// Where a picture over time looks, and how it gets there: glides, and a height that follows what is in view.

import { signal } from '@preact/signals';
import type { Geometry } from '../../../extension/shared/geometry';
import {
  between,
  clampCamera,
  fitAll,
  fromPixelX,
  fromPixelY,
  sameCamera,
  type Camera,
  type Extent,
  type PlotSize,
} from '../canvas/camera';
import { fittedHeight } from './scene/height';

const GLIDE_MS = 170;
/** A height that is off by no more needs no other. */
const ROUGHLY = 0.01;

interface Glide {
  readonly from: Camera;
  readonly to: Camera;
  start: number | null;
}

export class PlotCamera {
  /** Another object whenever it looks elsewhere. */
  readonly seen = signal<Camera>({ x0: 0, x1: 1, y0: 0, y1: 1 });
  extent: Extent = { x0: 0, x1: 1, top: 1, minWidth: 1, minHeight: 1 };
  /** While it is on its way, to be moved on in each frame. */
  readonly glide = signal<Glide | null>(null);
  /** Zooming in time leaves the height as it is: by the user's choice, or since a height was chosen by hand. */
  private holds = false;
  private byHand = false;
  private readonly reducedMotion = matchMedia('(prefers-reduced-motion: reduce)');

  constructor(
    /** What is known of how high the memory is. */
    private readonly pictures: () => readonly Geometry[],
    /** Whether its height is what is live, so that it can be fitted to a part of the run. */
    private readonly fitsHeight: boolean,
  ) {}

  get view(): Camera {
    return this.seen.peek();
  }

  /** Where it will be when it stands still. */
  get target(): Camera {
    return this.glide.peek()?.to ?? this.view;
  }

  get glides(): boolean {
    return this.glide.peek() !== null;
  }

  get holdsHeight(): boolean {
    return this.holds;
  }

  /** Whether the height follows from the part of the run in view. */
  get followsHeight(): boolean {
    return this.fitsHeight && !this.holds && !this.byHand;
  }

  /** Stands in another world, at a place of it or before all of it. */
  stand(extent: Extent, at: Camera | null): void {
    this.extent = extent;
    this.seen.value = at ? clampCamera(at, extent) : fitAll(extent);
    this.byHand = this.view.y0 > 0;
    this.glide.value = null;
  }

  setHold(holds: boolean): void {
    this.holds = holds;
    this.byHand = false;
    if (!holds) this.moveTo(this.target, true);
  }

  moveTo(camera: Camera, glide: boolean): void {
    const to = this.fitted(clampCamera(camera, this.extent));
    if (glide && !this.reducedMotion.matches) {
      this.glide.value = { from: this.view, to, start: null };
      return;
    }
    this.glide.value = null;
    if (!sameCamera(to, this.view)) this.seen.value = to;
  }

  /** Another picture knows better how high the memory is that is in view. */
  fitHeight(): void {
    if (this.glides) return;
    const { y1 } = this.fitted(this.view);
    if (Math.abs(y1 - this.view.y1) > ROUGHLY * this.view.y1) this.moveTo(this.view, true);
  }

  /** Moves on to where it is at a time of a frame. */
  advance(now: number): void {
    const glide = this.glide.peek();
    if (!glide) return;
    glide.start ??= now;
    const share = Math.min((now - glide.start) / GLIDE_MS, 1);
    if (share >= 1) this.glide.value = null;
    this.seen.value = between(glide.from, glide.to, 1 - (1 - share) ** 3);
  }

  /** Data coordinates of a point in the plot's pixels. */
  dataAt(plot: PlotSize, x: number, y: number): { x: number; y: number } {
    return { x: fromPixelX(this.view, plot, x), y: fromPixelY(this.view, plot, y) };
  }

  /** A camera as high as what it shows, unless its height was chosen. */
  private fitted(to: Camera): Camera {
    const { target, extent } = this;
    if (!this.fitsHeight) return to;
    const everything = to.y0 <= 0 && to.y1 >= extent.top;
    if (everything) this.byHand = false;
    else if (!sameHeight(to, target) && !sameHeight(to, this.view)) this.byHand = true;
    if (this.holds || this.byHand) return to;
    const y1 = fittedHeight(this.pictures(), to, extent);
    return y1 === null ? to : { ...to, y0: 0, y1 };
  }
}

/** Zooming about a point leaves heights as they are up to rounding. */
function sameHeight(a: Camera, b: Camera): boolean {
  const slack = (b.y1 - b.y0) * 1e-6;
  return Math.abs(a.y0 - b.y0) <= slack && Math.abs(a.y1 - b.y1) <= slack;
}
