// The tab of the pane of SQL, whose code is loaded when it is shown.

import type { PaneTab } from '../shell/pane';
import type { SqlContext } from './queries';

export const sqlTab = (context: SqlContext): PaneTab => ({
  id: 'sql',
  title: 'SQL',
  usesSet: false,
  make: async () => (await import('./pane')).sqlPane(context),
});
