// The table of types, and of the packages or kinds that they are of; a type opens its instances.

import { signal } from '@preact/signals';
import type { GraphState } from '../../../extension/shared/messages';
import type { ObjectRow, PackageRow, TypeRow } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { plural, t } from '../base/l10n';
import { turned } from '../base/latest';
import { visible } from '../base/text';
import type { Pane, PaneOf } from '../shell/pane';
import { Dropdown } from '../widgets/choice';
import type { LazyAnswer } from '../widgets/lazy-rows';
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
  type HeapColumn,
} from './columns';
import { isSelected } from './selected';
import type { GraphSession } from './session';
import { mayBeDefined, mayHaveSource, selectionMenu } from './menu';
import { HeapTree, treePane } from './tree';
import {
  bytesCell,
  copiedObject,
  countCell,
  EMPTY,
  noObjects,
  objectCell,
  typeCell,
  TypeName,
  type Cell,
} from './words';

type Order = GraphState['order'];
type Node =
  | { readonly is: 'package'; readonly row: PackageRow }
  | { readonly is: 'type'; readonly row: TypeRow }
  | { readonly is: 'object'; readonly row: ObjectRow };

function columnsOf({ info }: GraphSession): readonly HeapColumn<Order>[] {
  return [
    nameColumn(t('Type'), t('Sort by name'), 110, 'name'),
    figureColumn(t('Instances'), t('How many objects'), 92, 'count'),
    spare(figureColumn(t('Shallow'), shallowTitle(), 92, 'shallow')),
    figureColumn(t('Retained'), retainedTitle(), 92, 'retained'),
    shareColumn(),
    ...nativeColumns<Order>(info, ['native', 'native_retained']),
  ];
}

const TITLE = t('Types');

export const typesPane = {
  id: 'types',
  of: ['graph'],
  place: 10,
  title: TITLE,
  palette: 'Show Types of Objects',
  make: makePane,
} satisfies PaneOf<GraphSession>;

function makePane(context: GraphSession): Pane {
  const by = signal(context.state.by);
  const tree = new HeapTree<Node>(TITLE, context, {
    keptFor: 'types',
    ask: (node, offset, limit) => ask(context, node, offset, limit),
    hasChildren: ({ is }) => is !== 'object',
    id: (node) => `${node.is}:${node.is === 'package' ? node.row.name : numberOf(node)}`,
    cells: (node) => cellsOf(node, context),
    isSelected: (node) => isSelected(context, selectionOf(node)),
    pick: (node, opened, beside) => {
      const selection = selectionOf(node);
      if (!selection) return;
      if (opened) context.openSource(selection, beside);
      context.select(selection);
    },
    menu: (node) => {
      const selection = selectionOf(node);
      return selection ? selectionMenu(context, selection, nameOf(node), hasSource(node, context)) : [];
    },
    copied: (node) => (node.is === 'object' ? copiedObject(node.row) : { name: nameOf(node), place: null }),
    sort: (column) => {
      const order = columnsOf(context)[column]?.order ?? null;
      if (order === null) return;
      const { order: before, reverse } = context.state;
      context.keep({ order, reverse: order === before && !reverse });
    },
    empty: () => noObjects(context),
  });
  const show = (): void => tree.show(TITLE, gridColumns(columnsOf(context), context.state));
  return treePane(
    {
      title: TITLE,
      update: (changes) => {
        by.value = context.state.by;
        if (changes.has('filter') || changes.has('order')) show();
        else tree.redraw();
      },
    },
    tree,
    () => (
      <Dropdown<GraphState['by']>
        label={t('Group')}
        value={by.value}
        options={[
          { value: 'type', text: t('By type') },
          { value: 'package', text: t('By package') },
          { value: 'kind', text: t('By kind') },
        ]}
        change={(value) => context.keep({ by: value })}
      />
    ),
  );
}

function ask(
  { api, filter, state }: GraphSession,
  node: Node | null,
  offset: number,
  limit: number,
): Pending<LazyAnswer<Node>> {
  const { order, reverse, by } = state;
  const page = { offset, limit };
  const listed = <R,>(
    asked: Pending<{ readonly rows: readonly R[]; readonly total: number }>,
    made: (row: R) => Node,
  ): Pending<LazyAnswer<Node>> =>
    turned(asked, ({ rows, total }) => ({ rows: rows.map(made), offset, children: total }));
  if (node?.is === 'type') {
    const sorted = order === 'count' || order === 'name' ? 'retained' : order;
    const of = { kind: node.row.number, group: null, filter, order: sorted, reverse: false } as const;
    return listed(api.request('memlens/heapObjects', { ...of, ...page }), (row) => ({ is: 'object', row }));
  }
  if (node === null && by !== 'type')
    return listed(api.request('memlens/heapPackages', { filter, order, reverse, by, ...page }), (row) => ({
      is: 'package',
      row,
    }));
  const of = { package: node?.is === 'package' ? node.row.name : null, filter, order, reverse };
  const grouped = by === 'type' ? 'package' : by;
  return listed(api.request('memlens/heapTypes', { ...of, by: grouped, ...page }), (row) => ({
    is: 'type',
    row,
  }));
}

function numberOf(node: Exclude<Node, { is: 'package' }>): number {
  return node.is === 'type' ? node.row.number : node.row.object;
}

function nameOf({ row }: Node): string {
  return 'name' in row ? row.name : row.type;
}

function hasSource(node: Node, context: GraphSession): boolean {
  if (node.is === 'object') return mayHaveSource(context, node.row);
  return node.is === 'type' && mayBeDefined(context, node.row);
}

function selectionOf(node: Node): GraphState['selection'] {
  if (node.is === 'type') return { is: 'type', kind: node.row.number };
  return node.is === 'object' ? { is: 'object', object: node.row.object } : null;
}

function cellsOf(node: Node, { info, state }: GraphSession): readonly Cell[] {
  const { shallow_bytes: shallow, retained_bytes: retained } = node.row;
  const figures = [
    bytesCell(shallow),
    ...retainedCells(retained, info.shallow_bytes),
    ...nativeCells(info, node.row),
  ];
  if (node.is === 'object') return [objectCell(node.row), EMPTY, ...figures];
  if (node.is === 'type') return [typeCell(node.row), countCell(node.row.count), ...figures];
  const { name: own, types, count } = node.row;
  const name = own === '' ? (state.by === 'kind' ? t('(no kind)') : t('(no package)')) : own;
  const cell: Cell = {
    parts: [
      <TypeName type={name} text={name} />,
      <span class="muted"> {plural(types, '{0} type', '{0} types')}</span>,
    ],
    copied: visible(name),
  };
  return [cell, countCell(count), ...figures];
}
