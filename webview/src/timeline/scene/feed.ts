// Keeps the picture up to date: one request under way, and only what is wanted now after it.

import { signal } from '@preact/signals';
import { decodeGeometry, type Geometry } from '../../../../extension/shared/geometry';
import type { ViewResult } from '../../../../extension/shared/messages';
import type { Pending } from '../../base/request';
import type { Camera, Extent, PlotSize } from '../../canvas/camera';
import { isUseful, needsPicture, sameAsked, type PictureRequest } from './fetch';

const BUSY_AFTER_MS = 400;

export class Feed {
  private asked: PictureRequest | null = null;
  private current: { asked: PictureRequest; pending: Pending<ViewResult<'memlens/viewport'>> } | null = null;
  private refused: PictureRequest | null = null;
  private busyTimer: ReturnType<typeof setTimeout> | undefined;
  /** Whether something is under way that takes long enough to be shown as busy. */
  readonly busy = signal(false);

  constructor(
    private readonly ask: (request: PictureRequest) => Pending<ViewResult<'memlens/viewport'>>,
    private readonly deliver: (geometry: Geometry, asked: PictureRequest) => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Whether a picture is under way. */
  get asking(): boolean {
    return this.current !== null;
  }

  /** Asks if the picture that is there does not serve this view. Called every frame. */
  update(camera: Camera, extent: Extent, plot: PlotSize, want: PictureRequest, resting: boolean): void {
    if (this.current) {
      if (sameAsked(this.current.asked, want) && isUseful(this.current.asked, camera)) return;
      this.current.pending.cancel();
      this.settle();
    }
    // What leads the merged rects depends on it too, so it is asked for again once nothing is highlighted.
    const unchanged = this.asked !== null && sameAsked(this.asked, want);
    if (unchanged && !needsPicture(this.asked, camera, extent, plot, resting)) return;
    // Failed requests are not retried until the view changes.
    if (this.refused && same(this.refused, want)) return;
    this.send(want);
  }

  /** Another device or axis: nothing that was asked before is of use. */
  reset(): void {
    this.current?.pending.cancel();
    this.settle();
    this.asked = null;
    this.refused = null;
  }

  private send(asked: PictureRequest): void {
    const pending = this.ask(asked);
    const current = { asked, pending };
    this.current = current;
    this.busyTimer = setTimeout(() => {
      this.busy.value = true;
    }, BUSY_AFTER_MS);
    pending.answer.then(
      ({ geometry: packed, areas }) => {
        if (this.current !== current) return;
        this.settle();
        try {
          const geometry = decodeGeometry(packed, asked.areas && { by: asked.areas, areas });
          this.asked = asked;
          this.refused = null;
          this.deliver(geometry, asked);
        } catch (error) {
          this.refused = asked;
          this.failed(error);
        }
      },
      (error: unknown) => {
        if (this.current !== current) return;
        this.settle();
        this.refused = asked;
        this.failed(error);
      },
    );
  }

  private settle(): void {
    clearTimeout(this.busyTimer);
    this.current = null;
    this.busy.value = false;
  }
}

function same(a: PictureRequest, b: PictureRequest): boolean {
  return (
    a.x0 === b.x0 &&
    a.x1 === b.x1 &&
    a.y0 === b.y0 &&
    a.y1 === b.y1 &&
    a.columns === b.columns &&
    a.rows === b.rows &&
    sameAsked(a, b)
  );
}
