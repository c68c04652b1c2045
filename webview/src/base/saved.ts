// What of a view survives hiding its tab and reloading the window.

import type { FlameState, ViewState } from '../../../extension/shared/messages';
import type { Branch, GroupsParams, MembersParams } from '../../../extension/shared/protocol.gen';

/** Kept by the webview itself; `view` is also what the host keeps. */
export interface SavedState {
  readonly view: ViewState | null;
  readonly layout: Layout;
  readonly kept?: Kept;
}

/** What single panes keep. */
export interface Kept {
  readonly sql?: SavedSql;
  readonly liveSet?: SavedLiveSet;
  readonly difference?: SavedDifference;
  readonly comparison?: SavedComparison;
  readonly attribution?: Branch['attribution'];
}

/** How the difference flame graph is shown. */
export interface SavedDifference {
  readonly scale: 'absolute' | 'normalised';
  readonly width: 'both' | 'after' | 'before';
  readonly flame: FlameState | null;
}

/** Whether a comparison is shown as a table or as a flame graph. */
export type SavedComparison = 'table' | 'graph';

/** By what the live set's tree is grouped, and its order; with no groups it is a list. */
export interface SavedLiveSet {
  readonly by: readonly Branch['by'][number][];
  readonly groupOrder: GroupsParams['order'];
  readonly memberOrder: MembersParams['order'];
  readonly descending: boolean;
}

/** The SQL panel's query, whether its rows were shown, and what was asked before, the latest first. */
interface SavedSql {
  readonly query: string;
  readonly isAnswered?: boolean;
  readonly history: readonly string[];
}

export interface Layout {
  readonly panelWidth: number;
  readonly panelOpen: boolean;
  readonly dockHeight: number;
  /** The panel below has the whole height, the picture none. */
  readonly dockTall: boolean;
}
