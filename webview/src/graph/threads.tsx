// Threads as a tree: their frames, and what the variables of each refer to. A frame leads to its line.

import type { VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { Frame, StackRow, ThreadRow, VariableRow } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { plural, t } from '../base/l10n';
import { turned } from '../base/latest';
import { fileName } from '../base/paths';
import { exactly, shorten, visible } from '../base/text';
import type { Pane, PaneOf } from '../shell/pane';
import type { CopiedPlace } from '../widgets/copy';
import type { LazyAnswer } from '../widgets/lazy-rows';
import type { MenuEntry } from '../widgets/menu';
import {
  figureColumn,
  gridColumns,
  nameColumn,
  retainedCells,
  shallowTitle,
  shareColumn,
  spare,
  type HeapColumn,
} from './columns';
import { isSelected } from './selected';
import type { GraphSession } from './session';
import { selectionMenu } from './menu';
import { HeapTree, treePane } from './tree';
import {
  Badge,
  bytesCell,
  copiedObject,
  copiedText,
  countCell,
  EMPTY,
  objectCell,
  PlaceLink,
  type Cell,
} from './words';

type Node =
  | { readonly is: 'thread'; readonly row: ThreadRow }
  | { readonly is: 'part'; readonly thread: number; readonly row: StackRow }
  | { readonly is: 'variable'; readonly of: string; readonly row: VariableRow };

/** What Java's threads do, as the server names it. */
const STATES: Readonly<Record<string, string>> = {
  runnable: t('runnable'),
  blocked: t('blocked'),
  waiting: t('waiting'),
  'waiting, with a timeout': t('waiting, with a timeout'),
  terminated: t('terminated'),
  new: t('new'),
  ended: t('ended'),
};

function columnsOf(): readonly HeapColumn<never>[] {
  return [
    nameColumn(
      t('Thread, frame, variable'),
      t('The frames of each thread, the innermost first, and their variables'),
      170,
    ),
    spare(figureColumn(t('Variables'), t('Objects that its variables refer to, each counted once'), 84)),
    spare(figureColumn(t('Shallow'), shallowTitle())),
    figureColumn(
      t('Retained'),
      t(
        'For a thread, what would be freed if it ended; for a frame, what would be freed without the objects of its variables, each counted once, though others may also hold them',
      ),
    ),
    shareColumn(),
  ];
}

const TITLE = t('Threads');

export const threadsPane = {
  id: 'threads',
  of: ['graph'],
  place: 50,
  title: TITLE,
  palette: 'Show Threads of a Heap Dump',
  offered: ({ info }) => info.threads > 0,
  make: makePane,
} satisfies PaneOf<GraphSession>;

function makePane(context: GraphSession): Pane {
  const tree = new HeapTree<Node>(TITLE, context, {
    keptFor: 'threads',
    ask: (node, offset, limit) => ask(context, node, offset, limit),
    hasChildren: (node) =>
      node.is === 'thread'
        ? node.row.frames > 0 || node.row.variables > 0 || node.row.object !== null
        : node.is === 'part' && node.row.part !== 'object' && node.row.variables > 0,
    id,
    cells: (node) => cellsOf(node, context),
    isSelected: (node) => isSelected(context, selectionOf(node)),
    pick: (node, opened, beside) => {
      const place = placeOf(node);
      const selection = selectionOf(node);
      // a frame is nothing but its line
      if (place && (opened || selection === null)) context.openFrame(place, beside);
      else if (opened && selection) context.openSource(selection, beside);
      else if (!selection) context.say(t('The dump doesn’t say where that is.'));
      if (selection) context.select(selection);
    },
    menu: (node) => menuOf(context, node),
    copied: (node) => {
      if (node.is === 'variable') return copiedObject(node.row.object);
      return { name: node.is === 'thread' ? threadName(node.row) : partName(node.row), place: placeOf(node) };
    },
    empty: () =>
      context.filter === '' ? t('The dump has no threads.') : t('No thread holds what matches the filter.'),
  });
  return {
    ...treePane(
      {
        title: TITLE,
        update: (changes) => {
          if (changes.has('filter')) tree.show(TITLE, gridColumns(columnsOf(), null));
          else tree.redraw();
        },
      },
      tree,
    ),
    reveal: ({ thread }) => {
      if (thread !== undefined) tree.reveal(`thread:${thread}`);
    },
  };
}

function ask(
  { api, filter }: GraphSession,
  node: Node | null,
  offset: number,
  limit: number,
): Pending<LazyAnswer<Node>> {
  const page = { filter, offset, limit };
  if (node === null)
    return turned(api.request('memlens/heapThreads', page), ({ rows, total }) => ({
      rows: rows.map((row) => ({ is: 'thread', row }) as const),
      offset,
      children: total,
    }));
  if (node.is === 'thread') {
    const { thread } = node.row;
    return turned(api.request('memlens/heapStack', { thread, ...page }), ({ rows, total }) => ({
      rows: rows.map((row) => ({ is: 'part', thread, row }) as const),
      offset,
      children: total,
    }));
  }
  if (node.is === 'variable') throw new RangeError('A variable has no rows below it');
  const { part, depth } = node.row;
  return turned(
    api.request('memlens/heapVariables', { thread: node.thread, part, depth, ...page }),
    ({ rows, total }) => ({
      rows: rows.map((row) => ({ is: 'variable', of: id(node), row }) as const),
      offset,
      children: total,
    }),
  );
}

function id(node: Node): string {
  switch (node.is) {
    case 'thread':
      return `thread:${node.row.thread}`;
    case 'part':
      return `${node.row.part}:${node.thread}:${node.row.depth ?? ''}`;
    case 'variable':
      return `${node.of}:${node.row.name}:${node.row.kind}:${node.row.object.object}`;
  }
}

function selectionOf(node: Node): HeapSelection | null {
  const object = node.row.object?.object ?? null;
  return object === null ? null : { is: 'object', object };
}

/** The line of a frame, that where a thread ran out of memory, or that of a variable's object. */
function placeOf(node: Node): CopiedPlace {
  const frame = node.is === 'thread' ? node.row.failed_at : node.is === 'part' ? node.row.frame : null;
  if (node.is === 'variable') return copiedObject(node.row.object).place;
  return frame && frame.file !== '' && frame.line > 0 ? { file: frame.file, line: frame.line } : null;
}

function threadName({ name, thread }: ThreadRow): string {
  return name === '' ? t('Thread {0}', thread) : name;
}

function partName({ part, frame }: StackRow): string {
  switch (part) {
    case 'object':
      return t('Thread object');
    case 'thread locals':
      return t('Thread locals');
    case 'no frame':
      return t('Held outside of frames');
    case 'frame':
      return frame === null ? t('Unknown frame') : frame.function;
  }
}

function openPlace(context: GraphSession, { file, line }: NonNullable<CopiedPlace>): MenuEntry {
  return {
    text: t('Open Source'),
    run: () => {
      context.openFrame({ file, line }, false);
    },
  };
}

function menuOf(context: GraphSession, node: Node): readonly MenuEntry[] {
  const selection = selectionOf(node);
  const place = placeOf(node);
  const filterBy = (text: string, term: string): MenuEntry => ({ text, run: () => context.setFilter(term) });
  if (node.is === 'part' && node.row.frame)
    return [
      ...(place ? [openPlace(context, place)] : []),
      filterBy(t('Filter by Function'), `function:${exactly(node.row.frame.function)}`),
    ];
  return [
    ...(selection ? selectionMenu(context, selection) : []),
    ...(node.is === 'thread' && node.row.name !== ''
      ? [filterBy(t('Filter by Thread'), `thread:${exactly(node.row.name)}`)]
      : []),
  ];
}

function cellsOf(node: Node, { info }: GraphSession): readonly Cell[] {
  if (node.is === 'variable') {
    const { shallow_bytes: shallow, retained_bytes: retained } = node.row.object;
    const figures = [bytesCell(shallow), ...retainedCells(retained, info.shallow_bytes)];
    return [variableCell(node.row), EMPTY, ...figures];
  }
  const { variables, shallow_bytes: shallow, retained_bytes: retained } = node.row;
  // of a frame that holds nothing there is nothing to say
  if (node.is === 'part' && variables === 0) return [partCell(node.row), EMPTY, EMPTY, EMPTY, EMPTY];
  const figures = [bytesCell(shallow), ...retainedCells(retained, info.shallow_bytes)];
  const of = node.is === 'part' && node.row.part === 'object' ? EMPTY : countCell(variables);
  return [node.is === 'thread' ? threadCell(node.row) : partCell(node.row), of, ...figures];
}

function threadCell(row: ThreadRow): Cell {
  const { state, request, out_of_memory: failed, failed_at: at, frames } = row;
  const name = threadName(row);
  const words = [
    ...(state === '' ? [] : [STATES[state] ?? state]),
    plural(frames, '{0} frame', '{0} frames'),
  ].join(', ');
  // an address, with its parameters: a content
  const handled = request === '' ? '' : `${t('handles {0}', shorten(request, 200))}, `;
  const mark = failed ? t('ran out of memory') : '';
  return {
    parts: [
      <span class="heap-line">
        <bdi class="heap-thread">{shorten(name, 100)}</bdi>
        {failed && <Badge text={mark} />}
        {at && <Place frame={at} />}
        <span class="muted"> {visible(`${handled}${words}`)}</span>
      </span>,
    ],
    copied: visible([name, words, ...(failed ? [mark] : [])].join(', ')),
  };
}

function partCell(row: StackRow): Cell {
  if (row.part === 'object' && row.object) return objectCell(row.object, t('thread object'));
  const name = partName(row);
  const { frame } = row;
  const place = frame && frame.line > 0 ? ` ${fileName(frame.file)}:${frame.line}` : '';
  return {
    parts: [
      <span class="heap-line">
        <bdi class={frame ? 'code' : 'muted'} title={visible(name)}>
          {shorten(frame ? withoutPackage(name) : name, 140)}
        </bdi>
        {frame && <Place frame={frame} />}
      </span>,
    ],
    copied: visible(`${name}${place}`),
  };
}

/** `RanOut.grow` of `shop.RanOut.grow`. */
function withoutPackage(name: string): string {
  return name.replace(/^(?:[a-z_]\w*\.)+(?=[A-Z])/, '');
}

/** `rows = ArrayList @5143`; of what the file doesn't name, what kind of root it is. */
function variableCell({ name, kind, object }: VariableRow): Cell {
  const of = kind === 'thread local' ? t('thread local') : kind;
  const head = name === '' ? `${of}:` : `${shorten(name, 80)} =`;
  const cell = objectCell(
    object,
    '',
    <bdi class={name === '' ? 'muted heap-head' : 'heap-reference heap-head'} title={visible(of)}>
      {`${head} `}
    </bdi>,
  );
  return { ...cell, copied: visible(`${head} ${copiedText(object)}`) };
}

function Place({ frame: { file, line } }: { readonly frame: Frame }): VNode | null {
  return file === '' || line <= 0 ? null : <PlaceLink file={file} line={line} />;
}
