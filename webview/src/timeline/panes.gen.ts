// Written by `npm run contract`: the panes, in the order of their tabs.
import type { PaneOf } from '../shell/pane';
import type { TimelineSession } from './session';
import { bookmarksPane } from './panes/bookmarks';
import { comparePane } from '../compare/tab';
import { flamePane } from './panes/lazy';
import { liveSetPane } from '../live-set/pane';
import { oomPane } from './panes/lazy';
import { sqlPane } from '../sql/tab';
import { statePane } from './panes/lazy';
import { stepsPane } from './panes/lazy';
import { whatIfPane } from './panes/lazy';

export const PANES: readonly PaneOf<TimelineSession>[] = [
  liveSetPane,
  flamePane,
  oomPane,
  stepsPane,
  statePane,
  comparePane,
  sqlPane,
  whatIfPane,
  bookmarksPane,
];
