// What a profile's view says of the file, and which of its values it shows.

import type { ProfileInfo } from '../../../extension/shared/protocol.gen';
import { figureIn } from '../base/figure';
import { plural, said, t } from '../base/l10n';
import type { Picker } from '../shell/toolbar';
import { placeText } from './range';

export function valueOf(
  { values, default_value: first }: ProfileInfo,
  saved: number | null | undefined,
): number {
  return Number.isInteger(saved) && values[saved ?? -1] !== undefined ? (saved ?? first) : first;
}

/** The profile in a few figures, for the status line: how long it ran, what leaked, was temporary, was allocated. */
export function factsOf({ kind, values, samples, stacks, bins, end, time_unit: unit }: ProfileInfo): string {
  const figures = (['end', 'temporary', 'total'] as const).flatMap((meaning) => {
    // bytes come first
    const value = values.find((each) => each.meaning === meaning);
    return value ? [`${said(value.title)} ${figureIn(value.total, value.unit)}`] : [];
  });
  const facts = [
    ...(bins > 0 ? [placeText(end, unit)] : []),
    ...figures,
    t('{0} of {1}', plural(samples, '{0} sample', '{0} samples'), plural(stacks, '{0} stack', '{0} stacks')),
  ];
  return [kind, ...facts].join('  ·  ');
}

/** The list of values; of a range, which `name` is, none of them is known. */
export function valuePicker(
  { values, has_frees: hasFrees }: ProfileInfo,
  shown: number,
  name: string | null,
  pick: (value: number) => void,
): Picker {
  const range = name === null ? '' : name.charAt(0).toUpperCase() + name.slice(1);
  const inUnit =
    values[shown]?.unit === 'count' && hasFrees ? t('{0}, in allocations', range) : t('{0}, in bytes', range);
  return {
    label: t('Value'),
    key: 'v',
    value: name === null ? String(shown) : '',
    options: [
      ...(name === null ? [] : [{ value: '', text: inUnit, disabled: true }]),
      ...values.map(({ title, name: own, unit, total }, value) => ({
        value: String(value),
        text: `${said(title)} · ${figureIn(total, unit)}`,
        title: own,
      })),
    ],
    pick: (value) => pick(Number(value)),
  };
}
