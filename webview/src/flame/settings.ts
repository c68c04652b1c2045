// What a flame graph is asked for: the choices of its toolbar and what was done to single frames.

import type { AllocationSet, FlameName, FlameOptions } from '../../../extension/shared/protocol.gen';
import type { ViewParams } from '../../../extension/shared/messages';
import type { ColourBy } from './colours';

export type Form = 'flame' | 'icicle' | 'table';
/** "total" is what was allocated in the whole run, whichever set is chosen. */
export type Value = 'bytes' | 'count' | 'total';

export interface FlameSettings {
  form: Form;
  direction: FlameOptions['direction'];
  merge: FlameOptions['merge'];
  order: FlameOptions['order'];
  value: Value;
  colour: ColourBy;
  fold: boolean;
  /** All libraries and native code, each package one box. */
  collapse: boolean;
  /** Packages that are collapsed one by one. */
  packages: string[];
  hidden: FlameName[];
  focus: FlameName | null;
  search: string;
}

export function initialSettings(): FlameSettings {
  return {
    form: 'icicle',
    direction: 'top_down',
    merge: 'function',
    order: 'value',
    value: 'bytes',
    colour: 'package',
    fold: false,
    collapse: false,
    packages: [],
    hidden: [],
    focus: null,
    search: '',
  };
}

export type TreeParams = Omit<ViewParams<'memlens/flameSearch'>, 'text'>;

/** The part of every request that says which tree it is about. */
export function treeParams(settings: FlameSettings, set: AllocationSet, events: number): TreeParams {
  const total = settings.value === 'total';
  return {
    of: total ? { ...set, kind: 'live', from_moment: 0, to_moment: events } : set,
    value: settings.value === 'count' ? 'count' : 'bytes',
    options: {
      direction: settings.direction,
      merge: settings.merge,
      order: settings.order,
      fold_recursion: settings.fold,
      collapse: settings.collapse ? ['*'] : settings.packages,
      hide: settings.hidden.map(({ name }) => name),
      focus: settings.focus?.name ?? null,
    },
  };
}
