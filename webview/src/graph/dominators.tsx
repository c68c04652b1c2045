// The tree of dominators as a table: what each object alone keeps alive; or that of shortest paths: what is reached
// through it first. With a filter its first level is what matches, and matches below it are marked.

import type { ObjectRow } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { turned } from '../base/latest';
import type { Pane, PaneOf } from '../shell/pane';
import {
  figureColumn,
  gridColumns,
  nameColumn,
  nativeCells,
  nativeColumns,
  retainedCells,
  retainedTitle,
  shallowTitle,
  shareColumn,
  spare,
  totalTitle,
} from './columns';
import { isSelected } from './selected';
import type { GraphSession } from './session';
import { mayHaveSource, selectionMenu } from './menu';
import { HeapTree, treePane } from './tree';
import { TreeChoice } from './tree-choice';
import { bytesCell, copiedObject, countCell, noObjects, objectCell, textCell } from './words';

interface TreeRow extends ObjectRow {
  /** Whether an object below the first level matches the filter. */
  readonly contained: boolean;
  /** Its bytes and those of everything below it; what it retains in the tree of dominators. */
  readonly total: number;
}

/** Objects as rows of the tree; of dominators they come without totals. */
function rowsOf(
  rows: readonly ObjectRow[],
  totals: readonly number[] | null,
  contained: readonly boolean[] | null,
): TreeRow[] {
  return rows.map((row, at) => ({
    ...row,
    contained: contained?.[at] === true,
    total: totals?.[at] ?? row.retained_bytes,
  }));
}

const TITLE = t('Dominators');

export const dominatorsPane = {
  id: 'dominators',
  of: ['graph'],
  place: 20,
  title: TITLE,
  palette: 'Show Dominator Tree',
  make: makePane,
} satisfies PaneOf<GraphSession>;

function makePane(context: GraphSession): Pane {
  const isOfPaths = (): boolean => context.tree.peek() === 'paths';
  const tree = new HeapTree<TreeRow>(TITLE, context, {
    keptFor: 'dominators',
    ask: (node, offset, limit) => {
      const { api, filter } = context;
      if (node === null && filter !== '') {
        const order = isOfPaths() ? 'total' : 'retained';
        const of = { filter, kind: null, group: null, order, reverse: false } as const;
        const asked = api.request('memlens/heapObjects', { ...of, offset, limit });
        return turned(asked, ({ rows, total_bytes: totals, total }) => ({
          rows: rowsOf(rows, totals, null),
          offset,
          children: total,
        }));
      }
      const asked = api.request('memlens/heapDominated', {
        object: node?.object ?? null,
        filter,
        offset,
        limit,
        tree: context.tree.peek(),
      });
      return turned(asked, ({ rows, total_bytes: totals, total, contained }) => ({
        rows: rowsOf(rows, totals, contained),
        offset,
        children: total,
      }));
    },
    // what it has besides itself is below it
    hasChildren: ({ total, shallow_bytes: shallow }) => total > shallow,
    id: ({ object }) => String(object),
    cells: (row) => [
      objectCell(row, row.contained ? t('matches the filter') : ''),
      row.distance === null ? textCell('–') : countCell(row.distance),
      bytesCell(row.shallow_bytes),
      ...retainedCells(row.total, context.info.shallow_bytes),
      ...(isOfPaths() ? [bytesCell(row.retained_bytes)] : []),
      ...nativeCells(context.info, row),
    ],
    isSelected: ({ object }) => isSelected(context, { is: 'object', object }),
    pick: ({ object, file, line }, opened, beside) => {
      if (opened && file !== null && line !== null) context.openFrame({ file, line }, beside);
      else if (opened) context.openSource({ is: 'object', object }, beside);
      context.select({ is: 'object', object });
    },
    menu: (row) =>
      selectionMenu(context, { is: 'object', object: row.object }, '', mayHaveSource(context, row)),
    copied: copiedObject,
    empty: () => noObjects(context),
  });
  const label = (): string => {
    if (context.filter === '') return isOfPaths() ? t('Tree of shortest paths') : t('Dominator tree');
    return isOfPaths()
      ? t('Objects that match the filter, with what is reached through them')
      : t('Objects that match the filter, with what they dominate');
  };
  return treePane(
    {
      title: TITLE,
      update: (changes) => {
        if (changes.has('filter') || changes.has('tree'))
          tree.show(
            label(),
            gridColumns(
              [
                nameColumn(
                  t('Object'),
                  isOfPaths()
                    ? t('Each below the object from which a root reaches it first')
                    : t('Each below what dominates it'),
                  110,
                ),
                spare(figureColumn(t('Distance'), t('References from a root'), 84)),
                spare(figureColumn(t('Shallow'), shallowTitle())),
                ...(isOfPaths()
                  ? [
                      figureColumn(t('Total'), totalTitle()),
                      shareColumn(t('Total, of all bytes in the dump')),
                      spare(figureColumn(t('Retained'), retainedTitle())),
                    ]
                  : [figureColumn(t('Retained'), retainedTitle()), shareColumn()]),
                ...nativeColumns(context.info, null),
              ],
              null,
            ),
          );
        else tree.redraw();
      },
    },
    tree,
    () => <TreeChoice context={context} />,
  );
}
