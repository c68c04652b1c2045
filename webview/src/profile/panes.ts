// The panes of a profile, in the order of their tabs and then of the menu.

import { compareTab } from '../compare/tab';
import { liveSetTab, sizesTab } from '../live-set/tabs';
import type { MakePane } from '../shell/pane';
import { sqlTab } from '../sql/tab';
import type { ProfileContext } from './context';

export const PROFILE_PANES: readonly MakePane<ProfileContext>[] = [liveSetTab, sizesTab, compareTab, sqlTab];
