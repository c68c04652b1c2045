// The panes, in the order of their tabs. One that has nothing to show for a snapshot is null.

import { allocationsPane } from './allocations';
import { comparePane } from './compare';
import { flamePane } from './flame';
import { oomPane } from './oom';
import type { MakePane } from './pane';

export const PANES: readonly MakePane[] = [allocationsPane, flamePane, oomPane, comparePane];
