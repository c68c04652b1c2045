// Written by `npm run contract`: what files declare, in the order of its places.
import { type PaneOf } from '../shell/pane';
import { type ProfileSession } from './session';
import { liveSetPane } from '../live-set/pane';
import { comparePane } from '../compare/tab';
import { sqlPane } from '../sql/tab';

export const PANES: readonly PaneOf<ProfileSession>[] = [
  liveSetPane,
  comparePane,
  sqlPane,
];
