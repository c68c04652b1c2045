// What parts of a flame graph tell each other.

import type { FlameName, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import type { FlamePane } from './pane';

/** Whether the line of what is selected is to be opened, too, and where. */
export type Opening = { readonly beside: boolean } | null;

/** What is shown of a node in the details, and in which words. */
export interface ShownNode {
  readonly answer: FlameNodeAnswer;
  readonly isCount: boolean;
  /** There are boxes to zoom to. */
  readonly drawn: boolean;
}

/** Whether a line of a function can be opened, or what the function stands for. */
export function opens({ line }: { readonly line: number }, { kind, declared }: FlameName): boolean {
  return declared !== '' || (line > 0 && kind !== 'native');
}

/** Opens a line of a function, or what it stands for. */
export function openLine(
  { context }: FlamePane,
  line: { readonly file: string; readonly line: number; readonly function: string },
  { kind, declared }: Pick<FlameName, 'kind' | 'declared'>,
  beside: boolean,
): void {
  if (declared !== '') {
    context.openDeclaration(declared, beside);
    return;
  }
  context.openFrame({ ...line, kind: kind === 'none' ? 'user' : kind, source: 'recorded' }, beside);
}
