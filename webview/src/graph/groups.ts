// The numbers of groups of the dominator tree, of which there is one for each grouping: `memlens/heapGroup` of the
// protocol says how they are numbered.

import type { GraphInfo, Requests } from '../../../extension/shared/protocol.gen';

export type Grouping = Requests['memlens/heapPicture']['params']['by'];

const GROUPINGS: readonly Grouping[] = ['type', 'package', 'module'];
const NODES_OF_A_TREE = 2 ** 32;

/** What a dump's dominator tree can be grouped by. */
export function groupingsOf({ has_modules: hasModules }: GraphInfo): readonly Grouping[] {
  return hasModules ? GROUPINGS : GROUPINGS.slice(0, 2);
}

/** The group that a node of a tree is. */
export function groupOf(by: Grouping, node: number): number {
  return GROUPINGS.indexOf(by) * NODES_OF_A_TREE + node;
}

/** The tree and the node of a group. */
export function located(group: number): { readonly by: Grouping | undefined; readonly node: number } {
  return { by: GROUPINGS[Math.floor(group / NODES_OF_A_TREE)], node: group % NODES_OF_A_TREE };
}
