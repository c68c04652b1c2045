// What panes know of their view, whatever its model, and what they may do to it.

import type {
  AllocationSet,
  AllocationSummary,
  Branch,
  DeviceInfo,
  Frame,
  Group,
  SnapshotInfo,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Names } from '../base/names';
import type { Rgb } from '../canvas/colour';
import type { KeptAttribution } from './attribution';

/** What may have changed since a part was last updated. */
export type Change =
  /** The allocations or samples that the view is about. */
  | 'set'
  | 'device'
  | 'axis'
  | 'filter'
  | 'cursors'
  | 'theme'
  | 'camera'
  | 'selection'
  | 'compare'
  | 'attribution'
  /** The events that are marked on the axis. */
  | 'flags'
  /** What a replay changes. */
  | 'whatIf'
  /** The order of a heap dump's types, and what they are grouped by. */
  | 'order'
  /** The order of images. */
  | 'images'
  /** What a heap dump's boxes and table are a tree of. */
  | 'tree'
  /** Which references paths follow besides strong ones, and which they leave out. */
  | 'paths'
  /** The flame graph is to be shown as it was somewhere before. */
  | 'flame';

export const EVERYTHING: readonly Change[] = [
  'set',
  'device',
  'axis',
  'filter',
  'cursors',
  'theme',
  'camera',
  'selection',
  'compare',
  'attribution',
  'flags',
  'whatIf',
  'order',
  'images',
  'tree',
  'paths',
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
  /** To which frame of a stack its tables charge it. */
  readonly attribution: KeptAttribution;
  /** The picture of its run; null for a model that has none. */
  readonly timeline: Timeline | null;

  /** Opens the file of a frame at its line. */
  openFrame(frame: Frame, beside: boolean): void;
  /** Opens the declaration of a type or a field, by the name that the server gave it. */
  openDeclaration(declared: string, beside: boolean): void;
  setFilter(filter: string): void;
  /** Said to screen readers and in the status line. */
  say(text: string): void;
  /** Said to screen readers alone. */
  hear(text: string): void;
  failed(error: unknown): void;
}

/** The picture of a run over time, with its single allocations, as panes of every model may use it. */
export interface Timeline {
  readonly names: Names;
  readonly device: DeviceInfo;
  /** The selected allocation. */
  readonly selected: number | null;
  /** The branch of the live set's tree that is highlighted; null for anything else. */
  readonly highlightedBranch: Branch | null;

  colourOf(allocation: AllocationSummary): Rgb;
  /** The colour of a group in the picture; null where that isn't grouped by the same. */
  colourOfGroup(group: Pick<Group, 'key'>, by: Branch['by'][number]): Rgb | null;
  /** Highlights a branch for as long as it is pointed at; null for nothing more. */
  pointAt(what: Branch | null): void;
  /** Selects an allocation in the picture and shows its stack; `moment` is where it was picked, if known. */
  select(allocation: number, moment: number | null): void;
  /** Highlights what some stacks allocated; an empty set, nothing. */
  highlightStacks(stacks: ReadonlySet<number>): void;
  /** Lights up exactly the allocations of a branch of the live set's tree. */
  highlightGroup(branch: Branch): void;
  /** Replays the trace without what a filter matches, which is called so; null where it can't be replayed. */
  readonly leaveOut: ((term: string, name: string) => void) | null;
  /** Shows which batch fits; null where the trace can't be replayed. */
  readonly showSizes: (() => void) | null;
}
