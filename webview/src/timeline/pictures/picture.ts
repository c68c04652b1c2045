// What may stand above the dock. Pictures share the part of the run in view.

import type { ComponentType } from 'preact';
import type { Action, PictureId } from '../../../../extension/shared/commands';
import type { Change } from '../../shell/context';
import type { TimelineSession } from '../session';

export interface Picture {
  readonly id: PictureId;
  readonly title: string;
  /** What it is called in a file; one without is drawn over the stacked picture, which is exported in its place. */
  readonly exported?: 'map' | 'reserved';
  readonly View: ComponentType<{ readonly hidden: boolean }>;
  /** It is shown, or something changed while it is: everything that changed since its last update. */
  update(changes: ReadonlySet<Change>): void;
  /** It is not on the screen any more: nothing needs to be fetched or drawn. */
  hide(): void;
  focus(): void;
  /** Does an action that this picture does differently; true when it did. */
  run?(action: Action): boolean;
  dispose?(): void;
}

/** A picture as it is declared; `npm run contract` writes their list and their commands. */
export interface PictureOf {
  readonly picture: PictureId;
  /** Its place among the pictures beside the stacked one. */
  readonly place: number;
  /** Its command in the palette. */
  readonly palette: string;
  /** Null for a snapshot that can't fill it. */
  make(context: TimelineSession): Picture | null;
}
