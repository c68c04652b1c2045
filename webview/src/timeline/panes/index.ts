// The panes of a trace, in the order of their tabs and then of the menu. What isn't shown first is loaded when it is shown.

import { t } from '../../base/l10n';
import type { SnapshotInfo } from '../../../../extension/shared/protocol.gen';
import type { TimelineContext } from '../context';
import { compareTab } from '../../compare/tab';
import { liveSetTab, sizesTab } from '../../live-set/tabs';
import { devicesOf } from '../../shell/model';
import { always, later, type MakePane } from '../../shell/pane';
import { sqlTab } from '../../sql/tab';
import { isReplayed } from '../what-if';

const whatIf = later<TimelineContext>('whatIf', t('What if'), false, isReplayed, async (context) =>
  (await import('./what-if')).whatIfPane(context),
);

export const TIMELINE_PANES: readonly MakePane<TimelineContext>[] = [
  liveSetTab,
  later<TimelineContext>('flame', t('Flame graph'), true, always, async (context) =>
    (await import('../../flame/pane')).flamePane(context),
  ),
  later<TimelineContext>('oom', t('Out of memory'), false, ranOut, async (context) =>
    (await import('./oom')).oomPane(context),
  ),
  later<TimelineContext>('steps', t('Leaks'), false, hasEvents, async (context) =>
    (await import('./steps')).stepsPane(context),
  ),
  later<TimelineContext>('state', t('Segments'), false, always, async (context) =>
    (await import('./state')).statePane(context),
  ),
  sizesTab,
  compareTab,
  sqlTab,
  whatIf,
];

function ranOut(info: SnapshotInfo): boolean {
  return devicesOf(info).some(({ ooms }) => ooms > 0);
}

function hasEvents(info: SnapshotInfo): boolean {
  return devicesOf(info).some(({ events }) => events > 0);
}
