// What draws a picture. It has two implementations: WebGL2, and a software one for Canvas2D.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import type { PictureStyle } from '../../canvas/palette';

/** A picture with its bands' colours (`paintBands`). */
export interface Painted {
  readonly geometry: Geometry;
  readonly colours: Uint32Array;
}

export interface Renderer {
  readonly kind: 'webgl2' | 'canvas2d';
  readonly canvas: HTMLCanvasElement;
  /** The picture to draw, and the coarse one of the whole run that is shown where the first has nothing. */
  setPictures(picture: Painted | null, whole: Painted | null): void;
  setStyle(style: PictureStyle): void;
  resize(plot: PlotSize): void;
  /** `resting`: the camera has come to rest, so work that is too slow for a moving picture may be done. */
  draw(camera: Camera, resting: boolean): void;
  /** A pixel of what `draw` would show for this camera. */
  readPixel(camera: Camera, x: number, y: number): [number, number, number, number];
  dispose(): void;
}

/** Bands at least this high, and wide, in device pixels, get a line at their upper and left edge. */
export const SEPARATED_HEIGHT = 4;
export const SEPARATED_WIDTH = 5;
/** Parts of a band that are smaller in both directions have no lines: on a slope these would be noise. */
export const OUTLINED_SIZE = 24;
