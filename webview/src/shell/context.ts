// What panes and pictures know of their view, and what they may do to it.

import type {
  AllocationSet,
  AllocationSummary,
  Branch,
  DeviceInfo,
  Frame,
  Group,
  GroupedBy,
  SnapshotInfo,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { KeptAttribution } from './attribution';
import type { Compare } from '../compare/comparison';
import type { Cursors } from '../timeline/cursors';
import type { Flags } from '../timeline/flags';
import type { KeptFlame } from '../flame/settings';
import type { Preference } from '../timeline/render/create';
import type { Camera, Extent } from '../canvas/camera';
import type { Rgb } from '../canvas/colour';
import type { Names } from '../base/names';
import type { Highlight } from '../timeline/scene/paint';
import type { Palette } from '../canvas/palette';
import type { Axis } from '../base/devices';
import type { Step } from '../timeline/selection';
import type { WhatIf } from '../timeline/what-if';

/** What may have changed since a part was last updated. */
export type Change =
  | 'device'
  | 'axis'
  | 'filter'
  | 'cursors'
  | 'theme'
  | 'camera'
  | 'selection'
  | 'compare'
  | 'attribution'
  /** What a replay leaves out. */
  | 'whatIf'
  /** The flame graph is to be shown as it was somewhere before. */
  | 'flame';

export const EVERYTHING: readonly Change[] = [
  'device',
  'axis',
  'filter',
  'cursors',
  'theme',
  'camera',
  'selection',
  'compare',
  'attribution',
  'whatIf',
];

/** What panes know of any view, and what they may do to it. */
export interface ViewContext {
  readonly api: Api;
  readonly info: SnapshotInfo;
  /** Narrows every view of the snapshot; empty for all. Goes into the `filter` of requests. */
  readonly filter: string;
  /** The allocations that the view is about and the filter picks: goes into the `of` of requests. */
  readonly set: AllocationSet;
  /** The set in words: "at the peak", "allocated between 1.2 s and 3.4 s". */
  readonly setName: string;
  /** What it is compared with. */
  readonly compare: Compare;
  /** To which frame of a stack its tables charge it. */
  readonly attribution: KeptAttribution;
  /** How its flame graph is shown. */
  readonly flame: KeptFlame;
  /** The picture of its run; null for a model that has none. */
  readonly timeline: Timeline | null;

  /** Opens the file of a frame at its line. */
  openFrame(frame: Frame, beside: boolean): void;
  setFilter(filter: string): void;
  /** Said to screen readers and in the status line. */
  say(text: string): void;
  failed(error: unknown): void;
}

/** The picture of a run over time, with its single allocations. */
export interface Timeline {
  readonly names: Names;
  readonly device: DeviceInfo;
  readonly axis: Axis;
  readonly cursors: Cursors;
  /** The events that are marked on the axis; reported as a change of the device when they become known. */
  readonly flags: Flags;
  /** What a replay leaves out. */
  readonly whatIf: WhatIf;
  /** What allocations are coloured by: what the timeline is grouped by, else lines or categories. */
  readonly grouping: GroupedBy;
  /** What to draw pictures with; set by tests. */
  readonly renderer: Preference;
  readonly palette: Palette;
  /** The part of the run in view, which all pictures share, and the whole of it. */
  readonly camera: Camera;
  readonly bounds: Extent;
  /** The selected allocation. */
  readonly selected: number | null;
  readonly highlight: Highlight;

  colourOf(allocation: AllocationSummary): Rgb;
  /** The colour of a group in the picture; null where that isn't grouped by the same. */
  colourOfGroup(group: Pick<Group, 'key'>, by: Branch['by'][number]): Rgb | null;
  /** Highlights a branch, or an area of the picture, for as long as it is pointed at; null for nothing more. */
  pointAt(what: Branch | null): void;
  /** Selects an allocation in the picture and shows its stack; `moment` is where it was picked, if known. */
  select(allocation: number, moment: number | null): void;
  /** Selects the neighbour of the selected allocation; with none selected, the largest in view. */
  step(direction: Step): void;
  /** Lights up an area of the picture, by its key; null for none. */
  lightArea(key: number | null): void;
  /** Lights up what some stacks allocated; an empty set lights nothing up. */
  lightStacks(stacks: ReadonlySet<number>): void;
  /** Lights up exactly the allocations of a branch of the live set's tree. */
  lightGroup(branch: Branch): void;
  switchDevice(device: number): void;
  setAxis(axis: Axis): void;
  /** Shows another part of the run; the height stays. */
  moveTo(x0: number, x1: number, glide: boolean): void;
}

/** A trace's view, whose pictures and own panes know both. */
export interface TimelineContext extends ViewContext, Timeline {
  readonly info: TimelineInfo;
  readonly timeline: Timeline;
}
