// The dominator tree as a table: what each object alone keeps alive. With a filter its first level is what fits that.

import type { ObjectRow } from '../../../extension/shared/protocol.gen';
import type { Pane } from '../shell/pane';
import { element, iconButton } from '../widgets/dom';
import { gridColumns, RETAINED_TITLE, retainedCells, SHALLOW_TITLE, type HeapColumn } from './columns';
import { mapped, sameSelection, type GraphContext } from './context';
import { HeapTree } from './tree';
import { bytesCell, countCell, objectCell, objectText } from './words';

type Order = 'retained' | 'shallow' | 'distance';

const COLUMNS: readonly HeapColumn<Order>[] = [
  {
    name: 'Object',
    title: 'Each below what dominates it',
    width: 'minmax(110px, 1fr)',
    order: null,
    number: false,
  },
  { name: 'Distance', title: 'References from a root', width: '84px', order: null, number: true },
  { name: 'Shallow', title: SHALLOW_TITLE, width: '88px', order: null, number: true },
  { name: 'Retained', title: RETAINED_TITLE, width: '88px', order: null, number: true },
  { name: 'Share', title: 'Retained, of all bytes in the dump', width: '112px', order: null, number: true },
];

export function dominatorsPane(context: GraphContext): Pane {
  const tree = new HeapTree<ObjectRow>('Dominators', {
    ask: (node, offset, limit) => {
      const { api, filter } = context;
      const asked =
        node === null && filter !== ''
          ? api.request('memlens/heapObjects', {
              ...{ filter, kind: null, group: null, order: 'retained', reverse: false, offset, limit },
            })
          : api.request('memlens/heapDominated', { object: node?.object ?? null, offset, limit });
      return mapped(asked, ({ rows, total }) => ({ rows, offset, children: total }));
    },
    // what it retains besides itself is below it
    hasChildren: ({ retained_bytes: retained, shallow_bytes: shallow }) => retained > shallow,
    id: ({ object }) => String(object),
    cells: (row) => [
      objectCell(row),
      row.distance === null ? ['–'] : countCell(row.distance),
      bytesCell(row.shallow_bytes),
      ...retainedCells(row.retained_bytes, context.info.shallow_bytes),
    ],
    isSelected: ({ object }) => sameSelection(context.state.selection, { is: 'object', object }),
    pick: ({ object, file, line }, opened, beside) => {
      if (opened && file !== null && line !== null) context.openPlace(file, line, beside);
      else if (opened) context.openSource({ is: 'object', object }, beside);
      context.select({ is: 'object', object });
    },
    menu: (row) => context.menu({ is: 'object', object: row.object }, objectText(row)),
    sort: () => undefined,
    empty: () => (context.filter === '' ? 'The dump has no objects.' : 'No object fits the filter.'),
    failed: (error) => {
      context.failed(error);
    },
  });
  const copy = iconButton('copy', 'Copy Table', () => {
    context.copy(`${COLUMNS.map(({ name }) => name).join('\t')}\n${tree.text()}`);
  });
  return {
    id: 'dominators',
    title: 'Dominators',
    usesSet: false,
    root: element('section', {}, tree.root),
    bar: element(
      'div',
      { class: 'heap-bar', role: 'toolbar', attributes: { 'aria-label': 'Dominators' } },
      copy,
    ),
    update: (changes) => {
      if (changes.has('filter') || changes.has('device'))
        tree.show(
          context.filter === '' ? 'Dominator tree' : 'Objects that fit the filter, with what they dominate',
          gridColumns(COLUMNS, null),
        );
      else tree.redraw();
    },
    dispose: () => {
      tree.dispose();
    },
  };
}
