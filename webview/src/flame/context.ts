// What a flame graph knows of its view, and what it is of.

import type { FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { ViewContext } from '../shell/context';

/** The objects that stacks of a heap dump allocated. */
export interface StackObjects {
  /** The filter's term for those that a function allocated. */
  readonly term: string;
  /** Shows those of a box; null where the stacks are of memory that no object has. */
  readonly show: ((box: FlameNodeAnswer) => void) | null;
}

/** What a flame graph does to its view, and asks of it. */
export type FlameContext = Pick<
  ViewContext,
  | 'api'
  | 'filter'
  | 'attribution'
  | 'timeline'
  | 'openFrame'
  | 'openDeclaration'
  | 'setFilter'
  | 'say'
  | 'hear'
  | 'failed'
>;

/** What it is of. */
export interface FlameSubject extends Pick<ViewContext, 'info' | 'set' | 'setName'> {
  /** Only a heap dump has objects. */
  readonly objects?: StackObjects;
}
