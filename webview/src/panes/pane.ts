// A pane of the panel below the picture.

import type { PaneId } from '../../../extension/shared/messages';
import type { Evidence } from '../../../extension/shared/protocol.gen';
import type { Change, ViewContext } from '../context';

/** The part of a pane that is the evidence of a finding. */
export type Revealed = Pick<Evidence, 'by' | 'event'>;

export interface Pane {
  readonly id: PaneId;
  readonly title: string;
  readonly root: HTMLElement;
  /** Its one row of controls, beside the tabs or below them. */
  readonly bar?: HTMLElement;
  /** It is about a set of allocations: the panel's head lets the user choose which. */
  readonly usesSet: boolean;
  /** The pane is shown, or something changed while it is: everything that changed since its last update. */
  update(changes: ReadonlySet<Change>): void;
  reveal?(what: Revealed): void;
  /** Keys while the focus is in it; true when it took the key. */
  key?(event: KeyboardEvent): boolean;
  dispose?(): void;
}

export type MakePane<C = ViewContext> = (context: C) => Pane | null;

/** The panes that have something to show. */
export function panesOf<C>(context: C, makes: readonly MakePane<C>[]): readonly Pane[] {
  return makes.flatMap((make) => make(context) ?? []);
}
