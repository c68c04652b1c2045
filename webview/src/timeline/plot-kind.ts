// In what pictures of bands differ.

import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Extent } from '../canvas/camera';
import { deviceExtent } from './state';
import type { Axis } from '../base/devices';
import type { OverlayModel } from './render/model';
import type { OverlayState } from './render/overlay-model';

/** What is different in a picture that is not the stack of what is live. */
export interface PlotKind extends Pick<OverlayState, 'ticksY' | 'textY' | 'peakAtHeight'> {
  /** What is asked for it. */
  readonly method: 'memlens/viewport' | 'memlens/memoryMap';
  /** Whether it is drawn with the changes of a replay: these have no addresses. */
  readonly filter: 'filter' | 'filterAsIf';
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
  method: 'memlens/viewport',
  filter: 'filterAsIf',
  canvas: 'memlens-canvas',
  role: 'memory timeline',
  extent: deviceExtent,
  fitsHeight: true,
};
