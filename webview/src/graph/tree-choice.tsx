// The choice of the tree that boxes and the table show: what an object is below.

import type { VNode } from 'preact';
import type { HeapTree } from '../../../extension/shared/messages';
import { bytes } from '../base/format';
import { t } from '../base/l10n';
import { Dropdown } from '../widgets/choice';
import type { GraphSession } from './session';
import { TREES } from './groups';

export const TREE_NAMES: Readonly<Record<HeapTree, () => string>> = {
  dominators: () => t('Dominators'),
  paths: () => t('Shortest paths'),
};

export function TreeChoice({ context }: { readonly context: GraphSession }): VNode {
  return (
    <Dropdown<HeapTree>
      label={t('Tree')}
      value={context.tree.value}
      options={TREES.map((tree) => ({ value: tree, text: TREE_NAMES[tree]() }))}
      change={(tree) => context.showTree(tree)}
    />
  );
}

/** What something has in a tree: what it retains, or the bytes of it and of everything below it. */
export function totalText(tree: HeapTree | undefined, value: number): string {
  return tree === 'paths' ? t('{0} in total', bytes(value)) : t('{0} retained', bytes(value));
}
