// Written by `npm run contract`: what files declare, in the order of its places.
import { type PaneOf } from '../shell/pane';
import { type GraphSession } from './session';
import { typesPane } from './types';
import { dominatorsPane } from './dominators';
import { whyPane } from './why';
import { stacksPane } from './allocations';
import { threadsPane } from './threads';
import { imagesPane } from './gallery';
import { comparePane } from './compare';
import { sqlPane } from '../sql/tab';
import { bookmarksPane } from './bookmarks';

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
