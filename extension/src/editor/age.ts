// Which of two snapshots is the earlier one: by when they were recorded, else as the user chose, else as their names say,
// else by when their files were written.

import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { OrderedBy } from '../../shared/messages';
import type { GraphInfo, ProfileInfo, TimelineInfo } from '../../shared/protocol.gen';

/** What says of a snapshot when it was recorded. */
type Timed = Pick<TimelineInfo, 'model' | 'devices'> | Pick<GraphInfo | ProfileInfo, 'model' | 'written_ms'>;

/** What is known of a snapshot's time. */
export interface Age {
  readonly name: string;
  /** Unix time of its first event, or when a heap dump was taken, in microseconds; null where the file has none. */
  readonly recordedUs: number | null;
  /** When its file was written. */
  readonly modifiedMs: number | null;
}

/** When a file was written, in milliseconds; null where that can't be found out. */
export async function modifiedMs(file: string): Promise<number | null> {
  return stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => null,
  );
}

export function ageOf(file: string, modified: number | null, info: Timed | null): Age {
  return { name: path.basename(file), recordedUs: recordedUs(info), modifiedMs: modified };
}

/**
 * Whether the first is older than the second, and by what that is known. `chosen`: the order that the user gave them.
 * Names are compared as people count.
 */
export function isOlder(one: Age, other: Age, chosen?: boolean): { older: boolean; orderedBy: OrderedBy } {
  const [recorded, modified] = [
    before(one.recordedUs, other.recordedUs),
    before(one.modifiedMs, other.modifiedMs),
  ];
  if (recorded !== null) return { older: recorded, orderedBy: 'recorded' };
  if (chosen !== undefined) return { older: chosen, orderedBy: 'chosen' };
  const [mine, theirs] = [stageOf(one.name), stageOf(other.name)];
  if (mine.rest === theirs.rest && mine.stage !== theirs.stage)
    return { older: mine.stage < theirs.stage, orderedBy: 'named' };
  if (modified !== null) return { older: modified, orderedBy: 'modified' };
  return { older: one.name.localeCompare(other.name, 'en', { numeric: true }) < 0, orderedBy: 'name' };
}

/** What people call a snapshot that was taken before a change, or after it: a copy or a checkout changes files' times. */
const EARLIER = ['before', 'base', 'baseline', 'old'];
const LATER = ['after', 'new'];

/** Whether a name says earlier (-1), later (1) or neither (0), and its other words. */
function stageOf(name: string): { stage: number; rest: string } {
  const words = name.toLowerCase().split(/[^\p{L}\p{N}]+/u);
  const rest = words.filter((word) => !EARLIER.includes(word) && !LATER.includes(word));
  const has = (stage: readonly string[]): number => Number(words.some((word) => stage.includes(word)));
  return { stage: has(LATER) - has(EARLIER), rest: rest.join(' ') };
}

function before(mine: number | null, theirs: number | null): boolean | null {
  return mine === null || theirs === null || mine === theirs ? null : mine < theirs;
}

/**
 * Snapshots in the order of their times: by when they were recorded where that is known of each that could be read, else
 * by when their files were written.
 */
export function oldestFirst<T extends { readonly age: Age; readonly isRead: boolean }>(
  snapshots: readonly T[],
): T[] {
  const areRecorded = snapshots.every(({ age, isRead }) => age.recordedUs !== null || !isRead);
  const timeOf = ({ age }: T): number =>
    (areRecorded ? age.recordedUs : null) ?? (age.modifiedMs ?? 0) * 1000;
  return snapshots.toSorted((a, b) => timeOf(a) - timeOf(b) || (isOlder(a.age, b.age).older ? -1 : 1));
}

function recordedUs(info: Timed | null): number | null {
  switch (info?.model) {
    case 'timeline': {
      const times = info.devices.flatMap(({ time_origin_us: at }) => at ?? []);
      return times.length > 0 ? Math.min(...times) : null;
    }
    case 'graph':
    case 'profile':
      return info.written_ms === null ? null : info.written_ms * 1000;
    case undefined:
      return null;
  }
}
