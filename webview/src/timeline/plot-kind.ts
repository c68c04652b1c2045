// What a picture of bands asks of its owner, and in what such pictures differ.

import type { Geometry } from '../../../extension/shared/geometry';
import type { ViewResult } from '../../../extension/shared/messages';
import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import type { Camera, Extent } from '../canvas/camera';
import { deviceExtent } from './state';
import type { Axis } from '../base/devices';
import type { OverlayModel } from './render/model';
import type { OverlayState } from './render/overlay-model';
import type { PictureRequest } from './scene/fetch';

export interface PlotEvents {
  ask(request: PictureRequest): Pending<ViewResult<'memlens/viewport'>>;
  /** The camera stands elsewhere; called once a frame at most. */
  moved(camera: Camera): void;
  /** A new picture is on the screen. */
  drawn(geometry: Geometry): void;
  failed(error: unknown): void;
  busy(busy: boolean): void;
  /** Another renderer took over. */
  rendererChanged(): void;
  /** What a band may be called, the best first. */
  textsOf(geometry: Geometry, band: number): readonly string[];
}

/** What is different in a picture that is not the stack of what is live. */
export interface PlotKind extends Pick<OverlayState, 'ticksY' | 'textY' | 'peakAtHeight'> {
  /** Its canvas' id. */
  readonly canvas: string;
  /** What it is to a screen reader. */
  readonly role: string;
  /** Whether its height is what is live, so that it can be fitted to a part of the run. */
  readonly fitsHeight: boolean;
  readonly extent: (device: DeviceInfo, axis: Axis) => Extent;
  /** More lines and words over the bands. */
  readonly decorate?: (context: CanvasRenderingContext2D, model: OverlayModel) => void;
}

export const STACKED: PlotKind = {
  canvas: 'memlens-canvas',
  role: 'memory timeline',
  extent: deviceExtent,
  fitsHeight: true,
};
