// What the parts of a heap dump's view know of it, and what they may do to it.

import type { ReadonlySignal, Signal } from '@preact/signals';
import type { GraphState, HeapSelection, HeapTree } from '../../../extension/shared/messages';
import type {
  GraphInfo,
  HeapBookmark,
  HeapFormat,
  ObjectsLink,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { BookmarkList } from '../shell/bookmark-list';
import type { FindingSession } from '../shell/headline';

/** The bookmarks of what can be selected. */
interface SelectionBookmarks extends BookmarkList<HeapBookmark> {
  of(selection: HeapSelection): HeapBookmark | undefined;
  /** Lets the user write a note. */
  add(selection: HeapSelection): void;
}

export interface GraphContext extends FindingSession {
  readonly api: Api;
  readonly info: GraphInfo;
  readonly format: HeapFormat;
  /** Which objects the tables are about, and which boxes are marked; empty for all. */
  readonly filter: string;
  readonly state: GraphState;
  /** The tree that boxes and the table show; the same as in the state. */
  readonly tree: ReadonlySignal<HeapTree>;
  showTree(tree: HeapTree): void;
  /** Changes the state, which is saved. */
  keep(part: Partial<GraphState>): void;
  /** Shows an object, a type or a group in the details. */
  select(selection: HeapSelection | null): void;
  /** Shows why something is alive. */
  explain(selection: HeapSelection): void;
  /** Shows an object where the dominator tree lists those of a filter. */
  list(filter: string): void;
  readonly bookmarks: SelectionBookmarks;
  /** Lets the user write a note for something; null for nothing. */
  bookmark(selection: HeapSelection | null): void;
  readonly showObjects: (objects: ObjectsLink) => void;
  /** Of what the details are to say what is wasted; null for nothing. */
  readonly wasteOf: Signal<HeapSelection | null>;
  /** Shows the types of the objects of a filter. */
  listTypes(filter: string): void;
  /** Shows where stacks allocated in a function, in the flame graph. */
  showStacks(name: string): void;
  /** Shows the images that fit a filter beside each other. */
  showImages(filter: string): void;
  setFilter(filter: string): void;
  /** Opens the source of what is selected, or says that the file has none of it. */
  openSource(selection: HeapSelection, beside: boolean): void;
  say(text: string): void;
  failed(error: unknown): void;
}

/** Whether a row's own is what is selected; a row that has none, as a package, never is. */
export function isSelected({ state }: Pick<GraphContext, 'state'>, own: HeapSelection | null): boolean {
  return own !== null && sameSelection(state.selection, own);
}

export function sameSelection(a: HeapSelection | null, b: HeapSelection | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
