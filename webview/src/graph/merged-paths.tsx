// The paths from roots to many objects as one tree: of each step how many of them are reached through it.

import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { PathNode, PathNodesAnswer } from '../../../extension/shared/protocol.gen';
import { plural, t } from '../base/l10n';
import { turned } from '../base/latest';
import { shorten, visible } from '../base/text';
import {
  figureColumn,
  gridColumns,
  nameColumn,
  retainedCells,
  retainedTitle,
  shareColumn,
  spare,
  type HeapColumn,
} from './columns';
import type { GraphSession } from './session';
import { leaveOutItems, type LeaveOut } from './left-out';
import { mayHaveSource, selectionMenu } from './menu';
import { HeapTree } from './tree';
import {
  Badge,
  bytesCell,
  countCell,
  noObjects,
  ObjectName,
  objectsText,
  copiedText,
  objectText,
  shortType,
  textCell,
  TypeName,
  type Cell,
} from './words';

function columnsOf({ info }: GraphSession): readonly HeapColumn<never>[] {
  return [
    nameColumn(t('From the roots'), t('References, and the types they lead to'), 130),
    spare(figureColumn(t('Objects'), t('Explained objects whose paths lead through here'), 80)),
    figureColumn(t('Retained'), t('{0}, of the objects explained', retainedTitle())),
    spare(shareColumn(t('Share of all retained')), 'medium'),
    figureColumn(t('Freed if cut'), t('What would be freed without these references; – where unknown'), 104),
    ...(info.native_bytes > 0
      ? [
          spare(
            figureColumn<never>(
              t('Native freed'),
              t('Memory outside of the heap that would be freed as well; – where unknown'),
              104,
            ),
            'medium',
          ),
        ]
      : []),
  ];
}

/** The paths to all objects of a type or group, merged; what is known of them goes into `merged`. */
export function mergedTree(
  context: GraphSession,
  merged: Signal<PathNodesAnswer | null>,
  leaveOut: LeaveOut,
): HeapTree<PathNode> {
  return new HeapTree<PathNode>(t('Merged paths'), context, {
    ask: (node, offset, limit) =>
      turned(
        context.api.request('memlens/heapMergedPaths', {
          ...ofSelection(context.state.selection),
          filter: context.filter,
          through: [...context.state.through],
          without: [...context.state.without],
          node: node?.node ?? 0,
          offset,
          limit,
        }),
        (found) => {
          merged.value = found;
          return found;
        },
      ),
    hasChildren: ({ children }) => children > 0,
    id: ({ node }) => String(node),
    cells: (row) => [
      {
        parts: [
          <span class="heap-way">
            <bdi class="heap-reference">{shorten(row.name, 80)}</bdi>
            <Target row={row} />
            {row.ends > 0 && row.children > 0 && (
              <Badge text={plural(row.ends, '{0} ends here', '{0} end here')} />
            )}
          </span>,
        ],
        copied: visible(`${row.name} ${row.targets === 1 ? copiedText(row.example) : row.type}`),
      },
      countCell(row.objects),
      ...retainedCells(row.bytes, merged.value?.bytes ?? 0),
      freedCell(row.freed_bytes),
      ...(context.info.native_bytes > 0 ? [freedCell(row.freed_native_bytes)] : []),
    ],
    isSelected: () => false,
    pick: ({ example, targets }, opened, beside) => {
      if (opened) context.openSource({ is: 'object', object: example.object }, beside);
      else context.say(targets === 1 ? objectText(example) : t('One of them: {0}', objectText(example)));
    },
    menu: ({ above_type: above, name, type, children, example }) => {
      const link = { above, name, object: null, type: children > 0 ? type : null };
      const items = leaveOutItems(link, context.state.without, leaveOut);
      const hasSource = mayHaveSource(context, example);
      const own = selectionMenu(context, { is: 'object', object: example.object }, '', hasSource);
      return items.length > 0 ? [...items, null, ...own] : own;
    },
    copied: ({ example }) => ({ name: objectText(example), place: null }),
    empty: () => {
      if (merged.value?.freed) return t('Nothing else holds any of them: they would be freed.');
      return merged.value?.unreachable ? t('None of them is reachable.') : noObjects(context);
    },
  });
}

/** What a step leads to: a type, or where it is one object, that. */
function Target({ row: { targets, example, type } }: { readonly row: PathNode }): VNode {
  return targets === 1 ? <ObjectName row={example} /> : <TypeName type={type} text={shortType(type)} />;
}

/** Asks for the paths to what is selected now. */
export function showMerged(tree: HeapTree<PathNode>, context: GraphSession): void {
  tree.show(t('Paths from roots, merged'), gridColumns(columnsOf(context), null));
}

/** What a cut frees; a dash where that isn't known. */
function freedCell(freed: number | null): Cell {
  return freed === null ? textCell('–') : bytesCell(freed);
}

function ofSelection(selection: HeapSelection | null): { kind: number | null; group: number | null } {
  return {
    kind: selection?.is === 'type' ? selection.kind : null,
    group: selection?.is === 'group' ? selection.group : null,
  };
}

export function mergedWords({
  explained,
  left_out: left,
  unreachable,
  freed,
}: PathNodesAnswer): string | null {
  // the table says so
  if (explained + left + unreachable === 0) return null;
  const objects = objectsText(explained);
  return [
    left > 0
      ? plural(
          left,
          'Shortest paths to {1}, the largest; {0} other left out.',
          'Shortest paths to {1}, the largest; {0} others left out.',
          objects,
        )
      : t('Shortest paths to {0}.', objects),
    ...(freed > 0
      ? [
          plural(
            freed,
            'Nothing else holds {0} object: it would be freed.',
            'Nothing else holds {0} objects: they would be freed.',
          ),
        ]
      : []),
    ...(unreachable > 0
      ? [plural(unreachable, '{0} object is unreachable.', '{0} objects are unreachable.')]
      : []),
  ].join(' ');
}
