// The whole run in a strip, with the view as a window that can be dragged and resized.

import type { OverviewAnswer } from '../../../extension/shared/protocol.gen';
import type { Curve } from '../timeline/scene/backdrop';
import { clampCamera, type Camera, type Extent } from '../canvas/camera';
import { css } from '../canvas/colour';
import { element } from './dom';
import type { Flag } from '../timeline/flags';
import type { Theme } from '../canvas/theme';

interface Overview {
  readonly columns: number;
  readonly top: number;
  readonly highest: Float64Array;
  readonly lowest: Float64Array;
}

type Grip = 'window' | 'start' | 'end';

export class Minimap {
  readonly root: HTMLElement;
  private readonly strip: HTMLElement;
  private readonly canvas = element('canvas', { attributes: { 'aria-hidden': 'true' } });
  private readonly window: HTMLElement;
  private readonly before = element('div', { class: 'minimap-shade' });
  private readonly after = element('div', { class: 'minimap-shade' });
  private overview: Overview | null = null;
  private flags: readonly Flag[] = [];
  /** What was live without the filter; null without one. */
  private whole: Curve | null = null;
  private theme: Theme | null = null;
  private camera: Camera = { x0: 0, x1: 1, y0: 0, y1: 1 };
  private extent: Extent = { x0: 0, x1: 1, top: 1, minWidth: 1, minHeight: 1 };
  private width = 0;

  constructor(private readonly move: (camera: Camera, glide: boolean) => void) {
    this.window = element(
      'div',
      { class: 'minimap-window' },
      element('div', { class: 'minimap-grip start' }),
      element('div', { class: 'minimap-grip end' }),
    );
    this.strip = element(
      'div',
      { class: 'minimap-strip' },
      this.canvas,
      this.before,
      this.after,
      this.window,
    );
    // Everything that it does has a key on the plot, so it is not another stop for Tab.
    this.root = element('div', { class: 'minimap', attributes: { 'aria-hidden': 'true' } }, this.strip);
    this.strip.addEventListener('pointerdown', (event) => {
      this.press(event);
    });
    new ResizeObserver(() => {
      this.draw();
      this.placeWindow();
    }).observe(this.strip);
  }

  /** Columns worth asking for. */
  get columns(): number {
    return Math.min(2048, Math.max(64, Math.round(this.strip.clientWidth * devicePixelRatio)));
  }

  setOverview(answer: OverviewAnswer | null): void {
    this.overview = answer && {
      columns: answer.columns,
      top: Math.max(answer.peak_bytes, 1),
      highest: floats(answer.highest),
      lowest: floats(answer.lowest),
    };
    this.draw();
  }

  /** What was live without the filter, shown behind what matches it, at one scale. */
  setWhole(whole: Curve | null): void {
    if (whole === this.whole) return;
    this.whole = whole;
    this.draw();
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    this.draw();
  }

  /** The events that are marked. */
  setFlags(flags: readonly Flag[]): void {
    this.flags = flags;
    this.draw();
  }

  setCamera(camera: Camera, extent: Extent): void {
    const moved = extent.x0 !== this.extent.x0 || extent.x1 !== this.extent.x1;
    this.camera = camera;
    this.extent = extent;
    if (moved) this.draw();
    this.placeWindow();
  }

  private draw(): void {
    const { overview, theme } = this;
    const scale = devicePixelRatio;
    const width = Math.round(this.strip.clientWidth * scale);
    const height = Math.round(this.strip.clientHeight * scale);
    const context = this.canvas.getContext('2d');
    if (!context || width === 0) return;
    this.canvas.width = width;
    this.canvas.height = height;
    if (!overview || !theme) return;
    const most = this.whole?.highest.reduce((a, b) => Math.max(a, b), 0) ?? 0;
    const top = Math.max(overview.top, most);
    const area = (values: Float64Array, alpha: number, colour = theme.accent): void => {
      context.fillStyle = css(colour, alpha);
      context.beginPath();
      context.moveTo(0, height);
      const each = width / values.length;
      values.forEach((value, i) => {
        const y = height - (value / top) * (height - 3 * scale);
        context.lineTo(i * each, y);
        context.lineTo((i + 1) * each, y);
      });
      context.lineTo(width, height);
      context.fill();
    };
    if (this.whole) area(this.whole.highest, theme.contrast ? 0.4 : 0.22, theme.foreground);
    area(overview.highest, theme.contrast ? 0.75 : 0.45);
    area(overview.lowest, theme.contrast ? 1 : 0.35);
    this.drawBookmarks(context, theme, width, height);
    this.drawOoms(context, theme, width, height);
  }

