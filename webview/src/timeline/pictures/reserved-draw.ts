// Draws reserved memory with what lies under it: each kind of memory is a part of the one that it is drawn on.

import { t } from '../../base/l10n';
import { toPixelX, toPixelY, type Camera, type PlotSize } from '../../canvas/camera';
import { css, mix, type Rgb } from '../../canvas/colour';
import type { Theme } from '../../canvas/theme';
import type { Kind, ReservedColumns } from './reserved-data';

export const NAMES: Record<Kind, string> = {
  reserved: t('Reserved'),
  active: t('Active (with pending frees)'),
  allocated: t('Allocated (with rounding)'),
  requested: t('Requested'),
  fitting: t('Requested by what matches the filter'),
};

/** Mostly of the same hue, so that they read as parts of one another; distinguished by lightness, and by edges in high contrast. */
export function coloursOf(theme: Theme): Record<Kind, Rgb> {
  const { background, foreground, accent, warning } = theme;
  return {
    reserved: mix(background, foreground, theme.contrast ? 0.35 : 0.22),
    active: mix(background, warning, theme.contrast ? 1 : 0.85),
    allocated: mix(background, accent, theme.contrast ? 0.7 : 0.5),
    requested: mix(background, accent, theme.contrast ? 1 : 0.85),
    fitting: mix(background, foreground, theme.contrast ? 1 : 0.9),
  };
}

export interface ReservedScene {
  readonly data: ReservedColumns;
  readonly camera: Camera;
  readonly plot: PlotSize;
  readonly theme: Theme;
}

/** Fills up to the least of each column in full and up to the most lighter, so that spikes within a pixel are seen. */
export function drawReserved(context: CanvasRenderingContext2D, scene: ReservedScene): void {
  const { plot, theme } = scene;
  context.fillStyle = css(theme.background);
  context.fillRect(0, 0, plot.width, plot.height);
  const colours = coloursOf(theme);
  for (const { kind, highest, lowest } of scene.data.kinds) {
    const colour = colours[kind];
    context.fillStyle = css(mix(theme.background, colour, 0.6));
    area(context, scene, highest);
    context.fillStyle = css(colour);
    area(context, scene, lowest);
    context.strokeStyle = theme.contrast ? css(theme.foreground) : css(colour);
    context.lineWidth = theme.contrast ? 2 : 1;
    edge(context, scene, highest);
  }
}

function area(context: CanvasRenderingContext2D, scene: ReservedScene, values: Float64Array): void {
  const { camera, plot } = scene;
  context.beginPath();
  const base = toPixelY(camera, plot, 0);
  steps(scene, values, (x0, x1, y) => context.rect(x0, y, x1 - x0, base - y));
  context.fill();
}

function edge(context: CanvasRenderingContext2D, scene: ReservedScene, values: Float64Array): void {
  context.beginPath();
  let begun = false;
  steps(scene, values, (x0, x1, y) => {
    if (begun) context.lineTo(x0, y);
    else context.moveTo(x0, y);
    context.lineTo(x1, y);
    begun = true;
  });
  context.stroke();
}

/** Each column as a step in whole pixels, rounded from its place, so that steps neither overlap nor leave gaps. */
function steps(
  { data, camera, plot }: ReservedScene,
  values: Float64Array,
  step: (x0: number, x1: number, y: number) => void,
): void {
  const xOf = (column: number): number =>
    Math.round(toPixelX(camera, plot, data.x0 + (column / data.columns) * (data.x1 - data.x0)));
  let x0 = xOf(0);
  values.forEach((value, column) => {
    const x1 = xOf(column + 1);
    if (x1 > x0 && x1 >= 0 && x0 <= plot.width) step(x0, x1, Math.round(toPixelY(camera, plot, value)));
    x0 = x1;
  });
}
