// A pane of the panel below the picture.

import type { ComponentType } from 'preact';
import type { Action, PaneId } from '../../../extension/shared/commands';
import type { Evidence, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Change, ViewContext } from './context';
import type { KeyTable } from './key-table';

/** The part of a pane that is the evidence of a finding; of SQL, the query to run. */
export interface Revealed extends Partial<Pick<Evidence, 'by' | 'event'>> {
  readonly query?: string;
  /** The filter of the row to select among all. */
  readonly row?: string;
  /** Of threads, the one to show. */
  readonly thread?: number;
}

/** Attributes of a pane's element. */
export interface PaneRoom {
  readonly id: string;
  readonly role: 'tabpanel';
  readonly 'aria-label': string;
  readonly tabIndex: -1;
  readonly hidden: boolean;
}

/** What the panel gives the row of controls of a pane. */
export type BarRoom = Pick<PaneRoom, 'hidden'>;

export interface Pane {
  /** One element, with the class `pane`. */
  readonly View: ComponentType<PaneRoom>;
  /** Its one row of controls, beside the tabs or below them. */
  readonly Bar?: ComponentType<BarRoom>;
  /** The pane is shown, or something changed while it is: everything that changed since its last update. */
  update(changes: ReadonlySet<Change>): void;
  reveal?(what: Revealed): void;
  /** Keys while the focus is in it; true when it took the key. */
  key?(event: KeyboardEvent): boolean;
  dispose?(): void;
}

/** A pane as it is declared: tabs, menus, keys, the palette and what is kept of a view go by it. */
export interface PaneOf<C = ViewContext> {
  readonly id: PaneId;
  /** The models whose views have it, and its place among their panes: `npm run contract` writes their lists. */
  readonly of: readonly SnapshotInfo['model'][];
  readonly place: number;
  /** It has a tab only while it is shown, and else is in the menu of other panes. */
  readonly inMenu?: true;
  readonly title: string | ((context: C) => string);
  /** Its command in the palette, written into the manifest by `npm run contract`; once for panes of one name. */
  readonly palette?: string;
  /** It is about a set of allocations: the panel's head lets the user choose which. */
  readonly usesSet?: boolean;
  /** Whether a snapshot has something to show in it; all have without this. */
  offered?(context: C): boolean;
  /** Makes it when it is first shown; its code may be loaded then. */
  readonly make: (context: C) => Pane | Promise<Pane>;
}

/** A pane of a view. */
export interface PaneTab extends Pick<PaneOf, 'id' | 'usesSet' | 'inMenu'> {
  readonly title: string;
  /** By which it is shown; empty where the keys of its model have none for its place. */
  readonly key: string;
  make(): Pane | Promise<Pane>;
}

export function tabsOf<C extends { readonly keys: Pick<KeyTable<Action>, 'keyOf'> }>(
  context: C,
  panes: readonly PaneOf<C>[],
): readonly PaneTab[] {
  return panes
    .filter((pane) => pane.offered?.(context) ?? true)
    .map(({ id, title, usesSet = false, inMenu, make }, at) => ({
      id,
      key: context.keys.keyOf(`pane${at + 1}`),
      title: typeof title === 'string' ? title : title(context),
      usesSet,
      ...(inMenu && { inMenu }),
      make: () => make(context),
    }));
}
