// What a flame graph is asked for: the choices of its toolbar and what was done to single frames.

import { signal, type Signal } from '@preact/signals';
import { oneOf } from '../base/one-of';
import type { FlamePlace, FlameState, ViewParams } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  FlameName,
  GraphInfo,
  ProfileInfo,
  TimelineInfo,
} from '../../../extension/shared/protocol.gen';

const FORMS: readonly Form[] = ['icicle', 'flame', 'table', 'functions'];
const VALUES: readonly Value[] = ['bytes', 'count', 'total'];
const MOST_KEPT_NAMES = 50;

export type Form = FlameState['form'];
type Value = FlameState['value'];

/** What of a snapshot decides how its flame graph is shown at first, and whether what was kept is of it. */
export type FlameFile =
  | Pick<TimelineInfo | ProfileInfo, 'model' | 'file_bytes' | 'mixed_stacks'>
  | Pick<GraphInfo, 'model' | 'file_bytes'>;

export type FlameSettings = Omit<FlameState, 'fileBytes'>;

/** Libraries are collapsed where stacks mix native code with the user's own. */
export function initialSettings(info: FlameFile): FlameSettings {
  return {
    form: 'icicle',
    direction: 'top_down',
    merge: 'function',
    order: 'value',
    value: 'bytes',
    colour: 'package',
    fold: false,
    collapse: (info.model === 'timeline' || info.model === 'profile') && info.mixed_stacks,
    wholePaths: false,
    packages: [],
    hidden: [],
    focus: null,
    search: '',
    sandwich: null,
    place: null,
  };
}

/** The settings of one view's flame graph. */
export class KeptFlame {
  private readonly kept: Signal<FlameSettings>;
  /** Raised when it is to be shown as it was somewhere before. */
  readonly restored = signal(0);

  constructor(
    saved: FlameState | null,
    private readonly info: FlameFile,
    /** What the view decides. */
    private readonly fixed: Partial<FlameSettings> = {},
  ) {
    this.kept = signal({ ...restoreFlame(saved, info), ...fixed });
  }

  get settings(): FlameSettings {
    return this.kept.peek();
  }

  set(part: Partial<FlameSettings>): void {
    this.kept.value = { ...this.settings, ...part };
  }

  /** As it was somewhere before, or is to be elsewhere. */
  restore(saved: FlameState | null): void {
    this.kept.value = { ...restoreFlame(saved, this.info), ...this.fixed };
    this.restored.value++;
  }

  /** For the host to keep. */
  get state(): FlameState {
    return { ...this.kept.value, fileBytes: this.info.file_bytes };
  }
}

/** What was kept, as far as it is whole; nothing from a file is believed. Names are numbers of this file's frames. */
export function restoreFlame(saved: FlameState | null | undefined, info: FlameFile): FlameSettings {
  const first = initialSettings(info);
  if (!saved || typeof saved !== 'object') return first;
  // what was kept before there was such a choice has none
  const { wholePaths = false } = saved as Partial<FlameState>;
  const sameFile = saved.fileBytes === info.file_bytes;
  const name = (value: FlameName | null | undefined): FlameName | null =>
    sameFile && value && Number.isInteger(value.name) && value.name >= 0 && typeof value.function === 'string'
      ? // what was kept before names had a source, or Memlens's own had texts, has none
        {
          ...value,
          source: (value as Partial<FlameName>).source ?? 'recorded',
          said: (value as Partial<FlameName>).said ?? null,
        }
      : null;
  const list = <T>(values: readonly T[]): readonly T[] =>
    (Array.isArray as (value: unknown) => boolean)(values) ? values.slice(0, MOST_KEPT_NAMES) : [];
  return {
    form: oneOf(saved.form, FORMS, first.form),
    direction: oneOf(saved.direction, ['top_down', 'bottom_up'], first.direction),
    merge: oneOf(saved.merge, ['function', 'line'], first.merge),
    order: oneOf(saved.order, ['value', 'time'], first.order),
    value: oneOf(saved.value, VALUES, first.value),
    colour: oneOf(saved.colour, ['package', 'value'], first.colour),
    fold: saved.fold,
    collapse: saved.collapse,
    wholePaths,
    packages: list(saved.packages).filter((each) => typeof each === 'string'),
    hidden: list(saved.hidden).flatMap((each) => name(each) ?? []),
    focus: name(saved.focus),
    search: typeof saved.search === 'string' ? saved.search.slice(0, 200) : '',
    sandwich: name(saved.sandwich),
    place: sameFile ? restorePlace((saved as Partial<FlameState>).place) : null,
  };
}

function restorePlace(saved: FlamePlace | null | undefined): FlamePlace | null {
  if (!saved || typeof saved.of !== 'string') return null;
  const { of, x0, x1, top, node } = saved;
  const fits = 0 <= x0 && x0 < x1 && x1 <= 1 && top >= 0;
  return fits ? { of, x0, x1, top, node: Number.isInteger(node) ? node : null } : null;
}

/** Whether boxes are drawn, and not a table. */
export function isDrawn({ form }: Pick<FlameSettings, 'form'>): boolean {
  return form === 'icicle' || form === 'flame';
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
      // a table of functions names those of libraries
      collapse: settings.collapse && settings.form !== 'functions' ? ['*'] : settings.packages,
      hide: settings.hidden.map(({ name }) => name),
      focus: settings.focus?.name ?? null,
    },
  };
}
