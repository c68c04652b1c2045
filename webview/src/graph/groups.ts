// The numbers of groups of a dump's trees, of which there are two, each in a form for each grouping:
// `memlens/heapGroup` of the protocol says how they are numbered.

import type { HeapTree } from '../../../extension/shared/messages';
import type { GraphInfo, Requests } from '../../../extension/shared/protocol.gen';

export type Grouping = Requests['memlens/heapPicture']['params']['by'];

/** Which tree it is, and what it is grouped by. */
export interface TreeForm {
  readonly tree: HeapTree;
  readonly by: Grouping;
}

export const TREES: readonly HeapTree[] = ['dominators', 'paths'];
const GROUPINGS: readonly Grouping[] = ['type', 'package', 'module'];
/** What the server calls the box of all that no root reaches. */
export const UNREACHABLE = '(unreachable)';
const NODES_OF_A_TREE = 2 ** 32;

/** What a dump's trees can be grouped by. */
export function groupingsOf({ has_modules: hasModules }: GraphInfo): readonly Grouping[] {
  return hasModules ? GROUPINGS : GROUPINGS.slice(0, 2);
}

/** The group that a node of a tree is. */
export function groupOf({ tree, by }: TreeForm, node: number): number {
  return (TREES.indexOf(tree) * GROUPINGS.length + GROUPINGS.indexOf(by)) * NODES_OF_A_TREE + node;
}

/** The tree and the node of a group; of a number that no group has neither is known. */
export function located(group: number): Partial<TreeForm> & { readonly node: number } {
  const form = Math.floor(group / NODES_OF_A_TREE);
  const tree = TREES[Math.floor(form / GROUPINGS.length)];
  const by = GROUPINGS[form % GROUPINGS.length];
  const node = group % NODES_OF_A_TREE;
  return tree === undefined || by === undefined ? { node } : { tree, by, node };
}
