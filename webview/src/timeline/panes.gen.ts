// Written by `npm run contract`: what files declare, in the order of its places.
import { type PaneOf } from '../shell/pane';
import { type TimelineSession } from './session';
import { liveSetPane } from '../live-set/pane';
import { flamePane } from './panes/lazy';
import { oomPane } from './panes/lazy';
import { stepsPane } from './panes/lazy';
import { statePane } from './panes/lazy';
import { comparePane } from '../compare/tab';
import { sqlPane } from '../sql/tab';
import { whatIfPane } from './panes/lazy';
import { bookmarksPane } from './panes/bookmarks';

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
