// The pane of SQL, whose code is loaded when it is shown.

import type { PaneOf } from '../shell/pane';
import type { SqlContext } from './queries';

export const sqlPane = {
  id: 'sql',
  title: 'SQL',
  palette: 'Query with SQL',
  make: async (context: SqlContext) => (await import('./pane')).sqlPane(context),
} satisfies PaneOf<SqlContext>;
