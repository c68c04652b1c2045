// The whole run in a strip, with the view as a window that can be dragged and resized.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { OverviewAnswer } from '../../../extension/shared/protocol.gen';
import { floats } from '../base/base64';
import type { Curve, Flag } from '../canvas/marks';
import { clampCamera, type Camera, type Extent } from '../canvas/camera';
import { css } from '../canvas/colour';
import { theme, type Theme } from '../canvas/theme';
import { Chart, pointIn } from '../widgets/chart';
import { Island } from '../widgets/island';

interface Overview {
  readonly columns: number;
  readonly top: number;
  readonly highest: Float64Array;
  readonly lowest: Float64Array;
}

type Grip = 'window' | 'start' | 'end';

/** Where the window lies, in CSS pixels. */
interface WindowPlace {
  readonly left: number;
  readonly width: number;
  /** What lies after it. */
  readonly after: number;
  /** It shows all of the run, or has no room for grips. */
  readonly class: string;
}

const LEAST_WINDOW_PX = 8;
const GRIPS_FROM_PX = 24;

export class Minimap {
  readonly hidden = signal(false);
  private readonly chart: Chart;
  private overview: Overview | null = null;
  private flags: readonly Flag[] = [];
  /** What was live without the filter; null without one. */
  private whole: Curve | null = null;
  private camera: Camera = { x0: 0, x1: 1, y0: 0, y1: 1 };
  private extent: Extent = { x0: 0, x1: 1, top: 1, minWidth: 1, minHeight: 1 };
  private readonly window = signal<WindowPlace>({ left: 0, width: 0, after: 0, class: '' });

  constructor(private readonly move: (camera: Camera, glide: boolean) => void) {
    this.chart = new Chart({
      class: 'minimap-strip',
      Over: () => <Shades window={this.window.value} />,
      draw: () => this.draw(),
      resized: () => this.placeWindow(),
    });
    this.chart.surface.addEventListener('pointerdown', (event) => {
      this.press(event);
    });
  }

  /** Everything that it does has a key on the plot, so it is not another stop for Tab. */
  readonly View = (): VNode => (
    <div class="minimap" aria-hidden="true" hidden={this.hidden.value}>
      <Island of={this.chart.surface} />
    </div>
  );

  /** Columns worth asking for. */
  get columns(): number {
    return Math.min(2048, Math.max(64, Math.round(this.width * devicePixelRatio)));
  }

  private get width(): number {
    return this.chart.surface.clientWidth;
  }

  setOverview(answer: OverviewAnswer | null): void {
    this.overview = answer && {
      columns: answer.columns,
      top: Math.max(answer.peak_bytes, 1),
      highest: floats(answer.highest),
      lowest: floats(answer.lowest),
    };
    this.chart.request();
  }

  /** What was live without the filter, shown behind what matches it, at one scale. */
  setWhole(whole: Curve | null): void {
    if (whole === this.whole) return;
    this.whole = whole;
    this.chart.request();
  }

  /** The events that are marked. */
  setFlags(flags: readonly Flag[]): void {
    this.flags = flags;
    this.chart.request();
  }

  setCamera(camera: Camera, extent: Extent): void {
    const moved = extent.x0 !== this.extent.x0 || extent.x1 !== this.extent.x1;
    this.camera = camera;
    this.extent = extent;
    if (moved) this.chart.request();
    this.placeWindow();
  }

  dispose(): void {
    this.chart.dispose();
  }

  private draw(): void {
    const { overview, chart } = this;
    const context = chart.begin(0, 'screen');
    if (!context || !overview) return;
    const { width, height } = chart.size;
    const { scale } = chart;
    const look = theme.value;
    const most = this.whole?.highest.reduce((a, b) => Math.max(a, b), 0) ?? 0;
    const top = Math.max(overview.top, most);
    const area = (values: Float64Array, alpha: number, colour = look.accent): void => {
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
    if (this.whole) area(this.whole.highest, look.contrast ? 0.4 : 0.22, look.foreground);
    area(overview.highest, look.contrast ? 0.75 : 0.45);
    area(overview.lowest, look.contrast ? 1 : 0.35);
    this.drawBookmarks(context, look);
    this.drawOoms(context, look);
  }

  /** A ribbon for each, from above. */
  private drawBookmarks(context: CanvasRenderingContext2D, look: Theme): void {
    const { scale, size } = this.chart;
    const { x0, x1 } = this.extent;
    context.fillStyle = css(look.foreground);
    for (const { x, kind } of this.flags) {
      if (kind !== 'bookmark') continue;
      const at = ((x - x0) / (x1 - x0)) * size.width;
      context.fillRect(at - 2 * scale, 0, 4 * scale, Math.min(9 * scale, size.height));
    }
  }

  /** Out-of-memory events: a line with a head, so that it is recognised without its colour. */
  private drawOoms(context: CanvasRenderingContext2D, look: Theme): void {
    const { scale, size } = this.chart;
    const { width, height } = size;
    const { x0, x1 } = this.extent;
    context.fillStyle = css(look.warning);
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
    const { width, camera, extent } = this;
    const span = extent.x1 - extent.x0;
    const x0 = ((camera.x0 - extent.x0) / span) * width;
    const x1 = ((camera.x1 - extent.x0) / span) * width;
    const whole = x0 < 0.5 && x1 > width - 0.5;
    // Never too narrow to be seen and dragged.
    const wide = Math.max(x1 - x0, LEAST_WINDOW_PX);
    const left = Math.min(Math.max(x0 - (wide - (x1 - x0)) / 2, 0), width - wide);
    this.window.value = {
      left,
      width: wide,
      after: Math.max(width - left - wide, 0),
      class: `${whole ? ' whole' : ''}${x1 - x0 < GRIPS_FROM_PX ? ' narrow' : ''}`,
    };
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    event.preventDefault();
    const grip = gripAt(event.target);
    const { surface } = this.chart;
    const dataPerPixel = (this.extent.x1 - this.extent.x0) / Math.max(this.width, 1);
    let from = this.camera;
    const startX = event.clientX;
    if (!grip) {
      const at = this.extent.x0 + pointIn(surface, event).x * dataPerPixel;
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
    surface.setPointerCapture(event.pointerId);
    surface.addEventListener('pointermove', moved);
    const done = (): void => surface.removeEventListener('pointermove', moved);
    surface.addEventListener('pointerup', done, { once: true });
    surface.addEventListener('pointercancel', done, { once: true });
  }
}

function Shades({ window: { left, width, after, class: more } }: { readonly window: WindowPlace }): VNode {
  return (
    <>
      <div class="minimap-shade" style={{ width: `${left}px` }} />
      <div class="minimap-shade" style={{ width: `${after}px` }} />
      <div
        class={`minimap-window${more}`}
        style={{ transform: `translateX(${left}px)`, width: `${width}px` }}
      >
        <div class="minimap-grip start" />
        <div class="minimap-grip end" />
      </div>
    </>
  );
}

function gripAt(target: Element): Grip | null {
  if (target.closest('.minimap-window.whole'))
    return target.closest('.start') ? 'start' : target.closest('.end') ? 'end' : null;
  if (target.closest('.start')) return 'start';
  if (target.closest('.end')) return 'end';
  return target.closest('.minimap-window') ? 'window' : null;
}
