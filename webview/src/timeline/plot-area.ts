// Where a picture over time is drawn: a surface with the focus, the keys and the pointer, the gutters of the axes beside
// it, and over both the overlay that axes, cursors and marks are drawn on.

import type { PlotSize } from '../canvas/camera';
import { element } from '../widgets/dom';

/** CSS pixels that the axes' labels have. */
const GUTTER = { left: 78, bottom: 22 };

export class PlotArea {
  readonly root: HTMLElement;
  /** Takes the focus and the pointer; the picture's canvas lies in it. */
  readonly surface: HTMLElement;
  readonly overlay = element('canvas', { class: 'plot-overlay', attributes: { 'aria-hidden': 'true' } });
  /** The surface, in device pixels. */
  size: PlotSize = { width: 0, height: 0 };
  scale = 1;
  gutter = GUTTER;
  private readonly observer: ResizeObserver;

  constructor(
    /** What it is, for screen readers. */
    role: string,
    resized: () => void,
  ) {
    this.surface = element('div', {
      ...{ class: 'plot-surface', tabIndex: 0, role: 'application' },
      attributes: { 'aria-roledescription': role },
    });
    this.root = element('div', { class: 'plot' }, this.surface, this.overlay);
    this.observer = new ResizeObserver(() => {
      if (this.measure()) resized();
    });
    // This box changes with the pixels, so also when the window goes to a denser screen.
    this.observer.observe(this.root, { box: 'device-pixel-content-box' });
  }

  dispose(): void {
    this.observer.disconnect();
  }

  /** Lays a canvas of as many pixels as the surface over all of it. */
  cover(canvas: HTMLCanvasElement): void {
    const { size, scale } = this;
    place(canvas, 0, 0, size.width / scale, size.height / scale);
  }

  /** Whether the surface is of another size than before. */
  private measure(): boolean {
    const scale = window.devicePixelRatio || 1;
    const box = this.root.getBoundingClientRect();
    // From whole device pixels to whole device pixels, or the compositor would blur every edge of the picture.
    const x = rest(box.left, scale);
    const y = rest(box.top, scale);
    const all = {
      width: Math.floor((box.width - x) * scale),
      height: Math.floor((box.height - y) * scale),
    };
    const left = Math.round(GUTTER.left * scale);
    const width = all.width - left;
    const height = all.height - Math.round(GUTTER.bottom * scale);
    if (width < 1 || height < 1) return false;
    place(this.overlay, x, y, all.width / scale, all.height / scale);
    place(this.surface, x + left / scale, y, width / scale, height / scale);
    if (width === this.size.width && height === this.size.height && scale === this.scale) return false;
    this.scale = scale;
    this.gutter = { left: left / scale, bottom: GUTTER.bottom };
    this.size = { width, height };
    [this.overlay.width, this.overlay.height] = [all.width, all.height];
    return true;
  }
}

/** CSS pixels from a coordinate to the next whole device pixel. */
function rest(at: number, scale: number): number {
  const pixels = at * scale;
  return (Math.ceil(pixels - 1e-6) - pixels) / scale;
}

function place(target: HTMLElement, left: number, top: number, width: number, height: number): void {
  target.style.left = `${left}px`;
  target.style.top = `${top}px`;
  target.style.width = `${width}px`;
  target.style.height = `${height}px`;
}
