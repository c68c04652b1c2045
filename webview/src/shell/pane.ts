// A pane of the panel below the picture.

import type { ComponentType } from 'preact';
import type { PaneId } from '../../../extension/shared/messages';
import type { Evidence, SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Change, ViewContext } from './context';

/** The part of a pane that is the evidence of a finding; of SQL, the query to run. */
export interface Revealed extends Partial<Pick<Evidence, 'by' | 'event'>> {
  readonly query?: string;
  /** Of threads, the one to show. */
  readonly thread?: number;
}

/** Attributes of a pane's element. */
export interface PaneRoom {
  readonly id: string;
  readonly role: 'tabpanel';
  readonly 'aria-label': string;
  readonly hidden: boolean;
}

/** What the panel gives the row of controls of a pane. */
export type BarRoom = Pick<PaneRoom, 'hidden'>;

export interface Pane {
  readonly id: PaneId;
  readonly title: string;
  /** One element, with the class `pane`. */
  readonly View: ComponentType<PaneRoom>;
  /** Its one row of controls, beside the tabs or below them. */
  readonly Bar?: ComponentType<BarRoom>;
  /** It is about a set of allocations: the panel's head lets the user choose which. */
  readonly usesSet: boolean;
  /** The pane is shown, or something changed while it is: everything that changed since its last update. */
  update(changes: ReadonlySet<Change>): void;
  reveal?(what: Revealed): void;
  /** Keys while the focus is in it; true when it took the key. */
  key?(event: KeyboardEvent): boolean;
  dispose?(): void;
}

/** A pane's tab; the pane is made when it is first shown, and its code may be loaded then. */
export interface PaneTab extends Pick<Pane, 'id' | 'title' | 'usesSet'> {
  make(): Pane | Promise<Pane>;
}

/** Null where a snapshot has nothing to show. */
export type MakePane<C = ViewContext> = (context: C) => PaneTab | null;

/** The tab of a pane that is there from the start. */
export function made(pane: Pane): PaneTab {
  const { id, title, usesSet } = pane;
  return { id, title, usesSet, make: () => pane };
}

export function tabsOf<C>(context: C, makes: readonly MakePane<C>[]): readonly PaneTab[] {
  return makes.flatMap((make) => make(context) ?? []);
}

/** A tab whose code is loaded when it is first shown, for the snapshots that it has something of. */
export function later<C extends ViewContext = ViewContext>(
  id: PaneTab['id'],
  title: string,
  usesSet: boolean,
  offered: (info: SnapshotInfo) => boolean,
  load: (context: C) => Promise<Pane>,
): MakePane<C> {
  return (context) => (offered(context.info) ? { id, title, usesSet, make: () => load(context) } : null);
}

export function always(): boolean {
  return true;
}
