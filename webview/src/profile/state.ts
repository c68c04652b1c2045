// A profile's view as it is kept, and what it says of the file.

import type { CompareState, FlameState, PaneId, ViewState } from '../../../extension/shared/messages';
import type { ProfileInfo } from '../../../extension/shared/protocol.gen';
import { figureIn } from '../base/figure';
import { plural, said, t } from '../base/l10n';
import type { Picker } from '../shell/toolbar';
import { placeText, type Stretch } from './stretch';

export function valueOf(
  { values, default_value: first }: ProfileInfo,
  saved: number | null | undefined,
): number {
  return Number.isInteger(saved) && values[saved ?? -1] !== undefined ? (saved ?? first) : first;
}

/** The stretch of time that was chosen; null for the whole of the profile. */
export function stretchOf(state: ViewState | null): Stretch | null {
  return state && state.first !== null ? { kind: state.kind, from: state.first, to: state.second } : null;
}

/** What a profile's view keeps; the rest of the state is a timeline's. */
export interface ProfileState {
  readonly pane: PaneId | null;
  readonly filter: string;
  readonly value: number;
  readonly stretch: Stretch | null;
  readonly compare: CompareState | null;
  readonly flame: FlameState;
}

export function stateOf({ pane, filter, value, stretch, compare, flame }: ProfileState): ViewState {
  return {
    ...{ device: 0, axis: 'event', x0: 0, x1: 1, y0: 0, y1: 1, selection: null },
    ...{ colour: 'stack', areas: 'line', holdHeight: false, picture: 'stacked', pane, filter },
    ...{
      scope: !stretch ? 'peak' : stretch.to === null ? 'cursor' : 'between',
      kind: stretch?.kind ?? 'live',
    },
    ...{ first: stretch?.from ?? null, second: stretch?.to ?? null },
    ...{ compare, flame, value, graph: null },
  };
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

/** The list of values; of a stretch, which `name` is, none of them is known. */
export function valuePicker(
  { values }: ProfileInfo,
  shown: number,
  name: string | null,
  pick: (value: number) => void,
): Picker {
  const stretch = name === null ? '' : name.charAt(0).toUpperCase() + name.slice(1);
  const inUnit =
    values[shown]?.unit === 'count' ? t('{0}, in allocations', stretch) : t('{0}, in bytes', stretch);
  return {
    ...{ label: t('Value'), key: 'v', value: name === null ? String(shown) : '' },
    options: [
      ...(name === null ? [] : [{ value: '', text: inUnit, disabled: true }]),
      ...values.map(({ title, name: own, unit, total }, value) => ({
        ...{ value: String(value), text: `${said(title)} · ${figureIn(total, unit)}`, title: own },
      })),
    ],
    pick: (value) => {
      pick(Number(value));
    },
  };
}