  /** A ribbon for each, from above. */
  private drawBookmarks(
    context: CanvasRenderingContext2D,
    theme: Theme,
    width: number,
    height: number,
  ): void {
    const scale = devicePixelRatio;
    const { x0, x1 } = this.extent;
    context.fillStyle = css(theme.foreground);
    for (const { x, kind } of this.flags) {
      if (kind !== 'bookmark') continue;
      const at = ((x - x0) / (x1 - x0)) * width;
      context.fillRect(at - 2 * scale, 0, 4 * scale, Math.min(9 * scale, height));
    }
  }

  /** Out-of-memory events: a line with a head, so that it is recognised without its colour. */
  private drawOoms(context: CanvasRenderingContext2D, theme: Theme, width: number, height: number): void {
    const scale = devicePixelRatio;
    const { x0, x1 } = this.extent;
    context.fillStyle = css(theme.warning);
    for (const { x, kind } of this.flags) {
      if (kind !== 'oom') continue;
      const at = Math.min(Math.max(((x - x0) / (x1 - x0)) * width, scale), width - scale);
      context.fillRect(at - scale, 0, 2 * scale, height);
      context.beginPath();
      context.moveTo(at - 5 * scale, 0);
      context.lineTo(at + 5 * scale, 0);
      context.lineTo(at, 7 * scale);
      context.fill();
    }
  }

  private placeWindow(): void {
    const span = this.extent.x1 - this.extent.x0;
    this.width = this.strip.clientWidth;
    const x0 = ((this.camera.x0 - this.extent.x0) / span) * this.width;
    const x1 = ((this.camera.x1 - this.extent.x0) / span) * this.width;
    const whole = x0 < 0.5 && x1 > this.width - 0.5;
    this.window.classList.toggle('whole', whole);
    this.window.classList.toggle('narrow', x1 - x0 < 24);
    // Never so narrow that it can't be found and held.
    const wide = Math.max(x1 - x0, 8);
    const left = Math.min(Math.max(x0 - (wide - (x1 - x0)) / 2, 0), this.width - wide);
    this.window.style.transform = `translateX(${left}px)`;
    this.window.style.width = `${wide}px`;
    this.before.style.width = `${left}px`;
    this.after.style.width = `${Math.max(this.width - left - wide, 0)}px`;
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    event.preventDefault();
    const grip = gripAt(event.target);
    const dataPerPixel = (this.extent.x1 - this.extent.x0) / Math.max(this.width, 1);
    let from = this.camera;
    const startX = event.clientX;
    if (!grip) {
      const at = this.extent.x0 + (event.clientX - this.strip.getBoundingClientRect().left) * dataPerPixel;
      const half = (from.x1 - from.x0) / 2;
      from = clampCamera({ ...from, x0: at - half, x1: at + half }, this.extent);
      this.move(from, true);
    }
    const start = from;
    const moved = (next: PointerEvent): void => {
      const dx = (next.clientX - startX) * dataPerPixel;
      const least = this.extent.minWidth;
      const x0 =
        grip === 'end' ? start.x0 : Math.min(start.x0 + dx, grip === 'start' ? start.x1 - least : Infinity);
      const x1 =
        grip === 'start' ? start.x1 : Math.max(start.x1 + dx, grip === 'end' ? start.x0 + least : -Infinity);
      const inside = { x0: Math.max(x0, this.extent.x0), x1: Math.min(x1, this.extent.x1) };
      this.move({ ...start, ...(grip === 'start' || grip === 'end' ? inside : { x0, x1 }) }, false);
    };
    this.strip.setPointerCapture(event.pointerId);
    this.strip.addEventListener('pointermove', moved);
    const done = (): void => {
      this.strip.removeEventListener('pointermove', moved);
    };
    this.strip.addEventListener('pointerup', done, { once: true });
    this.strip.addEventListener('pointercancel', done, { once: true });
  }
}

function gripAt(target: Element): Grip | null {
  if (target.closest('.minimap-window.whole'))
    return target.closest('.start') ? 'start' : target.closest('.end') ? 'end' : null;
  if (target.closest('.start')) return 'start';
  if (target.closest('.end')) return 'end';
  return target.closest('.minimap-window') ? 'window' : null;
}

/** base64 of little-endian float64s. */
export function floats(base64: string): Float64Array {
  const text = atob(base64);
  const raw = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return new Float64Array(raw.buffer, 0, Math.floor(raw.length / 8));
}
