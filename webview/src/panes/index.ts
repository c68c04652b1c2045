// The panes, in the order of their tabs and then of the menu. One that has nothing to show for a snapshot is null.

import { comparePane } from './compare';
import { flamePane } from './flame';
import { oomPane } from './oom';
import { liveSetPane } from './live-set/pane';
import type { MakePane } from './pane';
import { sizesPane } from './sizes';
import { sqlPane } from './sql';
import { statePane } from './state';
import { stepsPane } from './steps';

export const PANES: readonly MakePane[] = [
  liveSetPane,
  flamePane,
  oomPane,
  stepsPane,
  statePane,
  sizesPane,
  comparePane,
  sqlPane,
];
