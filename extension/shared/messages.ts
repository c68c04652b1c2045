// The messages between the extension host and the webview: one union for each direction.

import type { AreaKind, PaneId, PictureId, ViewCommand } from './commands';
import type {
  AddBookmarkParams,
  AllocationSet,
  FlameName,
  FlameOptions,
  HeatMap,
  Problem,
  Requests,
  HeapFormat,
  ObjectSourceParams,
  SnapshotInfo,
  VIEW_METHODS,
} from './protocol.gen';

/** The requests that a view may send. The host adds the `snapshot`, the `other` that it is compared with, and a series' `dumps`. */
export type ViewMethod = (typeof VIEW_METHODS)[number];

export type ViewParams<M extends ViewMethod> = Omit<Requests[M]['params'], 'snapshot' | 'other' | 'dumps'>;

/** A result's base64 `geometry` arrives as an ArrayBuffer, decoded by the host. */
export type ViewResult<M extends ViewMethod> = Unpacked<Requests[M]['result']>;

type Unpacked<R> = R extends { geometry: string } ? Omit<R, 'geometry'> & { geometry: ArrayBuffer } : R;

/** Where a bookmark is: a moment of a trace, or something of a heap dump. */
export type BookmarkPlace = AddBookmarkParams['place'];

/** What is changed about a snapshot's bookmarks. */
export type BookmarkChange =
  /** `title` says in words what gets a note; the user writes it. */
  | { is: 'add'; title: string; place: BookmarkPlace }
  | { is: 'rename'; title: string; bookmark: number; note: string }
  | { is: 'delete'; bookmark: number };

/**
 * How it is known which of two snapshots is the earlier one: by when they were recorded, else by the order in which the user
 * chose them, else by their files' times; names decide where these are the same or unknown.
 */
export type OrderedBy = 'recorded' | 'chosen' | 'named' | 'modified' | 'name';

/**
 * The snapshot that a view's is compared with, opened with a second reference. `uri` is that of its file, `file` what it
 * is called in filters: its name beside the view's own, else its path.
 */
export type OtherSnapshot =
  | { is: 'opening'; uri: string; name: string; stage: string; fraction: number | null }
  | {
      is: 'open';
      uri: string;
      name: string;
      file: string;
      info: SnapshotInfo;
      itself: boolean;
      older: boolean;
      orderedBy: OrderedBy;
    }
  | { is: 'failed'; uri: string; name: string; problem: Problem };

/** A heap dump of a series; `own` is the view's. */
export interface SeriesDump {
  readonly is: 'own' | OtherSnapshot['is'];
  readonly uri: string;
  readonly name: string;
  /** What it is called in filters: its name if all dumps are in one folder, else its path. */
  readonly file: string;
  /** What is wrong with one that failed. */
  readonly message: string;
}

/** The comparison of a view, and its options. */
export interface CompareState {
  uri: string;
  /** Whether the other snapshot is "before". */
  otherFirst: boolean;
  device: number;
  /** The set of this snapshot: that of the dock's head, or what is live at the end. */
  mine: 'set' | 'end';
  /** The set of the other: the aligned one, or what is live at its peak or its end. */
  theirs: 'same' | 'peak' | 'end';
  by: Requests['memlens/compare']['params']['by'];
  measure: 'own' | 'inclusive';
  byStep: boolean;
  /** By how much the other is shifted to the right, in the axis' unit, or in steps. */
  offset: number;
  /** For profiles: the name of the other's value; null for the same one. */
  value: string | null;
}

/** The state of the flame graph. `fileBytes` shows whether the numbers of names are still those of the file. */
export interface FlameState {
  form: 'icicle' | 'flame' | 'table' | 'functions';
  direction: FlameOptions['direction'];
  merge: FlameOptions['merge'];
  order: FlameOptions['order'];
  /** "total" is everything allocated in the whole run, whichever set is chosen. */
  value: 'bytes' | 'count' | 'total';
  colour: 'package' | 'value';
  fold: boolean;
  /** All libraries and native code, each package one box. */
  collapse: boolean;
  /** Files by their whole path, not by their shortest unique ending. */
  wholePaths: boolean;
  /** Packages that are collapsed one by one. */
  packages: string[];
  hidden: FlameName[];
  focus: FlameName | null;
  search: string;
  /** The function whose callers and callees are shown beside the functions. */
  sandwich: FlameName | null;
  /** The visible part and selection; null for the whole graph without a selection. */
  place: FlamePlace | null;
  fileBytes: number;
}

/** A part of one graph, and the selected box. */
export interface FlamePlace {
  /** The parameters of the graph's request. */
  of: string;
  x0: number;
  x1: number;
  top: number;
  node: number | null;
}

