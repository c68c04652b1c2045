// By what the live set is grouped and how it is sorted, as it is kept when the view is reloaded.

import { oneOf } from '../base/one-of';
import type { SavedLiveSet } from '../base/saved';
import type { GroupKind, GroupOrder, MemberOrder } from './tree';

const GROUP_ORDERS: readonly GroupOrder[] = ['bytes', 'count', 'largest', 'name'];
const MEMBER_ORDERS: readonly MemberOrder[] = ['size', 'start', 'life', 'address'];

/** A line, then who called it. */
export const LINES: readonly GroupKind[] = ['line', 'caller'];
const FIRST: SavedLiveSet = { by: [...LINES], groupOrder: 'bytes', memberOrder: 'size', descending: true };

/** What was kept, as far as it is known here: another version may have kept it. */
export function restoreSettings(saved: Partial<SavedLiveSet> | undefined): SavedLiveSet {
  return {
    by: Array.isArray(saved?.by) ? saved.by : FIRST.by,
    groupOrder: oneOf(saved?.groupOrder, GROUP_ORDERS, FIRST.groupOrder),
    memberOrder: oneOf(saved?.memberOrder, MEMBER_ORDERS, FIRST.memberOrder),
    descending: saved?.descending !== false,
  };
}
