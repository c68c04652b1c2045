// The columns of the live set's groups: what they are called, and how wide their figures need them.

import type { ProfileInfo, SnapshotInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import { never } from '../shell/model';
import { countsKnown, countsSamples, figureHead, figureIn, inBytes } from '../base/figure';
import { count } from '../base/format';
import type { GroupOrder } from './tree';

export interface Column<Order> {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly order: Order | null;
}

/** A file and its line stay readable beside the figures in half a window. */
export const NAME = 'minmax(200px, 1fr)';
const SHARE = 'minmax(76px, 180px)';
const FIGURE_PX = 84;
const COUNT_PX = 64;
/** `setName` says what is measured, `rule` by which rule a stack counts for one line. */
export function groupColumns(info: SnapshotInfo, setName: string, rule: string): Column<GroupOrder>[] {
  switch (info.model) {
    case 'timeline':
      return allocationColumns(info, rule);
    case 'profile':
      return sampleColumns(info, setName, rule);
    case 'graph':
      return [];
    default:
      return never(info);
  }
}

function allocationColumns({ devices }: TimelineInfo, rule: string): Column<GroupOrder>[] {
  const most = Math.max(0, ...devices.map(({ allocations }) => allocations));
  return [
    { name: 'Name', title: `${rule} Sort by name`, width: NAME, order: 'name' },
    { name: 'Bytes', title: 'Requested bytes in all', width: `${FIGURE_PX}px`, order: 'bytes' },
    { name: 'Share', title: 'Share of the set’s bytes', width: SHARE, order: null },
    { name: 'Count', title: 'How many allocations', width: wide(count(most), COUNT_PX), order: 'count' },
    { name: 'Largest', title: 'The largest single allocation', width: `${FIGURE_PX}px`, order: 'largest' },
  ];
}

function sampleColumns(profile: ProfileInfo, setName: string, rule: string): Column<GroupOrder>[] {
  const { samples, values } = profile;
  const most = Math.max(samples, ...values.map(({ unit, total }) => (unit === 'count' ? total : 0)));
  const countWidth = wide(count(most), COUNT_PX);
  const head = figureHead();
  // whatever of the values is shown: in a stretch it is another one
  const widths = values.map(({ unit, total }) => figureIn(total, unit)).filter((text) => !text.endsWith('B'));
  const figureWidth = inBytes() ? `${FIGURE_PX}px` : wide(longest(widths), FIGURE_PX);
  const measured = setName.charAt(0).toUpperCase() + setName.slice(1);
  const counts = !countsKnown()
    ? 'The file doesn’t say how many allocations'
    : countsSamples()
      ? 'How many samples the file has of it'
      : 'How many allocations';
  return [
    { name: 'Name', title: `${rule} Sort by name`, width: NAME, order: 'name' },
    { name: head, title: measured, width: figureWidth, order: 'bytes' },
    { name: 'Share', title: 'Share of all of it', width: SHARE, order: null },
    {
      name: countsSamples() ? 'Samples' : 'Count',
      title: counts,
      width: countWidth,
      order: 'count',
    },
    {
      ...(profile.has_sizes && inBytes()
        ? { name: 'Largest block', title: 'The size of the largest block' }
        : { name: 'Largest stack', title: 'What the largest single stack has in all' }),
      width: `max(${figureWidth}, 17ch)`,
      order: 'largest',
    },
  ];
}

/** Room for a figure in a column, its padding and the arrow of a head included. */
function wide(text: string, leastPx: number): string {
  return `max(${leastPx}px, ${text.length + 4}ch)`;
}

function longest(texts: readonly string[]): string {
  return texts.reduce((found, text) => (text.length > found.length ? text : found), '');
}
