// Panes of a trace that are loaded when they are shown.

import { t } from '../../base/l10n';
import { devicesOf } from '../../shell/model';
import type { PaneOf } from '../../shell/pane';
import type { TimelineSession } from '../session';
import { isReplayed } from '../what-if';

export const flamePane: PaneOf<TimelineSession> = {
  id: 'flame',
  of: ['timeline'],
  place: 20,
  title: t('Flame graph'),
  palette: 'Show Flame Graph',
  usesSet: true,
  make: async (context) => (await import('../../flame/pane')).flamePane(context, context.flame, context),
};

export const oomPane: PaneOf<TimelineSession> = {
  id: 'oom',
  of: ['timeline'],
  place: 30,
  title: t('Out of memory'),
  palette: 'Explain Out of Memory',
  offered: ({ info }) => devicesOf(info).some(({ ooms }) => ooms > 0),
  make: async (context) => (await import('./oom')).oomPane(context),
};

export const stepsPane: PaneOf<TimelineSession> = {
  id: 'steps',
  of: ['timeline'],
  place: 40,
  title: t('Leaks'),
  palette: 'Show Leaks',
  offered: ({ info }) => devicesOf(info).some(({ events }) => events > 0),
  make: async (context) => (await import('./steps')).stepsPane(context),
};

export const statePane: PaneOf<TimelineSession> = {
  id: 'state',
  of: ['timeline'],
  place: 50,
  title: t('Segments'),
  palette: 'Show Segments',
  make: async (context) => (await import('./state')).statePane(context),
};

export const whatIfPane: PaneOf<TimelineSession> = {
  id: 'whatIf',
  of: ['timeline'],
  place: 90,
  title: t('What if'),
  palette: 'Show What Would Have Helped',
  offered: ({ info }) => isReplayed(info),
  make: async (context) => (await import('./what-if')).whatIfPane(context),
};
