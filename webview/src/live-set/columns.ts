// The columns of the live set: what they are called, and how wide their figures need them.

import type { ProfileInfo, SnapshotInfo, TimelineInfo } from '../../../extension/shared/protocol.gen';
import { countsKnown, countsSamples, figureHead, figureIn, inBytes } from '../base/figure';
import { count } from '../base/format';
import { t } from '../base/l10n';
import { categoriesOf, never } from '../shell/model';
import type { GroupOrder, MemberOrder } from './tree';

export interface Column<Order> {
  readonly name: string;
  readonly title: string;
  readonly width: string;
  readonly order: Order | null;
  /** It has words in it, not figures. */
  readonly text?: boolean;
}

/** A file and its line stay readable beside the figures in half a window. */
const NAME = 'minmax(200px, 1fr)';
const SHARE = 'minmax(76px, 180px)';
const FIGURE_PX = 84;
const COUNT_PX = 64;

/** Of single allocations. */
export function memberColumns(info: SnapshotInfo): readonly Column<MemberOrder>[] {
  return [
    { name: t('Line of code'), title: t('Sort by when it was allocated'), width: NAME, order: 'start' },
    { name: t('Size'), title: t('Requested bytes'), width: '92px', order: 'size' },
    { name: t('Share'), title: t('Share of the set’s bytes'), width: 'minmax(96px, 180px)', order: null },
    { name: t('Lifetime'), width: '92px', order: 'life', title: t('Lifetime, if recorded') },
    { name: t('Address'), title: t('Sort by address'), width: '130px', order: 'address' },
    { name: t('State'), title: t('How it ended'), width: '190px', order: null, text: true },
    ...(categoriesOf(info).length > 0
      ? [{ name: t('Category'), title: '', width: '120px', order: null, text: true }]
      : []),
  ];
}

/** Of groups. `setName` says what is measured, `rule` by which rule a stack counts for one line. */
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

function nameColumn(rule: string): Column<GroupOrder> {
  return { name: t('Name'), title: t('{0} Sort by name', rule), width: NAME, order: 'name' };
}

function allocationColumns({ devices }: TimelineInfo, rule: string): Column<GroupOrder>[] {
  const most = Math.max(0, ...devices.map(({ allocations }) => allocations));
  const figure = `${FIGURE_PX}px`;
  return [
    nameColumn(rule),
    { name: t('Bytes'), title: t('Requested bytes in total'), width: figure, order: 'bytes' },
    { name: t('Share'), title: t('Share of the set’s bytes'), width: SHARE, order: null },
    {
      name: t('Count'),
      title: t('How many allocations'),
      width: wide(count(most), COUNT_PX),
      order: 'count',
    },
    { name: t('Largest'), title: t('The largest single allocation'), width: figure, order: 'largest' },
  ];
}

function sampleColumns(profile: ProfileInfo, setName: string, rule: string): Column<GroupOrder>[] {
  const { samples, values } = profile;
  const most = Math.max(samples, ...values.map(({ unit, total }) => (unit === 'count' ? total : 0)));
  // whatever of the values is shown: in a range it is another one
  const widths = values.map(({ unit, total }) => figureIn(total, unit)).filter((text) => !text.endsWith('B'));
  const figureWidth = inBytes() ? `${FIGURE_PX}px` : wide(longest(widths), FIGURE_PX);
  const counts = !countsKnown()
    ? t('The file doesn’t say how many allocations')
    : countsSamples()
      ? t('How many samples the file has of it')
      : t('How many allocations');
  return [
    nameColumn(rule),
    {
      name: figureHead(),
      title: setName.charAt(0).toUpperCase() + setName.slice(1),
      width: figureWidth,
      order: 'bytes',
    },
    { name: t('Share'), title: t('Share of all of it'), width: SHARE, order: null },
    {
      name: countsSamples() ? t('Samples') : t('Count'),
      title: counts,
      width: wide(count(most), COUNT_PX),
      order: 'count',
    },
    {
      name: t('Largest'),
      title:
        profile.has_sizes && inBytes()
          ? t('The size of the largest block')
          : t('Total of the largest single stack'),
      width: figureWidth,
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
