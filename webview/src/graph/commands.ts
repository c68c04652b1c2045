// The commands and keys of a heap dump's view, in the order in which `?` lists them.

import { t } from '../base/l10n';
import type { CommandOf } from '../shell/command';
import { FILTER, HELP, NUMBERED, TOGGLE_PANE, TOGGLE_PANEL, type CommandedView } from '../shell/commands';
import { CLEAR } from '../shell/moves';
import { canExplain } from './menu';
import type { GraphSession } from './session';

type Row = CommandOf<CommandedView<GraphSession>, GraphSession>;

const hasSelection = ({ state }: GraphSession): boolean => state.selection !== null;
const hasBookmarks = ({ bookmarks }: GraphSession): boolean => bookmarks.list.value.length > 0;

export const GRAPH_COMMANDS: readonly Row[] = [
  {
    action: 'explain',
    keys: ['w'],
    text: t('Why what is selected is alive'),
    run: ({ session }) => {
      const { selection } = session.state;
      if (selection && canExplain(selection)) session.explain(selection);
    },
  },
  {
    action: 'addBookmark',
    palette: 'Add Bookmark…',
    keys: ['k'],
    text: t('Add a bookmark for what is selected, with a note'),
    when: hasSelection,
    run: ({ session }) => session.bookmark(session.state.selection),
  },
  { ...TOGGLE_PANEL, keys: ['i'] },
  FILTER,
  TOGGLE_PANE,
  ...NUMBERED,
  HELP,
  // Escape is the picture's
  { ...CLEAR, keys: [], when: hasSelection, run: ({ session }) => session.select(null) },
  {
    action: 'nextBookmark',
    palette: 'Go to Next Bookmark',
    when: hasBookmarks,
    run: ({ session }) => session.goToBookmark(1),
  },
  {
    action: 'previousBookmark',
    palette: 'Go to Previous Bookmark',
    when: hasBookmarks,
    run: ({ session }) => session.goToBookmark(-1),
  },
  {
    action: 'exportBookmarks',
    palette: 'Export Bookmarks…',
    list: 'share',
    when: hasBookmarks,
    run: ({ session }) => session.bookmarks.export(),
  },
];
