// What a trace's pictures and own panes know of its view, and what they may do to it.

import type { DeviceInfo, GroupedBy, StepParams, TimelineInfo } from '../../../extension/shared/protocol.gen';
import type { Axis } from '../base/devices';
import type { Camera, Extent } from '../canvas/camera';
import type { Palette } from '../canvas/palette';
import type { CompareContext } from '../compare/comparison';
import type { KeptFlame } from '../flame/settings';
import type { Timeline } from '../shell/context';
import type { Cursors } from './cursors';
import type { Flags } from './flags';
import type { Preference } from './render/create';
import type { Highlight } from './scene/paint';
import type { WhatIf } from './what-if';

export interface TimelineContext extends CompareContext, Timeline {
  readonly info: TimelineInfo;
  readonly timeline: Timeline;
  readonly device: DeviceInfo;
  /** How its flame graph is shown. */
  readonly flame: KeptFlame;
  readonly axis: Axis;
  /** The filter, with the changes of a replay: the picture and the panes show what would then have been. */
  readonly filterAsIf: string;
  readonly cursors: Cursors;
  /** The events that are marked on the axis. */
  readonly flags: Flags;
  /** What a replay changes. */
  readonly whatIf: WhatIf;
  /** What allocations are coloured by: what the timeline is grouped by, else lines or categories. */
  readonly grouping: GroupedBy;
  /** What to draw pictures with; set by tests. */
  readonly renderer: Preference;
  readonly palette: Palette;
  /** The part of the run in view, which all pictures share, and the whole of it. */
  readonly camera: Camera;
  readonly bounds: Extent;
  readonly highlight: Highlight;

  /** Selects the neighbour of the selected allocation; with none selected, the largest in view. */
  step(direction: StepParams['direction']): void;
  /** Lights up an area of the picture, by its key; null for none. */
  lightArea(key: number | null): void;
  switchDevice(device: number): void;
  setAxis(axis: Axis): void;
  /** Shows another part of the run; the height stays. */
  moveTo(x0: number, x1: number, glide: boolean): void;
}
