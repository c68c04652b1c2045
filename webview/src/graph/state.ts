// The state of a heap dump's view, as it is kept.

import type { GraphState, HeapSelection } from '../../../extension/shared/messages';
import { oneOf } from '../base/one-of';
import { groupingsOf, located, TREES } from './groups';
import { showsNative } from './native';
import type { GraphInfo } from '../../../extension/shared/protocol.gen';

const ORDERS: readonly GraphState['order'][] = ['retained', 'shallow', 'count', 'name'];
const NATIVE_ORDERS: readonly GraphState['order'][] = ['native', 'native_retained'];
const GROUPS: readonly GraphState['by'][] = ['type', 'package', 'kind'];
const IMAGE_ORDERS: readonly GraphState['images'][] = ['bytes', 'freed'];
const STRENGTHS: readonly GraphState['through'][number][] = [
  'weak',
  'soft',
  'phantom',
  'finalizer',
  'ephemeron',
];

/** What counts besides strong references in all figures. */
export const FOLLOWED: GraphState['through'] = ['soft'];

/** What of a saved state is valid for this dump. */
export function restoreGraph(info: GraphInfo, saved: GraphState | null): GraphState {
  const same = saved?.fileBytes === info.file_bytes ? saved : null;
  const whole = { x0: 0, x1: 1, top: 0 };
  const place = same && isPlace(same) ? { x0: same.x0, x1: same.x1, top: same.top } : whole;
  const orders = showsNative(info) ? [...ORDERS, ...NATIVE_ORDERS] : ORDERS;
  return {
    selection: same ? known(info, same.selection) : null,
    order: oneOf(saved?.order, orders, 'retained'),
    reverse: saved?.reverse === true,
    by: oneOf(saved?.by, GROUPS, 'type'),
    through: Array.isArray(saved?.through)
      ? STRENGTHS.filter((each) => saved.through.includes(each))
      : FOLLOWED,
    without: same && Array.isArray(same.without) ? same.without.filter((each) => isHolder(info, each)) : [],
    images: oneOf(saved?.images, IMAGE_ORDERS, 'bytes'),
    tree: oneOf(saved?.tree, TREES, 'dominators'),
    grouped: oneOf(saved?.grouped, groupingsOf(info), 'type'),
    sunburst: saved?.sunburst === true,
    opened: same ? openedRows(same.opened) : {},
    flame: same?.flame ?? null,
    value: Number.isInteger(saved?.value) ? (saved?.value ?? 0) : 0,
    series: Array.isArray(saved?.series) ? saved.series.filter((each) => typeof each === 'string') : [],
    ...place,
    fileBytes: info.file_bytes,
  };
}

function isHolder(info: GraphInfo, holder: GraphState['without'][number]): boolean {
  const isText = (value: unknown): boolean => typeof value === 'string';
  switch (holder.is) {
    case 'object':
      return isBelow(holder.object, info.objects);
    case 'type':
      return isText(holder.type);
    case 'name':
      return isText(holder.name) && (holder.type === null || isText(holder.type));
    default:
      return false;
  }
}

/** Keys of rows that aren't there open nothing. */
function openedRows(saved: unknown): GraphState['opened'] {
  if (typeof saved !== 'object' || saved === null) return {};
  const lists = Object.entries(saved).map(([pane, keys]: [string, unknown]) => [
    pane,
    Array.isArray(keys) ? keys.filter((each) => typeof each === 'string') : [],
  ]);
  return Object.fromEntries(lists) as GraphState['opened'];
}

function isBelow(number: unknown, end: number): boolean {
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < end;
}

/** Other groupings have no more groups than that by type, which is finer, and that no more than there are objects. */
function isGroup(info: GraphInfo, group: unknown): boolean {
  if (!isBelow(group, Infinity)) return false;
  const { tree, by, node } = located(group as number);
  const groups = tree === 'paths' ? info.objects + 2 : info.compact_nodes;
  return by !== undefined && groupingsOf(info).includes(by) && node < groups;
}

function isPlace({ x0, x1, top }: GraphState): boolean {
  return 0 <= x0 && x0 < x1 && x1 <= 1 && Number.isFinite(top) && top >= 0;
}

function known(info: GraphInfo, selection: HeapSelection | null): HeapSelection | null {
  switch (selection?.is) {
    case 'object':
      return isBelow(selection.object, info.objects) ? selection : null;
    case 'type':
      return isBelow(selection.kind, info.types) ? selection : null;
    case 'group':
      return isGroup(info, selection.group) ? selection : null;
    default:
      return null;
  }
}
