// The renderer where there is no WebGL2. Pixels are made by `rasterise` when the camera rests; while it moves, the
// last pixels are moved and stretched, as the other renderer does with the last answer.

import type { Camera, PlotSize } from '../../canvas/camera';
import { placementOf, snap } from '../scene/place';
import { rasterise } from './raster';
import { markStarts } from './rects';
import type { Painted, Renderer } from './renderer';
import type { PictureStyle } from '../../canvas/palette';
import { css } from '../../canvas/colour';

/** Pixels made beyond each edge of the view, as a share of it, so that small moves show no empty rim. */
const RIM = 0.25;
/** How far pixels that were made may be off those of the plot: what doubles round. */
const SLACK_PX = 0.01;

interface Layer {
  readonly painted: Painted;
  readonly words: Uint32Array;
  readonly image: OffscreenCanvas;
  /** What the image shows; null before it was made. */
  camera: Camera | null;
}

export class Canvas2dRenderer implements Renderer {
  readonly kind = 'canvas2d';
  private readonly context: CanvasRenderingContext2D;
  private picture: Layer | null = null;
  private whole: Layer | null = null;
  private style: PictureStyle | null = null;
  private plot: PlotSize = { width: 1, height: 1 };

  constructor(readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext('2d', { alpha: false });
    if (!context) throw new Error('This canvas has neither WebGL2 nor 2D drawing.');
    this.context = context;
  }

  setPictures(picture: Painted | null, whole: Painted | null): void {
    this.picture = layer(this.picture, picture);
    this.whole = layer(this.whole, whole);
  }

  setStyle(style: PictureStyle): void {
    this.style = style;
    this.forget();
  }

  resize(plot: PlotSize): void {
    this.plot = plot;
    this.canvas.width = plot.width;
    this.canvas.height = plot.height;
    this.forget();
  }

  draw(camera: Camera, resting: boolean): void {
    const { context, style, plot } = this;
    if (!style) return;
    context.fillStyle = css(style.background);
    context.fillRect(0, 0, plot.width, plot.height);
    context.imageSmoothingEnabled = false;
    if (this.whole && !(this.picture && reaches(this.picture, camera))) {
      this.drawLayer(this.whole, camera, resting, style);
      if (this.picture) this.clearUnder(this.picture, camera);
    }
    if (this.picture) this.drawLayer(this.picture, camera, resting, style);
  }

  readPixel(camera: Camera, x: number, y: number): [number, number, number, number] {
    this.draw(camera, true);
    const [r = 0, g = 0, b = 0, a = 0] = this.context.getImageData(Math.floor(x), Math.floor(y), 1, 1).data;
    return [r, g, b, a];
  }

  dispose(): void {
    this.setPictures(null, null);
  }

  /** Takes away what lies where a picture knows better. */
  private clearUnder({ painted: { geometry } }: Layer, camera: Camera): void {
    const place = placementOf(geometry, camera, this.plot);
    const left = snap(0, place.scaleX, place.offsetX);
    const right = snap(geometry.columns, place.scaleX, place.offsetX);
    const low = snap(0, place.scaleY, place.offsetY);
    const high = snap((geometry.y1 - geometry.y0) / geometry.yQuantum, place.scaleY, place.offsetY);
    this.context.fillRect(left, this.plot.height - high, right - left, high - low);
  }

  private forget(): void {
    for (const each of [this.picture, this.whole]) if (each) each.camera = null;
  }

  private drawLayer(each: Layer, camera: Camera, resting: boolean, style: PictureStyle): void {
    if (!each.camera || !within(camera, each, resting) || (resting && !fits(each, camera, this.plot)))
      this.make(each, camera, style);
    const box = boxOf(each, camera, this.plot);
    if (!box) return;
    // Unscaled, the image is put at whole pixels, or it would blur.
    const [x = 0, right = 0, y = 0, bottom = 0] = box.map(Math.round);
    this.context.drawImage(each.image, x, y, right - x, bottom - y);
  }

  private make(each: Layer, camera: Camera, style: PictureStyle): void {
    const { geometry } = each.painted;
    const perX = (camera.x1 - camera.x0) / this.plot.width;
    const perY = (camera.y1 - camera.y0) / this.plot.height;
    const rimX = rim(this.plot.width);
    const rimY = rim(this.plot.height);
    const size = { width: this.plot.width + 2 * rimX, height: this.plot.height + 2 * rimY };
    const wide: Camera = {
      x0: camera.x0 - rimX * perX,
      x1: camera.x1 + rimX * perX,
      y0: camera.y0 - rimY * perY,
      y1: camera.y1 + rimY * perY,
    };
    const data = new ImageData(size.width, size.height);
    const pixels = new Uint32Array(data.data.buffer);
    const rects = { words: each.words, colours: each.painted.colours };
    rasterise({ pixels, size }, rects, placementOf(geometry, wide, size), style);
    each.image.width = size.width;
    each.image.height = size.height;
    each.image.getContext('2d')?.putImageData(data, 0, 0);
    each.camera = wide;
  }
}

function layer(old: Layer | null, painted: Painted | null): Layer | null {
  if (!painted) return null;
  if (old?.painted.geometry === painted.geometry) {
    const same = old.painted.colours === painted.colours;
    return { ...old, painted, camera: same ? old.camera : null };
  }
  return { painted, words: markStarts(painted.geometry), image: new OffscreenCanvas(1, 1), camera: null };
}

/** A multiple of every hatch's period, so that hatches stand where the other renderer has them. */
function rim(pixels: number): number {
  return Math.round((pixels * RIM) / 24) * 24;
}

/** Where the made pixels lie in the plot: left, right, top and bottom, in pixels; null before there are any. */
function boxOf({ camera: made }: Layer, camera: Camera, plot: PlotSize): readonly number[] | null {
  if (!made) return null;
  const perX = plot.width / (camera.x1 - camera.x0);
  const perY = plot.height / (camera.y1 - camera.y0);
  return [
    (made.x0 - camera.x0) * perX,
    (made.x1 - camera.x0) * perX,
    plot.height - (made.y1 - camera.y0) * perY,
    plot.height - (made.y0 - camera.y0) * perY,
  ];
}

/**
 * Whether each of the made pixels is one of the plot's, so that what is thinner than one is drawn where the pointer
 * finds it.
 */
function fits(each: Layer, camera: Camera, plot: PlotSize): boolean {
  const box = boxOf(each, camera, plot);
  if (!box) return false;
  const [left = 0, right = 0, top = 0, bottom = 0] = box;
  const { width, height } = each.image;
  return [left - Math.round(left), right - left - width, top - Math.round(top), bottom - top - height].every(
    (off) => Math.abs(off) < SLACK_PX,
  );
}

/** Whether the made pixels still reach over the view (or over all that the picture has). */
function within(camera: Camera, each: Layer, resting: boolean): boolean {
  const made = each.camera;
  if (!made) return false;
  if (!resting) return true;
  return made.x0 <= camera.x0 && made.x1 >= camera.x1 && made.y0 <= camera.y0 && made.y1 >= camera.y1;
}

function reaches(each: Layer, camera: Camera): boolean {
  const g = each.painted.geometry;
  return g.x0 <= camera.x0 && g.x1 >= camera.x1 && g.y0 <= camera.y0 && g.y1 >= camera.y1;
}
