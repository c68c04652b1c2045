// A command of a view, a key, or both, declared in one row: where the palette offers it, when it does something, what it does.

import type { Action, CommandList } from '../../../extension/shared/commands';
import type { KeyRow } from './key-table';

/** `V` is what of a view it acts on, `S` what of its state says whether it does something. */
export interface CommandOf<V = never, S = never> extends KeyRow<Action> {
  /** Its title in the palette, in English; it can have key bindings then. */
  readonly palette?: string;
  /** The palette's list that offers it; pictures are shown, groups group, and without it one navigates by it. */
  readonly list?: CommandList;
  /** Whether it does something now; always without this. */
  when?(session: S): boolean;
  run(view: V): void;
}
