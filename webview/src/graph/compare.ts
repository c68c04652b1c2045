// Two heap dumps side by side: what grew, by type, by who holds it and by where it is; and a series of dumps over time.

import type {
  ComparedType,
  CompareHeapsResult,
  GrowingHolder,
  GrownPath,
  ObjectRow,
  SeriesType,
} from '../../../extension/shared/protocol.gen';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { Pending } from '../api';
import type { Compare } from '../compare/comparison';
import { compareNotice, CompareSides } from '../compare/bar';
import type { Pane } from '../shell/pane';
import { Choice } from '../widgets/choice';
import { debounce, element, iconButton, replace, setText } from '../widgets/dom';
import { bytes, count, counted } from '../base/format';
import type { LazyAnswer } from '../widgets/lazy-rows';
import { changeCell, compareColumns, sortOf, type CompareForm, type CompareSort } from './compare-columns';
import { mapped, sameSelection, type GraphContext } from './context';
import { SeriesPart } from './series';
import { HeapTree } from './tree';
import { bytesCell, countCell, objectCell, objectText, shortType, typeCell, type Cell } from './words';

const SEARCH_AFTER_MS = 150;

type Node =
  | { readonly is: 'type'; readonly row: ComparedType }
  | { readonly is: 'object'; readonly row: ObjectRow; readonly of: string }
  | { readonly is: 'holder'; readonly row: GrowingHolder }
  | { readonly is: 'path'; readonly row: GrownPath }
  | { readonly is: 'series'; readonly row: SeriesType };

export interface ComparePane extends Pane {
  readonly series: SeriesPart;
}

