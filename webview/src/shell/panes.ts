// The panes, in the order of their tabs and then of the menu. What isn't shown first is loaded when it is shown.

import { t } from '../base/l10n';
import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { TimelineContext, ViewContext } from './context';
import { devicesOf, MODELS, never } from './model';
import { liveSetPane } from '../live-set/pane';
import type { MakePane, Pane, PaneTab } from './pane';
import type { SqlContext } from '../sql/pane';

export const sqlTab = (context: SqlContext): PaneTab => ({
  ...{ id: 'sql', title: 'SQL', usesSet: false },
  make: async () => (await import('../sql/pane')).sqlPane(context),
});

const liveSet: MakePane = (context) => ({
  ...{ id: 'liveSet', title: MODELS[context.info.model].groups, usesSet: true },
  make: () => liveSetPane(context),
});

const sizes = later('sizes', t('Sizes'), true, hasSizes, async (context) =>
  (await import('../timeline/panes/sizes')).sizesPane(context),
);

const compare = later('compare', t('Compare'), true, always, async (context) =>
  (await import('../compare/pane')).comparePane(context),
);

const whatIf = later('whatIf', t('What if'), false, isReplayed, async (context: TimelineContext) =>
  (await import('../timeline/panes/what-if')).whatIfPane(context),
);

export const TIMELINE_PANES: readonly MakePane<TimelineContext>[] = [
  liveSet,
  later('flame', t('Flame graph'), true, always, async (context) =>
    (await import('../flame/pane')).flamePane(context),
  ),
  later('oom', t('Out of memory'), false, ranOut, async (context: TimelineContext) =>
    (await import('../timeline/panes/oom')).oomPane(context),
  ),
  later('steps', t('Leaks'), false, hasEvents, async (context: TimelineContext) =>
    (await import('../timeline/panes/steps')).stepsPane(context),
  ),
  later('state', t('Segments'), false, always, async (context: TimelineContext) =>
    (await import('../timeline/panes/state')).statePane(context),
  ),
  sizes,
  compare,
  sqlTab,
  whatIf,
];

export const PROFILE_PANES: readonly MakePane[] = [liveSet, sizes, compare, sqlTab];

function later<C extends ViewContext = ViewContext>(
  id: PaneTab['id'],
  title: string,
  usesSet: boolean,
  offered: (info: SnapshotInfo) => boolean,
  load: (context: C) => Promise<Pane>,
): MakePane<C> {
  return (context) => (offered(context.info) ? { id, title, usesSet, make: () => load(context) } : null);
}

function always(): boolean {
  return true;
}

function ranOut(info: SnapshotInfo): boolean {
  return devicesOf(info).some(({ ooms }) => ooms > 0);
}

function hasEvents(info: SnapshotInfo): boolean {
  return devicesOf(info).some(({ events }) => events > 0);
}

/** Whether it has the segments of its allocator, and the requests that filled them. */
function isReplayed(info: SnapshotInfo): boolean {
  return devicesOf(info).some(
    ({ events, reserved_at_end_bytes: reserved }) => events > 0 && (reserved ?? 0) > 0,
  );
}

function hasSizes(info: SnapshotInfo): boolean {
  switch (info.model) {
    case 'timeline':
      return true;
    case 'profile':
      return info.has_sizes;
    case 'graph':
      return false;
    default:
      return never(info);
  }
}
