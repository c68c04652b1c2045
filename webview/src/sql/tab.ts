// The pane of SQL, whose code is loaded when it is shown.

import type { PaneOf } from '../shell/pane';
import type { SqlContext } from './queries';

export const sqlPane = {
  id: 'sql',
  of: ['timeline', 'profile', 'graph'],
  place: 80,
  inMenu: true,
  title: 'SQL',
  palette: 'Query with SQL',
  make: async (context: SqlContext) => (await import('./pane')).sqlPane(context),
} satisfies PaneOf<SqlContext>;
