// What the extension host and the webview say to each other: one union each way.

import type { FlameName, FlameOptions, Problem, Requests, SnapshotInfo, VIEW_METHODS } from './protocol.gen';

/** The requests that a view may make. The host adds the `snapshot`, and the `other` that it is compared with. */
export type ViewMethod = (typeof VIEW_METHODS)[number];

export type ViewParams<M extends ViewMethod> = Omit<Requests[M]['params'], 'snapshot' | 'other'>;

/** A result's base64 `geometry` arrives as an ArrayBuffer, decoded by the host. */
export type ViewResult<M extends ViewMethod> = Unpacked<Requests[M]['result']>;

type Unpacked<R> = R extends { geometry: string } ? Omit<R, 'geometry'> & { geometry: ArrayBuffer } : R;

/** The panes below the picture and the pictures, by name; each has a command of the palette. */
export const PANE_IDS = ['liveSet', 'flame', 'oom', 'steps', 'state', 'compare', 'sql', 'sizes'] as const;
export const PICTURE_IDS = ['stacked', 'map', 'reserved', 'compare'] as const;
export type PaneId = (typeof PANE_IDS)[number];
export type PictureId = (typeof PICTURE_IDS)[number];

/** Commands of the palette and its key bindings that act on the view in front. */
export type ViewCommand =
  | `pane.${PaneId}`
  | `picture.${PictureId}`
  | 'fit'
  | 'peak'
  | 'zoomIn'
  | 'zoomOut'
  | 'zoomToSelection'
  | 'toggleAxis'
  | 'toggleColour'
  | 'togglePane'
  | 'nextDevice'
  | 'clearSelection';

/** The snapshot that a view's own is compared with, opened under a reference of the same view. `uri` names its file. */
export type OtherSnapshot =
  | { is: 'opening'; uri: string; name: string; stage: string; fraction: number | null }
  | { is: 'open'; uri: string; name: string; info: SnapshotInfo; itself: boolean; older: boolean }
  | { is: 'failed'; uri: string; name: string; problem: Problem };

/** What a view is compared with, and how. */
export interface CompareState {
  uri: string;
  /** The other one is "before". */
  otherFirst: boolean;
  device: number;
  /** What of this snapshot: what the dock's head says, or what is live at the end. */
  mine: 'set' | 'end';
  /** What of the other: the same, laid beside it; or what is live at its peak or its end. */
  theirs: 'same' | 'peak' | 'end';
  by: 'line' | 'function' | 'file' | 'stack';
  measure: 'own' | 'inclusive';
  byStep: boolean;
  /** Of the other to the right, in the axis' unit, or in steps. */
  offset: number;
  /** Of profiles: the name of the other's value; null for the one that is compared here. */
  value: string | null;
}

/** What the flame graph shows, and how. `fileBytes` tells whether the names' numbers are those of the file now. */
export interface FlameState {
  form: 'icicle' | 'flame' | 'table' | 'functions';
  direction: FlameOptions['direction'];
  merge: FlameOptions['merge'];
  order: FlameOptions['order'];
  /** "total" is what was allocated in the whole run, whichever set is chosen. */
  value: 'bytes' | 'count' | 'total';
  colour: 'package' | 'value';
  fold: boolean;
  /** All libraries and native code, each package one box. */
  collapse: boolean;
  /** Files by their whole path, not by the shortest end that tells them apart. */
  wholePaths: boolean;
  /** Packages that are collapsed one by one. */
  packages: string[];
  hidden: FlameName[];
  focus: FlameName | null;
  search: string;
  /** The function whose callers and callees are shown beside the functions. */
  sandwich: FlameName | null;
  /** Where the graph stands; null for all of it with nothing chosen. */
  place: FlamePlace | null;
  fileBytes: number;
}

/** A part of one graph, and the box that is chosen in it. */
export interface FlamePlace {
  /** Which graph: what was asked for it. */
  of: string;
  x0: number;
  x1: number;
  top: number;
  node: number | null;
}

/** Where a view stands; it survives hiding the tab and reloading the window. */
export interface ViewState {
  device: number;
  axis: 'time' | 'event';
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  selection: number | null;
  colour: 'stack' | 'category';
  picture: PictureId;
  /** The pane that is shown; null when the dock is closed. */
  pane: PaneId | null;
  filter: string;
  /** Which allocations the panes are about, and the moments that were picked. */
  scope: 'peak' | 'cursor' | 'between';
  kind: 'live' | 'allocated' | 'freed' | 'survived';
  first: number | null;
  second: number | null;
  compare: CompareState | null;
  flame: FlameState | null;
  /** Of a profile: the number of the value that is shown. */
  value: number | null;
}

/** A file that a view shows: its own, or the one that it is compared with. */
export type ShownFile = 'own' | 'other';

export type FileState = Requests['memlens/fileState']['result']['state'];

export type ToWebviewMessage =
  | { type: 'progress'; stage: string; fraction: number | null }
  | { type: 'opened'; info: SnapshotInfo; state: ViewState | null }
  | { type: 'failed'; problem: Problem; canOpenAsText: boolean }
  | { type: 'response'; id: number; ok: true; result: unknown }
  | { type: 'response'; id: number; ok: false; problem: Problem }
  /** Light up what a source line allocated (from a hover's link or a command). */
  | { type: 'showLine'; file: string; line: number }
  | { type: 'showAllocation'; allocation: number }
  /** A frame's file was not found; shown in the stack panel, not as a popup. */
  | { type: 'sourceMissing'; file: string; line: number; lookedFor: string }
  /** What it is compared with, or null for nothing; `fresh` when the user has just chosen it. */
  | { type: 'other'; other: OtherSnapshot | null; fresh: boolean }
  /** What became of a file since it was read. */
  | { type: 'file'; of: ShownFile; state: FileState }
  | { type: 'command'; command: ViewCommand };

export type FromWebviewMessage =
  | { type: 'ready' }
  | { type: 'request'; id: number; method: ViewMethod; params: unknown }
  | { type: 'cancelRequest'; id: number }
  | { type: 'cancelOpen' }
  | { type: 'retry' }
  | { type: 'openAsText' }
  | { type: 'openSource'; file: string; line: number; beside: boolean }
  | { type: 'chooseOther' }
  | { type: 'retryOther' }
  /** Read a file again that has changed. */
  | { type: 'reload'; of: ShownFile }
  /** The user has seen that a file has changed, and goes on with what was read. */
  | { type: 'dismissFile'; of: ShownFile }
  | { type: 'closeOther' }
  /** Something failed by a mistake of ours, and the user wants to see what. */
  | { type: 'showLog' }
  /** The user is asked for a file, and the text is written there. */
  | { type: 'saveText'; form: 'csv' | 'json'; text: string }
  | { type: 'state'; state: ViewState };