type HeapTypes = Requests['memlens/heapTypes']['params'];

/** What is looked at in a heap dump: an object, a type, or a group of one of its trees. */
export type HeapSelection =
  | { readonly is: 'object'; readonly object: number }
  | { readonly is: 'type'; readonly kind: number }
  | { readonly is: 'group'; readonly group: number };

/** What an object is below: its dominator, or the object from which a root reaches it first. */
export type HeapTree = NonNullable<Requests['memlens/heapPicture']['params']['tree']>;

/** The state of a heap dump's view. `fileBytes` shows whether the numbers in it are still those of the file. */
export interface GraphState {
  selection: HeapSelection | null;
  /** The order of the table of types, and what it is grouped by. */
  order: HeapTypes['order'];
  reverse: boolean;
  by: 'type' | HeapTypes['by'];
  /** The strengths of references that paths follow besides strong ones. */
  through: Requests['memlens/heapPaths']['params']['through'];
  /** References that paths leave out, to see what else keeps something alive. */
  without: Requests['memlens/heapPaths']['params']['without'];
  /** What boxes and the table of objects are a tree of. */
  tree: HeapTree;
  /** What the boxes of the tree are grouped by. */
  grouped: Requests['memlens/heapPicture']['params']['by'];
  /** Whether rings stand beside these boxes. */
  sunburst: boolean;
  /** The order of the gallery of images. */
  images: Requests['memlens/heapImages']['params']['order'];
  /** The rows of the panes' trees that are open. */
  opened: Partial<Record<PaneId, string[]>>;
  /** How the flame graph of allocation stacks is shown, and of which value it is. */
  flame: FlameState | null;
  value: number;
  /** The files of the series beside the view's own. */
  series: string[];
  /** The visible part of the dominator tree. */
  x0: number;
  x1: number;
  top: number;
  fileBytes: number;
}

/** What every view has. */
interface AnyState {
  /** The pane that is shown; null when the panel is closed. */
  pane: PaneId | null;
  filter: string;
  compare: CompareState | null;
}

export interface TimelineState extends AnyState {
  model: 'timeline';
  device: number;
  axis: 'time' | 'event';
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  selection: number | null;
  colour: 'stack' | 'category';
  /** What the timeline is grouped by; null in the order of PyTorch's viewer. */
  areas: AreaKind | null;
  /** Zooming in time leaves the height as it is. */
  holdHeight: boolean;
  picture: PictureId;
  /** The set of allocations in the panes, and the chosen moments. */
  scope: 'peak' | 'cursor' | 'between';
  kind: AllocationSet['kind'];
  first: number | null;
  second: number | null;
  flame: FlameState | null;
}

export interface ProfileState extends AnyState {
  model: 'profile';
  /** The number of the shown value. */
  value: number;
  /** The chosen part of the run; null for the whole. Without `to` what was live at `from`. */
  range: { readonly kind: AllocationSet['kind']; readonly from: number; readonly to: number | null } | null;
  flame: FlameState | null;
}

export interface HeapState extends AnyState {
  model: 'graph';
  graph: GraphState;
}

/** The state of a view, which is restored after hiding the tab or reloading the window. */
export type ViewState = TimelineState | ProfileState | HeapState;

/** The state of a fleet's heat map, which is restored with its tab. `snapshot` is the marked row. */
export interface FleetState {
  align: Requests['memlens/fleetHeat']['params']['align'] & string;
  order: 'peak' | 'moment' | 'name';
  /** Whether rows are high enough for a name, or as low as it takes to show all. */
  rows: 'named' | 'all';
  snapshot: number | null;
}

/** A file of a view: its own, or the one that it is compared with. */
export type ShownFile = 'own' | 'other';

export type FileState = Requests['memlens/fileState']['result']['state'];

/** What was looked for in vain: a file, or the file that declares a type. */
export interface SourceMissing {
  type: 'sourceMissing';
  file: string;
  line: number;
  lookedFor: readonly string[];
  advice?: string;
  /** Whether the build tool of the workspace can be asked for the sources of libraries. */
  downloadable?: boolean;
}

/** Whose source is to be opened: an object's, a type's, or that of a type or field by the name the server gave it. */
export type SourceOf = Partial<Omit<ObjectSourceParams, 'snapshot'>>;

