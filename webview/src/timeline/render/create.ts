// Chooses a renderer and keeps one alive: a lost GPU context comes back, or Canvas2D takes over.

import { signal, type Signal } from '@preact/signals';
import { Canvas2dRenderer } from './canvas2d';
import type { Painted, Renderer } from './renderer';
import type { PictureStyle } from '../../canvas/palette';
import { WebGl2Renderer } from './webgl2';
import type { Camera, PlotSize } from '../../canvas/camera';

/** How long to wait for a lost context, and how often, before giving WebGL up. */
const PATIENCE_MS = 3000;
const LOSSES = 3;

/** `auto` takes WebGL2 where a GPU runs it. */
export type Preference = Renderer['kind'] | 'auto';

export class RendererHost implements Renderer {
  private readonly current: Signal<Renderer>;
  private pictures: [Painted | null, Painted | null] = [null, null];
  private style: PictureStyle | null = null;
  private plot: PlotSize = { width: 1, height: 1 };
  private losses = 0;
  private waiting: number | undefined;

  /** `changed` is called when what is on the canvas must be drawn again. */
  constructor(
    private readonly parent: HTMLElement,
    private readonly newCanvas: () => HTMLCanvasElement,
    private readonly changed: () => void,
    prefer: Preference,
  ) {
    this.current = signal(this.create(prefer));
  }

  private get inner(): Renderer {
    return this.current.value;
  }

  get kind(): Renderer['kind'] {
    return this.inner.kind;
  }

  get canvas(): HTMLCanvasElement {
    return this.inner.canvas;
  }

  setPictures(picture: Painted | null, whole: Painted | null): void {
    this.pictures = [picture, whole];
    this.inner.setPictures(picture, whole);
  }

  setStyle(style: PictureStyle): void {
    this.style = style;
    this.inner.setStyle(style);
  }

  resize(plot: PlotSize): void {
    this.plot = plot;
    this.inner.resize(plot);
  }

  draw(camera: Camera, resting: boolean): void {
    this.inner.draw(camera, resting);
  }

  readPixel(camera: Camera, x: number, y: number): [number, number, number, number] {
    return this.inner.readPixel(camera, x, y);
  }

  dispose(): void {
    clearTimeout(this.waiting);
    this.inner.dispose();
  }

  private create(prefer: Preference): Renderer {
    let canvas = this.newCanvas();
    this.parent.prepend(canvas);
    if (prefer !== 'canvas2d') {
      const gl = WebGl2Renderer.create(canvas, prefer === 'webgl2');
      if (gl) {
        this.watch(gl);
        return gl;
      }
      // A canvas that has been asked for WebGL may not give 2D any more.
      const fresh = this.newCanvas();
      canvas.replaceWith(fresh);
      canvas = fresh;
    }
    return new Canvas2dRenderer(canvas);
  }

  private watch(renderer: WebGl2Renderer): void {
    renderer.canvas.addEventListener('webglcontextlost', (event) => {
      event.preventDefault(); // says that we want it back
      this.losses++;
      if (this.losses >= LOSSES) this.fallBack(renderer);
      else {
        this.waiting = window.setTimeout(() => {
          this.fallBack(renderer);
        }, PATIENCE_MS);
      }
    });
    renderer.canvas.addEventListener('webglcontextrestored', () => {
      clearTimeout(this.waiting);
      if (this.inner !== renderer) return;
      try {
        renderer.restore();
        this.changed();
      } catch {
        this.fallBack(renderer);
      }
    });
  }

  private fallBack(renderer: WebGl2Renderer): void {
    if (this.inner !== renderer) return;
    clearTimeout(this.waiting);
    renderer.canvas.remove();
    this.current.value = this.create('canvas2d');
    this.inner.resize(this.plot);
    if (this.style) this.inner.setStyle(this.style);
    this.inner.setPictures(...this.pictures);
    this.changed();
  }
}
