// What a flame graph knows of its view, and what it may do to it.

import type { FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewContext } from '../shell/context';

/** The objects that stacks of a heap dump allocated. */
export interface StackObjects {
  /** The filter's term for those that a function allocated. */
  readonly term: string;
  /** Shows those of a box. */
  show(box: FlameNodeAnswer): void;
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
  | 'setFilter'
  | 'say'
  | 'failed'
> {
  /** Only a heap dump has objects. */
  readonly objects?: StackObjects;
}
