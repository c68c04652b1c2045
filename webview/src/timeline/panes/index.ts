// The panes of a trace, in the order of their tabs and then of the menu. What isn't shown first is loaded when it is shown.

import { t } from '../../base/l10n';
import { comparePane } from '../../compare/tab';
import { liveSetPane } from '../../live-set/pane';
import { devicesOf } from '../../shell/model';
import type { PaneOf } from '../../shell/pane';
import { sqlPane } from '../../sql/tab';
import type { TimelineSession } from '../session';
import { isReplayed } from '../what-if';

export const TIMELINE_PANES: readonly PaneOf<TimelineSession>[] = [
  liveSetPane,
  {
    id: 'flame',
    title: t('Flame graph'),
    palette: 'Show Flame Graph',
    usesSet: true,
    make: async (context) => (await import('../../flame/pane')).flamePane(context),
  },
  {
    id: 'oom',
    title: t('Out of memory'),
    palette: 'Explain Out of Memory',
    offered: ({ info }) => devicesOf(info).some(({ ooms }) => ooms > 0),
    make: async (context) => (await import('./oom')).oomPane(context),
  },
  {
    id: 'steps',
    title: t('Leaks'),
    palette: 'Show Leaks',
    offered: ({ info }) => devicesOf(info).some(({ events }) => events > 0),
    make: async (context) => (await import('./steps')).stepsPane(context),
  },
  {
    id: 'state',
    title: t('Segments'),
    palette: 'Show Segments',
    make: async (context) => (await import('./state')).statePane(context),
  },
  comparePane,
  sqlPane,
  {
    id: 'whatIf',
    title: t('What if'),
    palette: 'Show What Would Have Helped',
    offered: ({ info }) => isReplayed(info),
    make: async (context) => (await import('./what-if')).whatIfPane(context),
  },
];
