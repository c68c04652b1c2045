// What stands at which height of the memory map, in ticks and in words.

import { plural, said, t } from '../../base/l10n';
import type {
  DeviceInfo,
  MapGroup,
  MapLane,
  MapLanesAnswer,
} from '../../../../extension/shared/protocol.gen';
import { bytes } from '../../base/format';
import type { Camera } from '../../canvas/camera';
import type { Ticks } from '../../canvas/ticks';

/** CSS pixels that a lane's label needs. */
const LABEL_PX = 15;
const MOST_LABELS = 60;

/** The lane at a height; null in a gap. Lanes are ordered from the bottom up. */
export function laneAt(lanes: readonly MapLane[], y: number): MapLane | null {
  const lane = lanes[before(lanes, y)];
  return lane && y < lane.y + lane.size_bytes ? lane : null;
}

/** The group at a height; null in a gap. */
function groupAt(groups: readonly MapGroup[], y: number): MapGroup | null {
  return groups.find((group) => y >= group.y && y < group.y + group.height) ?? null;
}

/** Labels in the middle of the visible part of each lane that has room: how large it is. */
export function laneTicks(lanes: readonly MapLane[], camera: Camera, heightPx: number): Ticks {
  const perPx = (camera.y1 - camera.y0) / heightPx;
  const ticks: { at: number; label: string }[] = [];
  for (let i = Math.max(before(lanes, camera.y0), 0); i < lanes.length && ticks.length < MOST_LABELS; i++) {
    const lane = lanes[i];
    if (!lane || lane.y > camera.y1) break;
    const low = Math.max(lane.y, camera.y0);
    const high = Math.min(lane.y + lane.size_bytes, camera.y1);
    if ((high - low) / perPx >= LABEL_PX) ticks.push({ at: (low + high) / 2, label: bytes(lane.size_bytes) });
  }
  return { ticks, base: null };
}

/** "Private pool 0, 1 on stream 7", "Default pool on stream 0", "In no segment of the file". */
export function groupName(group: MapGroup): string {
  if (!group.known) return t('In no segment of the file');
  return group.pool === null
    ? t('Default pool on stream {0}', group.stream)
    : t('Private pool ({0}) on stream {1}', group.pool, group.stream);
}

/** What is at a height, for the tooltip. `taken`: an allocation lies there. */
export function laneWords(all: MapLanesAnswer, y: number, taken: boolean): string[] {
  const lane = laneAt(all.lanes, y);
  const group = groupAt(all.groups, y);
  if (!lane || !group) return [];
  const address = `0x${(BigInt(lane.address) + BigInt(Math.max(0, Math.floor(y - lane.y)))).toString(16)}`;
  const size = bytes(lane.size_bytes);
  const place = lane.expandable
    ? t('{0} in an expandable segment of {1} at {2}', address, size, lane.address)
    : t('{0} in a segment of {1} at {2}', address, size, lane.address);
  const words = [group.known ? place : t('{0}, in no segment of the file', address)];
  if (group.known) words.push(groupName(group));
  if (!taken && group.known) words.unshift(t('No allocation here'));
  return words;
}

/** The map in a sentence. */
export function shownLanes(all: MapLanesAnswer, { name }: Pick<DeviceInfo, 'name'>): string {
  const device = said(name);
  const known = all.groups.filter((group) => group.known);
  if (known.length === 0)
    return t(
      '{0}: memory map by address; the file names no segments, so only allocations are drawn.',
      device,
    );
  const lanes = known.reduce((sum, group) => sum + group.lane_count, 0);
  const pools = known.filter((group) => group.pool !== null).length;
  const map = plural(
    lanes,
    '{1}: memory map, {0} lane of segments',
    '{1}: memory map, {0} lanes of segments',
    device,
  );
  if (pools === 0) return `${map}.`;
  return plural(
    pools,
    '{1}, {0} group of private pools apart.',
    '{1}, {0} groups of private pools apart.',
    map,
  );
}

function before(lanes: readonly MapLane[], y: number): number {
  let low = 0;
  let high = lanes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((lanes[middle]?.y ?? Infinity) <= y) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
