// The table of types, and of the packages or kinds that they are of; a type opens its instances.

import type { GraphState } from '../../../extension/shared/messages';
import type { ObjectRow, PackageRow, TypeRow } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import type { Pane } from '../shell/pane';
import { element, iconButton } from '../widgets/dom';
import { counted } from '../base/format';
import type { LazyAnswer } from '../widgets/lazy-rows';
import { gridColumns, RETAINED_TITLE, retainedCells, SHALLOW_TITLE, type HeapColumn } from './columns';
import { mapped, sameSelection, type GraphContext } from './context';
import { HeapTree } from './tree';
import { bytesCell, countCell, objectCell, typeCell, type Cell } from './words';

type Order = GraphState['order'];
type Node =
  | { readonly is: 'package'; readonly row: PackageRow }
  | { readonly is: 'type'; readonly row: TypeRow }
  | { readonly is: 'object'; readonly row: ObjectRow };

const COLUMNS: readonly HeapColumn<Order>[] = [
  { name: 'Type', title: 'Sort by name', width: 'minmax(110px, 1fr)', order: 'name', number: false },
  { name: 'Instances', title: 'How many objects', width: '92px', order: 'count', number: true },
  { name: 'Shallow', title: SHALLOW_TITLE, width: '88px', order: 'shallow', number: true },
  { name: 'Retained', title: RETAINED_TITLE, width: '88px', order: 'retained', number: true },
  { name: 'Share', title: 'Retained, of all bytes in the dump', width: '112px', order: null, number: true },
];
const GROUPS: readonly { readonly value: GraphState['by']; readonly text: string }[] = [
  { value: 'type', text: 'By type' },
  { value: 'package', text: 'By package' },
  { value: 'kind', text: 'By kind' },
];

export function typesPane(context: GraphContext): Pane {
  const whole = context.info.shallow_bytes;
  const tree = new HeapTree<Node>('Types', {
    ask: (node, offset, limit) => ask(context, node, offset, limit),
    hasChildren: ({ is }) => is !== 'object',
    id: (node) => `${node.is}:${node.is === 'package' ? node.row.name : numberOf(node)}`,
    cells: (node) => cellsOf(node, whole, context.state.by),
    isSelected: (node) => sameSelection(context.state.selection, selectionOf(node)),
    pick: (node, opened, beside) => {
      const selection = selectionOf(node);
      if (!selection) return;
      if (opened) context.openSource(selection, beside);
      context.select(selection);
    },
    menu: (node) => {
      const selection = selectionOf(node);
      return selection ? context.menu(selection, node.is === 'object' ? '' : nameOf(node)) : [];
    },
    sort: (column) => {
      const order = COLUMNS[column]?.order ?? null;
      if (order === null) return;
      const { order: before, reverse } = context.state;
      context.keep({ order, reverse: order === before && !reverse });
      show();
    },
    empty: () => (context.filter === '' ? 'The dump has no objects.' : 'No object fits the filter.'),
    failed: (error) => {
      context.failed(error);
    },
  });
  const show = (): void => {
    tree.show('Types', gridColumns(COLUMNS, context.state));
  };
  const by = element('select', {
    class: 'dropdown',
    title: 'What types are grouped by',
    attributes: { 'aria-label': 'Group' },
    on: {
      change: () => {
        context.keep({ by: GROUPS.find(({ value }) => value === by.value)?.value ?? 'type' });
        show();
      },
    },
  });
  for (const { value, text } of GROUPS) by.append(element('option', { attributes: { value } }, text));
  const copy = iconButton('copy', 'Copy Table', () => {
    context.copy(`${COLUMNS.map(({ name }) => name).join('\t')}\n${tree.text()}`);
  });
  return {
    id: 'types',
    title: 'Types',
    usesSet: false,
    root: element('section', {}, tree.root),
    bar: element(
      'div',
      { class: 'heap-bar', role: 'toolbar', attributes: { 'aria-label': 'Types' } },
      by,
      copy,
    ),
    update: (changes) => {
      by.value = context.state.by;
      if (changes.has('filter') || changes.has('device')) show();
      else tree.redraw();
    },
    dispose: () => {
      tree.dispose();
    },
  };
}

function ask(
  { api, filter, state }: GraphContext,
  node: Node | null,
  offset: number,
  limit: number,
): Pending<LazyAnswer<Node>> {
  const { order, reverse, by } = state;
  const grouped = by === 'type' ? 'package' : by;
  const page = { offset, limit };
  if (node?.is === 'type') {
    const sorted = order === 'shallow' ? 'shallow' : 'retained';
    const of = { kind: node.row.number, group: null, filter, order: sorted, reverse: false } as const;
    return mapped(api.request('memlens/heapObjects', { ...of, ...page }), ({ rows, total }) => ({
      rows: rows.map((row): Node => ({ is: 'object', row })),
      offset,
      children: total,
    }));
  }
  if (node === null && by !== 'type')
    return mapped(
      api.request('memlens/heapPackages', { filter, order, reverse, by, ...page }),
      ({ rows, total }) => ({
        rows: rows.map((row): Node => ({ is: 'package', row })),
        offset,
        children: total,
      }),
    );
  const of = { package: node?.is === 'package' ? node.row.name : null, filter, order, reverse };
  return mapped(api.request('memlens/heapTypes', { ...of, by: grouped, ...page }), ({ rows, total }) => ({
    rows: rows.map((row): Node => ({ is: 'type', row })),
    offset,
    children: total,
  }));
}

function numberOf(node: Exclude<Node, { is: 'package' }>): number {
  return node.is === 'type' ? node.row.number : node.row.object;
}

function nameOf(node: Exclude<Node, { is: 'object' }>): string {
  return node.is === 'type' ? node.row.type : node.row.name;
}

function selectionOf(node: Node): GraphState['selection'] {
  if (node.is === 'type') return { is: 'type', kind: node.row.number };
  return node.is === 'object' ? { is: 'object', object: node.row.object } : null;
}

function cellsOf(node: Node, whole: number, by: GraphState['by']): readonly Cell[] {
  const { shallow_bytes: shallow, retained_bytes: retained } = node.row;
  const figures = [bytesCell(shallow), ...retainedCells(retained, whole)];
  if (node.is === 'object') return [objectCell(node.row), [], ...figures];
  if (node.is === 'type') return [typeCell(node.row), countCell(node.row.count), ...figures];
  const none = by === 'kind' ? '(no kind)' : '(no package)';
  const name = element('bdi', { class: 'code' }, node.row.name === '' ? none : node.row.name);
  const types = element('span', { class: 'muted' }, ` ${counted(node.row.types, 'type')}`);
  return [[name, types], countCell(node.row.count), ...figures];
}
