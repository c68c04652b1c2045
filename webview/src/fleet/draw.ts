// Draws the rows of a fleet's heat map that are in view.

import { visible } from '../base/text';
import { css, mix, type Rgb } from '../canvas/colour';
import { theme, type Theme } from '../canvas/theme';
import type { Chart } from '../widgets/chart';
import { labelsWidth, LEAST_NAMED, LEVELS, level, type Heat } from './layout';

export function ramp(theme: Theme): readonly Rgb[] {
  const low = mix(theme.background, theme.foreground, 0.08);
  const middle = theme.contrast ? mix(theme.background, theme.foreground, 0.55) : theme.accent;
  const high = mix(theme.accent, theme.foreground, theme.contrast ? 1 : 0.75);
  return Array.from({ length: LEVELS }, (_, step) => {
    const share = step / (LEVELS - 1);
    return share < 0.6 ? mix(low, middle, share / 0.6) : mix(middle, high, (share - 0.6) / 0.4);
  });
}

export interface Scene {
  readonly heat: Heat;
  readonly order: readonly number[];
  readonly from: number;
  readonly to: number;
  readonly each: number;
  /** How far the view is scrolled down. */
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** The marked row's place in the order, and its column. */
  readonly marked: number;
  readonly column: number;
}

export class Drawing {
  private readonly cells = document.createElement('canvas');

  draw(chart: Chart, scene: Scene): void {
    const { heat, order, from, to, each, top, width, height } = scene;
    const context = chart.begin();
    if (!context) return;
    const look = theme.value;
    context.fillStyle = css(look.background);
    context.fillRect(0, 0, width, height);
    if (to <= from) return;
    const y0 = from * each - top;
    const labels = labelsWidth(each);
    if (heat.map.columns > 0) {
      this.fill(scene, ramp(look));
      context.imageSmoothingEnabled = false;
      context.drawImage(this.cells, labels, y0, width - labels, (to - from) * each);
    }
    context.font = `11px ${look.font}`;
    context.textBaseline = 'middle';
    for (let place = from; place < to; place++) {
      const row = heat.map.rows[order[place] ?? 0];
      if (!row) continue;
      const y = place * each - top;
      if (each >= 8) {
        // a gap between rows, so that each can be followed
        context.fillStyle = css(look.background);
        context.fillRect(labels, y + each - 1, width - labels, 1);
      }
      const flagged = row.outlier || row.ooms > 0 || row.status !== 'ok';
      if (flagged) {
        context.fillStyle = css(look.warning);
        context.fillRect(labels - 6, y, 4, Math.max(each - 1, 1));
      }
      if (each >= LEAST_NAMED) {
        context.fillStyle = css(row.status === 'ok' ? look.foreground : look.muted);
        context.fillText(fitted(context, row.name, labels - 22), 10, y + each / 2);
      }
    }
    this.mark(context, scene, look);
  }

  private mark(context: CanvasRenderingContext2D, scene: Scene, look: Theme): void {
    const { heat, from, to, each, top, width, marked, column } = scene;
    if (marked < from || marked >= to) return;
    const y = marked * each - top;
    context.strokeStyle = css(look.focus);
    context.lineWidth = 2;
    context.strokeRect(1, y, width - 2, Math.max(each - 1, 2));
    if (column < 0 || heat.map.columns === 0) return;
    const labels = labelsWidth(each);
    const one = (width - labels) / heat.map.columns;
    context.strokeStyle = css(look.foreground);
    context.strokeRect(labels + column * one, y - 1, Math.max(one, 3), Math.max(each + 1, 4));
  }

  private fill({ heat, order, from, to }: Scene, colours: readonly Rgb[]): void {
    const { columns } = heat.map;
    const { cells } = this;
    cells.width = columns;
    cells.height = to - from;
    const context = cells.getContext('2d');
    if (!context) return;
    const image = context.createImageData(columns, to - from);
    for (let place = from; place < to; place++) {
      const row = order[place] ?? 0;
      for (let column = 0; column < columns; column++) {
        const value = heat.values[row * columns + column] ?? Number.NaN;
        if (Number.isNaN(value)) continue; // nothing was recorded: the background
        const colour = colours[level(value, heat.highest)] ?? [0, 0, 0];
        image.data.set([...colour, 255], ((place - from) * columns + column) * 4);
      }
    }
    context.putImageData(image, 0, 0);
  }
}

/** The end of a name, which is what differs, where the whole has no room. */
function fitted(context: CanvasRenderingContext2D, anyName: string, width: number): string {
  const name = visible(anyName);
  if (context.measureText(name).width <= width) return name;
  let from = 1;
  while (from < name.length && context.measureText(`…${name.slice(from)}`).width > width) from++;
  return `…${name.slice(from)}`;
}