/** `compare` has what is compared with, which the host reports. */
export function comparePane(context: GraphContext, compare: Compare): ComparePane {
  const owner = { api: context.api, info: context.info, compare };
  const sides = new CompareSides(owner);
  let form: CompareForm = 'types';
  let sort: CompareSort = { order: 'retained', reverse: false };
  let found: CompareHeapsResult | null = null;
  let shown = '';
  let asking: Pending<CompareHeapsResult> | null = null;
  const of = (): { other_first: boolean; filter: string } => ({
    other_first: compare.settings.otherFirst,
    filter: context.filter,
  });
  const series = new SeriesPart(context, () => {
    if (series.count > 0) form = 'series';
    update();
  });
  const selectionOf = (node: Node): HeapSelection | null => {
    const { otherFirst: isAfter } = compare.settings;
    const or = (own: number | null, make: (own: number) => HeapSelection): HeapSelection | null =>
      own === null ? null : make(own);
    switch (node.is) {
      case 'type':
        return or(isAfter ? node.row.after_number : node.row.before_number, (kind) => ({ is: 'type', kind }));
      case 'object':
        return { is: 'object', object: node.row.object };
      case 'holder':
        return { is: 'object', object: isAfter ? node.row.object.object : node.row.before_object };
      case 'path':
        return or(isAfter ? node.row.group : node.row.before_group, (group) => ({ is: 'group', group }));
      case 'series':
        return null;
    }
  };
  const tree = new HeapTree<Node>('Comparison', {
    ask: (node, offset, limit) => ask(node, offset, limit),
    hasChildren: (node) => node.is === 'type' && hasOwn(node.row, compare.settings.otherFirst),
    id: idOf,
    cells: (node) => cellsOf(node, found?.matched === 'id'),
    isSelected: (node) => {
      const selection = selectionOf(node);
      return node.is === 'series'
        ? node.row.type === series.marked
        : selection !== null && sameSelection(context.state.selection, selection);
    },
    pick: (node, opened, beside) => {
      if (node.is === 'series') {
        series.mark(node.row.type);
        tree.redraw();
        return;
      }
      const selection = selectionOf(node);
      if (selection === null) {
        context.say(`${compare.ownName} has no such objects.`);
        return;
      }
      if (opened) context.openSource(selection, beside);
      context.select(selection);
    },
    menu: (node) => {
      const selection = selectionOf(node);
      return selection ? context.menu(selection, nameOf(node)) : [];
    },
    sort: (column) => {
      const order = sortOf(form, found?.matched === 'id', column);
      if (order === null) return;
      sort = { order, reverse: order === sort.order && !sort.reverse };
      show();
    },
    empty: () => (form === 'series' ? 'No type fits.' : emptyWords(form, found)),
    failed: (error) => {
      context.failed(error);
    },
  });
  const ask = (node: Node | null, offset: number, limit: number): Pending<LazyAnswer<Node>> => {
    const { api } = context;
    if (node?.is === 'type')
      return mapped(
        api.request('memlens/compareHeapObjects', { ...of(), type: node.row.type, offset, limit }),
        ({ rows, total }) => ({
          rows: rows.map((row): Node => ({ is: 'object', row, of: node.row.type })),
          offset,
          children: total,
        }),
      );
    if (form === 'series')
      return mapped(series.ask(search.value, offset + limit), ({ types, types_total: children }) => {
        setText(summary, series.words);
        return {
          rows: types.slice(offset).map((row): Node => ({ is: 'series', row })),
          ...{ offset, children },
        };
      });
    if (form === 'types')
      return mapped(
        api.request('memlens/compareHeapTypes', { ...of(), search: search.value, ...sort, offset, limit }),
        ({ rows, total }) => ({
          rows: rows.map((row): Node => ({ is: 'type', row })),
          offset,
          children: total,
        }),
      );
    const words = search.value.toLowerCase().split(/\s+/);
    const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
    const all: Node[] =
      form === 'holders'
        ? (found?.holders ?? [])
            .filter(({ object }) => has(`${object.type} ${object.name}`))
            .map((row) => ({ is: 'holder', row }))
        : (found?.paths ?? []).filter(({ path }) => has(path.join(' '))).map((row) => ({ is: 'path', row }));
    const rows = all.slice(offset, offset + limit);
    return { answer: Promise.resolve({ rows, offset, children: all.length }), cancel: () => undefined };
  };
  const choice = new Choice<CompareForm>(
    'Show',
    [
      { value: 'types', text: 'Types', title: 'What is more or less of each type' },
      { value: 'holders', text: 'Holders', title: 'Objects of both dumps that hold new ones' },
      { value: 'paths', text: 'Paths', title: 'Where in the dominator tree it grew' },
      {
        value: 'series',
        text: 'Over time',
        title: 'Two dumps or more in the order in which they were written',
      },
    ],
    (next) => {
      form = next;
      update();
    },
  );
  const searchSoon = debounce(SEARCH_AFTER_MS, () => {
    show();
  });
  const search = element('input', {
    class: 'compare-search',
    type: 'search',
    attributes: { placeholder: 'Type', 'aria-label': 'Only rows with these words', spellcheck: false },
    on: {
      input: searchSoon,
      keydown: (event) => {
        // The view's keys are letters: they are text here.
        event.stopPropagation();
      },
    },
  });
  const copy = iconButton('copy', 'Copy Table', () => {
    const heads = columns().map(({ name }) => name);
    context.copy(`${heads.join('\t')}\n${tree.text()}`);
  });
  const summary = element('p', { class: 'heap-note muted', role: 'status' });
  const root = element('section', { class: 'compare heap-compare' });
  const bar = element(
    'div',
    { class: 'compare-controls', role: 'toolbar', attributes: { 'aria-label': 'Comparison' } },
    choice.root,
    sides.root,
    search,
    copy,
  );
  const columns = (): ReturnType<typeof compareColumns> =>
    compareColumns(form, found?.matched === 'id', sort, series.count);
  const show = (): void => {
    setText(summary, form === 'series' ? series.words : summaryOf(found));
    tree.show('Comparison', columns());
  };
  const update = (): void => {
    choice.set(form);
    sides.root.hidden = form === 'series';
    const notice = form === 'series' ? series.notice() : compareNotice(owner);
    search.hidden = copy.hidden = notice !== null;
    if (notice) {
      shown = '';
      asking?.cancel();
      asking = null;
      replace(root, notice);
      return;
    }
    sides.update();
    series.root.hidden = form !== 'series';
    if (tree.root.parentElement !== root) replace(root, summary, series.root, tree.root);
    if (form === 'series') {
      show();
      return;
    }
    const key = JSON.stringify([compare.other?.uri, of()]);
    if (key === shown) {
      show();
      return;
    }
    shown = key;
    found = null;
    asking?.cancel();
    setText(summary, 'Comparing…');
    const pending = context.api.request('memlens/compareHeaps', of());
    asking = pending;
    pending.answer.then(
      (answer) => {
        if (asking !== pending) return;
        found = answer;
        show();
      },
      (error: unknown) => {
        if (asking !== pending) return;
        shown = '';
        setText(summary, '');
        context.failed(error);
      },
    );
  };
  return {
    ...{ id: 'compare', title: 'Compare', usesSet: false, root, bar, series },
    update: (changes) => {
      if (changes.has('filter')) series.forget();
      if (changes.has('compare') || changes.has('filter') || changes.has('device')) update();
      else tree.redraw();
    },
    dispose: () => {
      asking?.cancel();
      tree.dispose();
      series.dispose();
    },
  };
}

