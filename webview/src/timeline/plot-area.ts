// Where a picture over time is drawn: the chart's surface, the gutters of the axes beside it, and over both the overlay that
// axes, cursors and marks are drawn on.

import { pixelRatio } from '../canvas/sharp';
import { Chart, type ChartParts } from '../widgets/chart';
import { element } from '../widgets/dom';
import type { PixelBox } from './scene/hit';

/** CSS pixels that the axes' labels have. */
const GUTTER = { left: 78, bottom: 22 };

export class PlotArea extends Chart {
  readonly overlay = element('canvas', { class: 'plot-overlay', attributes: { 'aria-hidden': 'true' } });
  gutter = GUTTER;

  constructor(
    { class: more, ...parts }: Omit<ChartParts, 'role' | 'within'>,
    readonly root = element('div', { class: `plot ${more}` }),
  ) {
    super({ ...parts, class: 'plot-surface', role: 'application', within: root });
    root.append(this.surface, this.overlay);
  }

  protected override measure(): boolean {
    const scale = pixelRatio();
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
    place(this.overlay, { x, y, width: all.width / scale, height: all.height / scale });
    place(this.surface, { x: x + left / scale, y, width: width / scale, height: height / scale });
    if (!this.resize({ width, height }, scale)) return false;
    this.gutter = { left: left / scale, bottom: GUTTER.bottom };
    [this.overlay.width, this.overlay.height] = [all.width, all.height];
    return true;
  }
}

/** CSS pixels from a coordinate to the next whole device pixel. */
function rest(at: number, scale: number): number {
  const pixels = at * scale;
  return (Math.ceil(pixels - 1e-6) - pixels) / scale;
}

function place({ style }: HTMLElement, { x, y, width, height }: PixelBox): void {
  style.left = `${x}px`;
  style.top = `${y}px`;
  style.width = `${width}px`;
  style.height = `${height}px`;
}
