// What differs by a snapshot's model and is asked for in more than one place.

import { t } from '../base/l10n';
import type { DeviceInfo, ProfileInfo, SnapshotInfo } from '../../../extension/shared/protocol.gen';

/** Stands where no model is left: a new one is a type error there until it has a branch of its own. */
export function never(value: never): never {
  throw new Error(`There is no such model: ${JSON.stringify(value)}`);
}

export type Model = SnapshotInfo['model'];

interface ModelTraits {
  /** "this one is a profile" */
  readonly is: string;
  /** "compare it with another profile" */
  readonly name: string;
  /** "two profiles side by side" */
  readonly plural: string;
  /** Where a comparison says that it grew. */
  readonly where: string;
  /** Whether it has single allocations, to be listed and lit up in a picture. */
  readonly hasAllocations: boolean;
  /** The title of the table of groups. */
  readonly groups: string;
  /** "Nothing was allocated at the peak": a profile's value says itself what was done. */
  readonly done: string;
}

export const MODELS: Record<Model, ModelTraits> = {
  timeline: {
    ...{ is: 'a trace of allocations', name: 'trace', plural: 'snapshots' },
    where: 'on which line',
    ...{ hasAllocations: true, groups: t('What’s in memory'), done: 'was allocated ' },
  },
  profile: {
    ...{ is: 'a profile', name: 'profile', plural: 'profiles' },
    where: 'on which line',
    ...{ hasAllocations: false, groups: t('Hot spots'), done: '' },
  },
  graph: {
    ...{ is: 'a heap dump', name: 'heap dump', plural: 'heap dumps' },
    where: 'what holds it',
    ...{ hasAllocations: false, groups: t('Types'), done: '' },
  },
};

/** The devices of a timeline; other models have none. */
export function devicesOf(info: SnapshotInfo): readonly DeviceInfo[] {
  switch (info.model) {
    case 'timeline':
      return info.devices;
    case 'profile':
    case 'graph':
      return [];
    default:
      return never(info);
  }
}

/** The profile that it is; null for other models. */
export function profileOf(info: SnapshotInfo): ProfileInfo | null {
  switch (info.model) {
    case 'timeline':
    case 'graph':
      return null;
    case 'profile':
      return info;
    default:
      return never(info);
  }
}

/** The names of a timeline's categories; other models have none. */
export function categoriesOf(info: SnapshotInfo): readonly string[] {
  switch (info.model) {
    case 'timeline':
      return info.categories;
    case 'profile':
    case 'graph':
      return [];
    default:
      return never(info);
  }
}
