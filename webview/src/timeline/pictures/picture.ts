// What may stand above the dock. Pictures share the part of the run in view.

import type { ComponentType } from 'preact';
import type { Action, PictureId } from '../../../../extension/shared/commands';
import type { Change } from '../../shell/context';
import type { TimelineSession } from '../session';

export interface Picture {
  readonly id: PictureId;
  readonly title: string;
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

export type MakePicture = (context: TimelineSession) => Picture | null;
