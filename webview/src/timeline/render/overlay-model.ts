// What the overlay shows for a view: ticks, texts and colours, gathered from the plot's state.

import type { DeviceInfo } from '../../../../extension/shared/protocol.gen';
import type { Geometry } from '../../../../extension/shared/geometry';
import { mostOf } from '../scene/backdrop';
import { fromPixelX, fromPixelY, type Camera, type PlotSize } from '../../canvas/camera';
import { inkOn, mix, type Rgb } from '../../canvas/colour';
import { bandColour, isHighlighted, type Highlight } from '../scene/paint';
import type { Palette } from '../../canvas/palette';
import { peakAt } from '../state';
import type { Axis } from '../../base/devices';
import { byteTicks, eventTicks, timeTicks, type Ticks } from '../../canvas/ticks';
import { bytes, count, time } from '../../base/format';
import { t } from '../../base/l10n';
import type { Theme } from '../../canvas/theme';
import { areaColours, OTHER } from '../scene/areas';
import { areaLabels } from './area-labels';
import type { LabelSpot } from './labels';
import type { OverlayModel } from './model';

export interface OverlayState {
  readonly camera: Camera;
  readonly plot: PlotSize;
  readonly scale: number;
  readonly gutter: { readonly left: number; readonly bottom: number };
  readonly device: DeviceInfo;
  readonly axis: Axis;
  /** Where heights are not bytes from the bottom on: ticks, a height in words, and that the peak has none. */
  readonly ticksY?: ((camera: Camera, plot: PlotSize, scale: number) => Ticks) | undefined;
  readonly textY?: ((y: number) => string) | undefined;
  readonly peakAtHeight?: boolean | undefined;
  readonly theme: Theme;
  readonly palette: Palette;
  readonly highlight: Highlight;
  readonly picture: Geometry | null;
  /** Areas stand on each other; else each of their allocations lies where it is. */
  readonly stacked: boolean;
  readonly labels: readonly LabelSpot[];
  readonly selectedRects: readonly number[];
  readonly selectedLife: { readonly x0: number; readonly x1: number } | null;
  readonly cursor: { readonly x: number; readonly y: number } | null;
  readonly marks: OverlayModel['marks'];
  readonly flags: OverlayModel['flags'];
  readonly backdrop: OverlayModel['backdrop'];
  readonly box: OverlayModel['box'];
}

/** CSS pixels that a tick's label needs around it. */
const TICK_ROOM = { x: 110, y: 56 };

export function overlayModel(
  state: OverlayState,
  textsOf: (geometry: Geometry, band: number) => readonly string[],
): OverlayModel {
  const { device, axis, picture, camera, plot, scale, cursor } = state;
  const x = peakAt(device, axis);
  return {
    ...state,
    xTicks: ticksX(state),
    yTicks:
      state.ticksY?.(camera, plot, scale) ??
      byteTicks(camera.y0, camera.y1, Math.max(2, plot.height / scale / TICK_ROOM.y)),
    areaLabels:
      picture?.grouped && state.stacked
        ? areaLabels(picture, picture.grouped, camera, plot, scale).map((label) => ({
            ...label,
            ink: inkOfArea(state, picture.grouped?.areas[label.area]?.key ?? OTHER, label.area),
          }))
        : [],
    areaInks: picture?.grouped ? areaColours(picture.grouped, state.palette).map(inkOn) : [],
    textsOf: (band) => (picture ? textsOf(picture, band) : []),
    inkUnder: (band) => inkUnder(state, band),
    peak:
      x === null
        ? null
        : {
            x,
            bytes: state.peakAtHeight === false ? null : device.peak_bytes,
            text: peakText(state),
          },
    cursor: cursor && { ...cursor, ...cursorTexts(state, cursor) },
  };
}

/** With a filter or changes also what the peak is without them. */
function peakText({ device, backdrop }: OverlayState): string {
  const whole = backdrop.whole && mostOf(backdrop.whole, { x0: -Infinity, x1: Infinity });
  const peak = bytes(device.peak_bytes);
  if (whole === null) return t('Peak {0}', peak);
  return backdrop.changed
    ? t('Peak {0}, recorded {1}', peak, bytes(whole))
    : t('Peak {0} of {1}', peak, bytes(Math.max(whole, device.peak_bytes)));
}

/** Events are counted from the second on: one alone, as that of the snapshot, makes no axis. */
export function ticksX({
  device,
  axis,
  camera,
  plot,
  scale,
}: Pick<OverlayState, 'device' | 'axis' | 'camera' | 'plot' | 'scale'>): Ticks {
  if (device.events === 0 || (device.events === 1 && axis === 'event')) return { ticks: [], base: null };
  const wanted = Math.max(2, plot.width / scale / TICK_ROOM.x);
  return axis === 'time' ? timeTicks(camera.x0, camera.x1, wanted) : eventTicks(camera.x0, camera.x1, wanted);
}

function inkUnder({ picture, palette, theme, highlight }: OverlayState, band: number): Rgb {
  if (!picture) return theme.foreground;
  if (!isHighlighted(picture, band, highlight)) return mix(theme.foreground, theme.background, 0.45);
  return inkOn(bandColour(picture, band, palette));
}

function inkOfArea(
  { picture, palette, theme, highlight }: OverlayState,
  key: number,
  area: number,
): Rgb | null {
  if (!picture?.grouped) return theme.foreground;
  // of a group or of stacks any part of an area may be highlighted, whatever lies under its label
  if (theme.contrast || (highlight.kind !== 'none' && highlight.kind !== 'area')) return null;
  if (highlight.kind === 'area' && highlight.key !== key) {
    return mix(theme.foreground, theme.background, 0.45);
  }
  return inkOn(areaColours(picture.grouped, palette)[area] ?? palette.none);
}

function cursorTexts(
  { camera, plot, scale, axis, device, textY }: OverlayState,
  cursor: { x: number; y: number },
): { textX: string; textY: string } {
  const x = fromPixelX(camera, plot, cursor.x * scale);
  const y = fromPixelY(camera, plot, cursor.y * scale);
  const event = device.events === 0 ? '' : `event ${count(Math.floor(x))}`;
  return { textX: axis === 'time' ? time(x) : event, textY: textY?.(y) ?? bytes(Math.max(0, y)) };
}
