// What differs by a snapshot's model and is asked for in more than one place.

import { t } from '../base/l10n';
import type { DeviceInfo, ProfileInfo, SnapshotInfo } from '../../../extension/shared/protocol.gen';

/** Stands where no model is left: a new one is a type error there until it has a branch of its own. */
export function never(value: never): never {
  throw new Error(`There is no such model: ${JSON.stringify(value)}`);
}

export type Model = SnapshotInfo['model'];

interface ModelTraits {
  /** "b.prof is a profile" */
  readonly is: string;
  /** Why a file, which `is` something else, can't be compared with one of this model. */
  readonly unlike: (name: string, is: string) => string;
  /** What a comparison of two shows. */
  readonly compared: string;
  /** Whether it has single allocations, to be listed and highlighted in a picture. */
  readonly hasAllocations: boolean;
  /** The title of the table of groups. */
  readonly groups: string;
}

export const MODELS: Record<Model, ModelTraits> = {
  timeline: {
    is: t('a trace of allocations'),
    unlike: (name, is) =>
      t('{0} is {1}, and this is a trace of allocations: compare it with another trace.', name, is),
    compared: t('Two snapshots side by side: what grew, what shrank, and on which line.'),
    hasAllocations: true,
    groups: t('What’s in memory'),
  },
  profile: {
    is: t('a profile'),
    unlike: (name, is) => t('{0} is {1}, and this is a profile: compare it with another profile.', name, is),
    compared: t('Two profiles side by side: what grew, what shrank, and on which line.'),
    hasAllocations: false,
    groups: t('Hot spots'),
  },
  graph: {
    is: t('a heap dump'),
    unlike: (name, is) =>
      t('{0} is {1}, and this is a heap dump: compare it with another heap dump.', name, is),
    compared: t('Two heap dumps side by side: what grew, what shrank, and what holds it.'),
    hasAllocations: false,
    groups: t('Types'),
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
