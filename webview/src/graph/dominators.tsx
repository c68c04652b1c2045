// The dominator tree as a table: what each object alone keeps alive. With a filter its first level is what matches,
// and matches below it are marked.

import type { ObjectRow } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { turned } from '../base/latest';
import type { Pane } from '../shell/pane';
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
} from './columns';
import { sameSelection, type GraphContext } from './context';
import { mayHaveSource, selectionMenu } from './menu';
import { HeapTree, treePane } from './tree';
import { bytesCell, copiedObject, countCell, noObjects, objectCell, textCell } from './words';

/** Whether an object below the first level matches the filter. */
interface DominatorRow extends ObjectRow {
  readonly contained: boolean;
}

export function dominatorsPane(context: GraphContext): Pane {
  const title = t('Dominators');
  const tree = new HeapTree<DominatorRow>(title, context, {
    keptFor: 'dominators',
    ask: (node, offset, limit) => {
      const { api, filter } = context;
      if (node === null && filter !== '') {
        const of = { filter, kind: null, group: null, order: 'retained', reverse: false } as const;
        return turned(api.request('memlens/heapObjects', { ...of, offset, limit }), ({ rows, total }) => ({
          ...{ rows: rows.map((row) => ({ ...row, contained: false })), offset, children: total },
        }));
      }
      const asked = api.request('memlens/heapDominated', {
        ...{ object: node?.object ?? null, filter, offset, limit },
      });
      return turned(asked, ({ rows, total, contained }) => ({
        rows: rows.map((row, at) => ({ ...row, contained: contained?.[at] === true })),
        ...{ offset, children: total },
      }));
    },
    // what it retains besides itself is below it
    hasChildren: ({ retained_bytes: retained, shallow_bytes: shallow }) => retained > shallow,
    id: ({ object }) => String(object),
    cells: (row) => [
      objectCell(row, row.contained ? t('matches the filter') : ''),
      row.distance === null ? textCell('–') : countCell(row.distance),
      bytesCell(row.shallow_bytes),
      ...retainedCells(row.retained_bytes, context.info.shallow_bytes),
      ...nativeCells(context.info, row),
    ],
    isSelected: ({ object }) => sameSelection(context.state.selection, { is: 'object', object }),
    pick: ({ object, file, line }, opened, beside) => {
      if (opened && file !== null && line !== null) context.openPlace(file, line, beside);
      else if (opened) context.openSource({ is: 'object', object }, beside);
      context.select({ is: 'object', object });
    },
    menu: (row) =>
      selectionMenu(context, { is: 'object', object: row.object }, '', mayHaveSource(context, row)),
    copied: copiedObject,
    empty: () => noObjects(context),
  });
  return treePane(
    {
      ...{ id: 'dominators', title },
      update: (changes) => {
        if (changes.has('filter') || changes.has('device'))
          tree.show(
            context.filter === ''
              ? t('Dominator tree')
              : t('Objects that match the filter, with what they dominate'),
            gridColumns(
              [
                nameColumn(t('Object'), t('Each below what dominates it'), 110),
                figureColumn(t('Distance'), t('References from a root'), 84),
                figureColumn(t('Shallow'), shallowTitle()),
                figureColumn(t('Retained'), retainedTitle()),
                shareColumn(),
                ...nativeColumns(context.info, null),
              ],
              null,
            ),
          );
        else tree.redraw();
      },
    },
    tree,
  );
}
