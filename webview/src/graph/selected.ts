// Which rows and boxes of a heap dump are selected.

import type { GraphState, HeapSelection } from '../../../extension/shared/messages';

/** Whether a row's own is what is selected; a row that has none, as a package, never is. */
export function isSelected({ state }: { readonly state: GraphState }, own: HeapSelection | null): boolean {
  return own !== null && sameSelection(state.selection, own);
}

export function sameSelection(a: HeapSelection | null, b: HeapSelection | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
