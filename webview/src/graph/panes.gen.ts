// Written by `npm run contract`: the panes, in the order of their tabs.
import type { PaneOf } from '../shell/pane';
import type { GraphSession } from './session';
import { bookmarksPane } from './bookmarks';
import { comparePane } from './compare';
import { dominatorsPane } from './dominators';
import { imagesPane } from './gallery';
import { sqlPane } from '../sql/tab';
import { stacksPane } from './allocations';
import { threadsPane } from './threads';
import { typesPane } from './types';
import { whyPane } from './why';

export const PANES: readonly PaneOf<GraphSession>[] = [
  typesPane,
  dominatorsPane,
  whyPane,
  stacksPane,
  threadsPane,
  imagesPane,
  comparePane,
  sqlPane,
  bookmarksPane,
];
