// What a flame graph knows of its view, and what it may do to it.

import type { FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewContext } from '../shell/context';
import type { KeptFlame } from './settings';

/** The objects that stacks of a heap dump allocated. */
export interface StackObjects {
  /** The filter's term for those that a function allocated. */
  readonly term: string;
  /** Shows those of a box; null where the stacks are of memory that no object has. */
  readonly show: ((box: FlameNodeAnswer) => void) | null;
}

export interface FlameContext extends Pick<
  ViewContext,
  | 'api'
  | 'info'
  | 'set'
  | 'filter'
  | 'attribution'
  | 'timeline'
  | 'openFrame'
  | 'openDeclaration'
  | 'setFilter'
  | 'say'
  | 'hear'
  | 'failed'
> {
  /** Only a heap dump has objects. */
  readonly objects?: StackObjects;
}

/** A view of which the flame graph of its set is a pane or the picture. */
export interface SetFlameContext extends FlameContext, Pick<ViewContext, 'setName'> {
  /** How its flame graph is shown. */
  readonly flame: KeptFlame;
}
