// A part of a profile's run: between two edges of its times, or what was live at one.

import type { ProfileState } from '../../../extension/shared/messages';
import type { AllocationSet } from '../../../extension/shared/protocol.gen';
import { bytes, count, time } from '../base/format';
import { t } from '../base/l10n';
import type { ChoiceOption } from '../widgets/choice';

/** A range between two edges, and what of it is meant. */
export type TimeRange = NonNullable<ProfileState['range']>;

export type RangeKind = AllocationSet['kind'];

/** What of a range can be meant. */
export function rangeKinds(hasFrees: boolean): readonly ChoiceOption<RangeKind>[] {
  const allocated: ChoiceOption<RangeKind> = {
    value: 'allocated',
    text: t('Allocated'),
    title: t('What was allocated in the range'),
  };
  if (!hasFrees) return [allocated];
  return [
    allocated,
    { value: 'freed', text: t('Freed'), title: t('What was freed in the range') },
    {
      value: 'survived',
      text: t('Survived'),
      title: t('What each stack allocated in the range minus what it freed there'),
    },
  ];
}

/** "allocated from 1.2 s to 3 s"; `at` says when an edge is. */
export function rangeName({ kind, from, to }: TimeRange, at: (edge: number) => string): string {
  if (to === null) return t('live at {0}', at(from));
  switch (kind) {
    case 'live':
      return t('live from {0} to {1}', at(from), at(to));
    case 'allocated':
      return t('allocated from {0} to {1}', at(from), at(to));
    case 'freed':
      return t('freed from {0} to {1}', at(from), at(to));
    case 'survived':
      return t('survived from {0} to {1}', at(from), at(to));
  }
}

/** A place on the axis of times in words. */
export function placeText(value: number, unit: string): string {
  if (unit === 'microseconds') return time(value);
  return unit === 'bytes' ? t('{0} allocated', bytes(value)) : `${count(value)} ${unit}`;
}

/** Whether what was kept is a range of so many edges. */
export function isRange({ kind, from, to }: TimeRange, edges: number): boolean {
  const isEdge = (edge: number): boolean => Number.isInteger(edge) && edge >= 0 && edge < edges;
  if (to === null) return isEdge(from);
  return rangeKinds(true).some(({ value }) => value === kind) && isEdge(from) && isEdge(to);
}
