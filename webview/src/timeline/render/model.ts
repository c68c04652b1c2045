// All that the canvas over the picture shows. Units are CSS pixels; `scale` is device pixels to one of them.

import type { Geometry } from '../../../../extension/shared/geometry';
import type { Camera, PlotSize } from '../../canvas/camera';
import type { Rgb } from '../../canvas/colour';
import type { Theme } from '../../canvas/theme';
import type { Ticks } from '../../canvas/ticks';
import type { Backdrop } from '../scene/backdrop';
import type { Flag, PickedMoment } from '../../canvas/marks';
import type { AreaLabel } from './area-labels';
import type { LabelSpot } from './labels';

export interface OverlayModel {
  readonly camera: Camera;
  readonly plot: PlotSize;
  readonly scale: number;
  readonly gutter: { readonly left: number; readonly bottom: number };
  readonly theme: Theme;
  readonly xTicks: Ticks;
  readonly yTicks: Ticks;
  readonly picture: Geometry | null;
  readonly stacked: boolean;
  readonly labels: readonly LabelSpot[];
  /** The names of areas, where they have room. */
  readonly areaLabels: readonly (AreaLabel & {
    /** Null where parts of the area may be dimmed: a label for any colour. */
    readonly ink: Rgb | null;
  })[];
  /** What reads on each area, from the bottom up. */
  readonly areaInks: readonly Rgb[];
  /** What the picture is measured against. */
  readonly backdrop: Backdrop;
  /** What a band may be called, the best first; empty for nothing. */
  readonly textsOf: (band: number) => readonly string[];
  readonly inkUnder: (band: number) => Rgb;
  /** `bytes` is null in a picture whose height is not what is live. */
  readonly peak: { readonly x: number; readonly bytes: number | null; readonly text: string } | null;
  readonly selectedRects: readonly number[];
  /** The selection's life on the x axis, whether its band is large enough to be seen or not. */
  readonly selectedLife: { readonly x0: number; readonly x1: number } | null;
  readonly cursor: {
    readonly x: number;
    readonly y: number;
    readonly textX: string;
    readonly textY: string;
  } | null;
  /** The cursors that were placed: one, or the two ends of a span. */
  readonly marks: readonly PickedMoment[];
  /** Events that are marked: out of memory, snapshots; and the user's bookmarks. */
  readonly flags: readonly Flag[];
  readonly box: { readonly x0: number; readonly y0: number; readonly x1: number; readonly y1: number } | null;
}
