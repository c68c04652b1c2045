// What the live set can be grouped by, in words.

import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { plural, t } from '../base/l10n';
import { never } from '../shell/model';
import type { GroupKind } from './tree';

const KINDS: readonly GroupKind[] = [
  ...(['line', 'caller', 'function', 'file', 'module', 'stack', 'freed', 'category'] as const),
  ...(['stream', 'pool', 'package', 'thread', 'label', 'size'] as const),
];
const OF_SAMPLES: readonly GroupKind[] = ['package', 'thread', 'label'];
const OF_TRACES: readonly GroupKind[] = ['module', 'freed', 'category', 'stream', 'pool'];

export function kindText(kind: GroupKind): string {
  const texts: Record<GroupKind, string> = {
    line: t('Line'),
    caller: t('Caller'),
    function: t('Function'),
    file: t('File'),
    module: t('Module'),
    stack: t('Stack'),
    freed: t('Freed By'),
    category: t('Category'),
    stream: t('Stream'),
    pool: t('Pool'),
    package: t('Package'),
    thread: t('Thread'),
    label: t('Label'),
    size: t('Size'),
  };
  return texts[kind];
}

/** What a snapshot or a profile can be grouped by, as far as the file says. */
export function kindsFor(info: SnapshotInfo): readonly GroupKind[] {
  return KINDS.filter((kind) => groupsBy(info, kind));
}

function groupsBy(info: SnapshotInfo, kind: GroupKind): boolean {
  switch (info.model) {
    case 'timeline':
      return !OF_SAMPLES.includes(kind) && (kind !== 'category' || info.categories.length > 0);
    case 'profile':
      if (kind === 'size') return info.has_sizes;
      if (kind === 'thread') return info.labels.some((key) => /^(thread|tid)/i.test(key));
      if (kind === 'label') return info.labels.some((key) => key !== 'bytes');
      return !OF_TRACES.includes(kind);
    case 'graph':
      return false;
    default:
      return never(info);
  }
}

/** Groups that are places in code, to one of which a stack is charged. */
const PLACES: readonly GroupKind[] = ['line', 'caller', 'function', 'file', 'stack'];

/** Whether rows are places in code, to which stacks are charged by one of the two rules. */
export function chargesPlaces(by: readonly (GroupKind | '')[]): boolean {
  return by.some((kind) => kind !== '' && PLACES.includes(kind));
}

/** So many rows, by what they are. */
export function groupsOf(groups: number, kind: GroupKind | undefined): string {
  switch (kind) {
    case 'line':
    case 'caller':
    case 'freed':
      return plural(groups, '{0} line', '{0} lines');
    case 'function':
      return plural(groups, '{0} function', '{0} functions');
    case 'file':
      return plural(groups, '{0} file', '{0} files');
    case 'module':
      return plural(groups, '{0} module', '{0} modules');
    case 'stack':
      return plural(groups, '{0} stack', '{0} stacks');
    case 'stream':
      return plural(groups, '{0} stream', '{0} streams');
    case 'pool':
      return plural(groups, '{0} pool', '{0} pools');
    case 'package':
      return plural(groups, '{0} package', '{0} packages');
    case 'thread':
      return plural(groups, '{0} thread', '{0} threads');
    case 'label':
      return plural(groups, '{0} label', '{0} labels');
    case 'size':
      return plural(groups, '{0} size', '{0} sizes');
    case 'category':
    case undefined:
      return plural(groups, '{0} group', '{0} groups');
  }
}
