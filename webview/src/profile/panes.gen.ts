// Written by `npm run contract`: the panes, in the order of their tabs.
import type { PaneOf } from '../shell/pane';
import type { ProfileSession } from './session';
import { comparePane } from '../compare/tab';
import { liveSetPane } from '../live-set/pane';
import { sqlPane } from '../sql/tab';

export const PANES: readonly PaneOf<ProfileSession>[] = [
  liveSetPane,
  comparePane,
  sqlPane,
];
