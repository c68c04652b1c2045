// The panes of a profile, in the order of their tabs and then of the menu.

import { comparePane } from '../compare/tab';
import { liveSetPane } from '../live-set/pane';
import type { PaneOf } from '../shell/pane';
import { sqlPane } from '../sql/tab';
import type { ProfileSession } from './session';

export const PROFILE_PANES: readonly PaneOf<ProfileSession>[] = [liveSetPane, comparePane, sqlPane];
