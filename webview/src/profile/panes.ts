// The panes of a profile, in the order of their tabs and then of the menu.

import { compareTab } from '../compare/tab';
import { liveSetTab, sizesTab } from '../live-set/tabs';
import type { MakePane } from '../shell/pane';
import { sqlTab } from '../sql/tab';
import type { ProfileSession } from './session';

export const PROFILE_PANES: readonly MakePane<ProfileSession>[] = [liveSetTab, sizesTab, compareTab, sqlTab];