/** Whether the view's own dump has objects of the type that are to be listed. */
function hasOwn(row: ComparedType, isAfter: boolean): boolean {
  const only = isAfter ? row.new : row.gone;
  return (only ?? (isAfter ? row.after_count : row.before_count)) > 0;
}

function idOf(node: Node): string {
  switch (node.is) {
    case 'type':
    case 'series':
      return `type:${node.row.type}`;
    case 'object':
      return `object:${node.row.object}`;
    case 'holder':
      return `holder:${node.row.object.object}`;
    case 'path':
      return `path:${node.row.group}`;
  }
}

function nameOf(node: Node): string {
  switch (node.is) {
    case 'type':
    case 'series':
      return node.row.type;
    case 'object':
      return objectText(node.row);
    case 'holder':
      return objectText(node.row.object);
    case 'path':
      return node.row.path.at(-1) ?? '';
  }
}

function cellsOf(node: Node, byId: boolean): readonly Cell[] {
  const change = (before: number, after: number): Cell => changeCell(after - before, bytes);
  switch (node.is) {
    case 'type': {
      const { row } = node;
      return [
        typeCell(row),
        countCell(row.after_count),
        changeCell(row.after_count - row.before_count, count),
        ...(byId ? [countCell(row.new ?? 0), countCell(row.gone ?? 0)] : []),
        change(row.before_shallow_bytes, row.after_shallow_bytes),
        bytesCell(row.after_retained_bytes),
        change(row.before_retained_bytes, row.after_retained_bytes),
      ];
    }
    case 'object': {
      const blank: Cell[] = Array.from({ length: byId ? 4 : 2 }, () => []);
      return [
        objectCell(node.row),
        ...blank,
        bytesCell(node.row.shallow_bytes),
        bytesCell(node.row.retained_bytes),
        [],
      ];
    }
    case 'holder': {
      const { object, before_retained_bytes: before, new_objects: objects, new_bytes: held } = node.row;
      return [
        objectCell(object),
        countCell(objects),
        bytesCell(held),
        bytesCell(before),
        bytesCell(object.retained_bytes),
        change(before, object.retained_bytes),
      ];
    }
    case 'path': {
      const { row } = node;
      const above = row.path.slice(0, -1).map((each) => `${shortType(each)} › `);
      return [
        [
          element('bdi', { class: 'muted', title: row.path.join(' › ') }, above.join('')),
          element('bdi', { class: 'code' }, shortType(row.path.at(-1) ?? '')),
        ],
        countCell(row.after_objects),
        changeCell(row.after_objects - row.before_objects, count),
        bytesCell(row.after_retained_bytes),
        change(row.before_retained_bytes, row.after_retained_bytes),
      ];
    }
    case 'series': {
      const { counts, retained_bytes: retained, grows } = node.row;
      const [first = 0, last = 0] = [retained[0], retained.at(-1)];
      const badge = grows ? [element('span', { class: 'badge' }, 'grows throughout')] : [];
      return [
        [...typeCell(node.row), ...badge],
        countCell(counts.at(-1) ?? 0),
        bytesCell(first),
        bytesCell(last),
        change(first, last),
      ];
    }
  }
}

function summaryOf(found: CompareHeapsResult | null): string {
  if (!found) return '';
  const { before, after, matched } = found;
  const sum = `${bytes(before.shallow_bytes)} in ${counted(before.objects, 'object')} before, ${bytes(
    after.shallow_bytes,
  )} in ${counted(after.objects, 'object')} after`;
  if (matched === 'type')
    return `${sum}. Matched by type: the ids of objects don’t last from one of these dumps to the other.`;
  const only = (objects: number | null, size: number | null): string =>
    `${counted(objects ?? 0, 'object')}, ${bytes(size ?? 0)}`;
  return `${sum}. New: ${only(after.only_objects, after.only_bytes)}. Gone: ${only(
    before.only_objects,
    before.only_bytes,
  )}.`;
}

function emptyWords(form: CompareForm, found: CompareHeapsResult | null): string {
  if (form === 'holders' && found?.matched === 'type')
    return 'Which objects are new isn’t known, as ids don’t last in these dumps: see the paths.';
  return form === 'holders' ? 'Nothing that both dumps have holds new objects.' : 'Nothing differs here.';
}
