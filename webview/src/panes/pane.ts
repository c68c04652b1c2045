// A tab of the dock below the picture.

import type { PaneId } from '../../../extension/shared/messages';
import type { Change, ViewContext } from '../context';

export interface Pane {
  readonly id: PaneId;
  readonly title: string;
  readonly root: HTMLElement;
  /** It is about a set of allocations: the dock's head lets the user choose which. */
  readonly usesSet: boolean;
  /** The pane is shown, or something changed while it is: everything that changed since it was last told. */
  update(changes: ReadonlySet<Change>): void;
  /** Keys while the focus is in it; true when it took the key. */
  key?(event: KeyboardEvent): boolean;
  dispose?(): void;
}

export type MakePane = (context: ViewContext) => Pane | null;