export type ToWebviewMessage =
  | { type: 'progress'; stage: string; fraction: number | null }
  | { type: 'opened'; info: SnapshotInfo; heap: HeapFormat | null; state: ViewState | null }
  | { type: 'failed'; problem: Problem; canOpenAsText: boolean }
  /** Whether letters, digits and signs by themselves are keys. */
  | { type: 'keys'; single: boolean }
  | { type: 'response'; id: number; ok: true; result: unknown }
  | { type: 'response'; id: number; ok: false; problem: Problem }
  /** How much of what a request asked for is done, 0 to 1. */
  | { type: 'requestProgress'; id: number; fraction: number }
  /** A response over a line between two machines: the result's JSON and its geometry, deflated. */
  | { type: 'packed'; id: number; json: ArrayBuffer; geometry: ArrayBuffer | null }
  /** Highlight what a source line allocated (from a hover's link or a command). */
  | { type: 'showLine'; file: string; line: number }
  | { type: 'showAllocation'; allocation: number }
  /** A frame's file was not found: of a trace shown in the stack panel, not as a popup. */
  | SourceMissing
  /** The snapshot that it is compared with, or null; `fresh` if the user has just chosen it. */
  | { type: 'other'; other: OtherSnapshot | null; fresh: boolean }
  /** The heap dumps over time, in their order; empty without any beside the view's own. */
  | { type: 'series'; dumps: readonly SeriesDump[] }
  /** Whether a file has changed since it was read. */
  | { type: 'file'; of: ShownFile; state: FileState }
  /** Go to a place where the view has been, or that a link says. */
  | { type: 'goTo'; state: ViewState }
  /** The snapshot's bookmarks are others. */
  | { type: 'bookmarks' }
  | { type: 'command'; command: ViewCommand }
  /** Take a report, which quotes contents only with `values`. */
  | { type: 'takeReport'; form: 'html' | 'markdown'; values: boolean }
  /** Say when the user does something in the view again. */
  | { type: 'tellNextAct' }
  /** Say `focusSettled` once VS Code has seen whether the page has the focus. */
  | { type: 'tellFocusSettled' }
  /** The ranks of a fleet, in the alignment of its state. */
  | { type: 'fleet'; heat: HeatMap; state: FleetState | null };

/** What is saved; a PNG's text is its base64. */
export type SavedForm = 'csv' | 'json' | 'svg' | 'png' | 'html' | 'bookmarks';

export type FromWebviewMessage =
  | { type: 'ready' }
  | { type: 'request'; id: number; method: ViewMethod; params: unknown }
  | { type: 'cancelRequest'; id: number }
  | { type: 'cancelOpen' }
  | { type: 'retry' }
  | { type: 'openAsText' }
  | { type: 'openSource'; file: string; line: number; beside: boolean }
  /** Open the source of an object of a heap dump or, by `kind`, of a type, by their numbers. */
  | { type: 'openObjectSource'; of: SourceOf; beside: boolean }
  | { type: 'locate'; what: 'file' | 'folder'; file: string; line: number }
  /** Download the sources of the workspace's libraries, and look for the source that was missing again. */
  | { type: 'downloadSources' }
  | { type: 'bookmark'; change: BookmarkChange }
  | { type: 'chooseOther' }
  /** Choose the heap dumps of a series, or have none. */
  | { type: 'chooseSeries' }
  | { type: 'clearSeries' }
  | { type: 'retryOther' }
  /** Read a changed file again. */
  | { type: 'reload'; of: ShownFile }
  /** The user dismissed the message that a file has changed. */
  | { type: 'dismissFile'; of: ShownFile }
  | { type: 'closeOther' }
  /** Install a Python, where the server has none, or open the setting that names one. */
  | { type: 'installPython' }
  | { type: 'openPythonSetting' }
  /** Show the log after an internal error. */
  | { type: 'showLog' }
  /** Put a text on the clipboard. With `contents` it may have what objects contain, and the user is asked before. */
  | { type: 'copy'; text: string; contents?: boolean }
  /** Let the user choose a file, and write the text to it; `contents` as above. */
  | { type: 'saveText'; form: SavedForm; text: string; contents?: boolean }
  /** `acts` is how much the user has done on the page since it was made, or was sent to a place. */
  | { type: 'state'; state: ViewState; acts: number }
  /** The commands that do something in the view as it is now; the palette has no others. */
  | { type: 'commands'; commands: readonly ViewCommand[] }
  /** Back or forward from the state that was last reported. */
  | { type: 'history'; by: -1 | 1 }
  /** Let the user choose whether a heap dump's report quotes contents, and say so by `takeReport`. */
  | { type: 'chooseReport'; form: 'html' | 'markdown' }
  /** Put a link to the state that was last reported on the clipboard. */
  | { type: 'copyLink' }
  /** The user did something, that the host asked to hear of. */
  | { type: 'acted' }
  | { type: 'focusSettled' }
  /** The state of a fleet's heat map; with another alignment the ranks are sent again. */
  | { type: 'fleetState'; state: FleetState }
  /** Open a snapshot of the fleet, by its number in the summaries. */
  | { type: 'openRank'; snapshot: number };
