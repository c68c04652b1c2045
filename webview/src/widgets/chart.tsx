// What every picture that is drawn by hand stands on: an element that has the focus, the pointer and a name, canvases over
// all of it in the screen's own pixels, and a frame whenever its size, the theme or what it shows is another.

import { render, type ComponentType } from 'preact';
import type { PlotSize } from '../canvas/camera';
import { FrameLoop } from '../canvas/frames';
import { pixelRatio, pixelsOf, sharp, sized } from '../canvas/sharp';
import { theme } from '../canvas/theme';
import { element, setLabel } from './dom';

export interface ChartParts {
  /** The classes of its element. */
  readonly class: string;
  /** What it is to screen readers; without a role it is no stop of Tab, and they skip it. */
  readonly role?: 'application' | 'img';
  /** What it shows, or what one calls such a picture. */
  readonly label?: string;
  readonly roleDescription?: string;
  /** How many canvases lie on each other. */
  readonly layers?: number;
  /** What stands over the canvases. */
  readonly Over?: ComponentType;
  /** What it is laid out in, where that is larger than its own element. */
  readonly within?: HTMLElement;
  readonly draw: (now: number) => void;
  /** It has another size, in which the next frame is drawn. */
  readonly resized?: () => void;
}

export class Chart {
  readonly surface: HTMLElement;
  readonly frames: FrameLoop;
  /** In the screen's pixels, of which there are so many for each of CSS. */
  size: PlotSize = { width: 0, height: 0 };
  scale = 1;
  private readonly layers: HTMLCanvasElement[] = [];
  private readonly observer: ResizeObserver;
  private readonly unfollow: () => void;

  constructor(parts: ChartParts) {
    const { role, label, roleDescription, layers = 1, Over, within, draw, resized } = parts;
    this.surface = element('div', { class: `chart ${parts.class}`, ...(role ? { role, tabIndex: 0 } : {}) });
    if (layers > 0)
      render(
        <>
          {Array.from({ length: layers }, (_, at) => (
            <canvas
              key={at}
              aria-hidden="true"
              ref={(canvas) => {
                if (canvas) this.layers[at] = canvas;
              }}
            />
          ))}
          {Over && <Over />}
        </>,
        this.surface,
      );
    if (label !== undefined) setLabel(this.surface, label);
    if (roleDescription !== undefined) this.surface.setAttribute('aria-roledescription', roleDescription);
    this.frames = new FrameLoop(draw);
    this.observer = new ResizeObserver(() => {
      if (!this.measure()) return;
      resized?.();
      this.request();
    });
    // This box changes with the pixels, so also when the window goes to a denser screen.
    this.observer.observe(within ?? this.surface, { box: 'device-pixel-content-box' });
    this.unfollow = theme.subscribe(() => this.request());
  }

  /** Has it drawn in the next frame. */
  readonly request = (): void => this.frames.request();

  /** A cleared layer to draw on in pixels of CSS, or of the screen; null where there is no room. */
  begin(layer = 0, unit: 'css' | 'screen' = 'css'): CanvasRenderingContext2D | null {
    const canvas = this.layers[layer];
    return canvas ? sharp(canvas, this.size, unit === 'css' ? this.scale : 1) : null;
  }

  /** A layer as it was drawn, unless its size is another; null where there is no room. */
  layer(layer: number): HTMLCanvasElement | null {
    const canvas = this.layers[layer];
    return canvas && sized(canvas, this.size) ? canvas : null;
  }

  /** Renames it. */
  setLabel(label: string): void {
    setLabel(this.surface, label);
  }

  focus(): void {
    this.surface.focus({ preventScroll: true });
  }

  dispose(): void {
    this.frames.stop();
    this.observer.disconnect();
    this.unfollow();
  }

  /** Whether it has another size than before. */
  protected measure(): boolean {
    return this.resize(pixelsOf(this.surface), pixelRatio());
  }

  /** Takes a size unless there is no room; whether it is another. */
  protected resize(size: PlotSize, scale: number): boolean {
    const { width, height } = size;
    if (width < 1 || height < 1) return false;
    if (width === this.size.width && height === this.size.height && scale === this.scale) return false;
    [this.size, this.scale] = [size, scale];
    return true;
  }
}

/** Where an element has the pointer, in pixels of CSS from its corner. */
export function pointIn(surface: Element, event: MouseEvent): { x: number; y: number } {
  const { left, top } = surface.getBoundingClientRect();
  return { x: event.clientX - left, y: event.clientY - top };
}
