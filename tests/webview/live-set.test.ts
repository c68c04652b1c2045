// The tree of the live set, whose branches are fetched when they are opened; and the terms that the filter box offers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  AllocationSummary,
  Group,
  GroupsAnswer,
  MembersAnswer,
} from '../../extension/shared/protocol.gen';
import {
  both,
  allocationTerms,
  findingTerms,
  OBJECT_TERMS,
  offersFor,
  wordAt,
} from '../../webview/src/shell/filter-terms';
import { PAGE, parentOf, Tree, type GroupRow, type Row } from '../../webview/src/live-set/tree';

const group = (key: number): Group => ({
  key,
  name: `group ${key}`,
  detail: '',
  place: null,
  filter: '',
  bytes: 100 - key,
  count: 2,
  largest_bytes: 60,
  largest_allocation: key,
});

/** A set of so many groups of two allocations each; `asked` is every question. */
function made(groups: number): { tree: Tree; asked: string[]; settle: () => Promise<void>; fail: boolean } {
  const asked: string[] = [];
  const state = { fail: false };
  const tree = new Tree({
    groups: async (path, offset, limit): Promise<GroupsAnswer> => {
      asked.push(`groups ${path.join('/')} ${offset}`);
      await Promise.resolve();
      if (state.fail) throw new Error('no answer');
      const rows = Array.from({ length: Math.min(limit, groups - offset) }, (_, i) => group(offset + i));
      return {
        set_bytes: 9,
        set_count: 9,
        bytes: 9,
        count: 2 * groups,
        groups,
        offset,
        rows,
        largest: 'allocation',
      };
    },
    members: async (path, offset): Promise<MembersAnswer> => {
      asked.push(`members ${path.join('/')} ${offset}`);
      await Promise.resolve();
      const first = 2 * (path.at(-1) ?? 0);
      // SAFETY: the tree looks at nothing but the number.
      const rows = [first, first + 1].map((allocation) => ({ allocation }) as AllocationSummary);
      return { bytes: 9, count: 2, offset, rows };
    },
    changed: () => undefined,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  };
  return Object.assign(state, { tree, asked, settle });
}

const ids = (tree: Tree): string[] => tree.rows().map(({ id }) => id);

function groupAt(tree: Tree, index: number): GroupRow {
  const row: Row | undefined = tree.rows()[index];
  assert.ok(row?.kind === 'group');
  return row;
}

test('branches are fetched when they are opened, and once', async () => {
  const { tree, asked, settle } = made(3);
  tree.reset(2);
  assert.deepEqual(ids(tree), ['more:']);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2']);
  tree.setOpen(groupAt(tree, 1), true);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '1/0', '1/1', '1/2', '2']);
  tree.setOpen(groupAt(tree, 3), true);
  await settle();
  assert.deepEqual(ids(tree).slice(3, 6), ['1/1', 'allocation:2', 'allocation:3']);
  assert.deepEqual(
    tree.rows().map((_, index) => parentOf(tree.rows(), index)),
    [-1, -1, 1, 1, 3, 3, 1, -1],
  );
  tree.setOpen(groupAt(tree, 1), false);
  assert.deepEqual(ids(tree), ['0', '1', '2']);
  tree.setOpen(groupAt(tree, 1), true);
  assert.deepEqual(asked, ['groups  0', 'groups 1 0', 'members 1/1 0']);
});

test('what is open stays open in another set, and not under other groups', async () => {
  const { tree, settle } = made(3);
  tree.reset(1);
  await settle();
  tree.setOpen(groupAt(tree, 2), true);
  await settle();
  tree.reset(1);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2', 'allocation:4', 'allocation:5']);
  tree.regroup(1);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2']);
});

test('more than a page is fetched page by page', async () => {
  const { tree, asked, settle } = made(PAGE + 20);
  tree.reset(1);
  await settle();
  const more = tree.rows().at(-1);
  assert.ok(more?.kind === 'more' && more.left === 20 && !more.waiting);
  tree.more(more);
  tree.more(more);
  await settle();
  assert.equal(tree.rows().length, PAGE + 20);
  assert.equal(groupAt(tree, PAGE + 19).place, PAGE + 20);
  assert.ok(asked.includes(`groups  ${PAGE}`));
});

test('an answer that comes too late changes nothing, and one that fails says so', async () => {
  const run = made(3);
  run.tree.reset(1);
  run.tree.reset(0);
  await run.settle();
  assert.deepEqual(ids(run.tree), ['allocation:0', 'allocation:1']);
  run.fail = true;
  run.tree.reset(1);
  await run.settle();
  const [row] = run.tree.rows();
  assert.ok(row?.kind === 'more' && row.message === 'no answer');
});

test('the word that is typed and the terms that begin like it', () => {
  assert.deepEqual(wordAt('size>1 fi', 9), { from: 7, word: 'fi' });
  assert.deepEqual(wordAt('file:"a b', 9), { from: 0, word: 'file:"a b' });
  assert.deepEqual(wordAt('"a \\" b" x', 10), { from: 9, word: 'x' });
  assert.deepEqual(
    offersFor('-f', allocationTerms([])).map(({ text }) => text),
    ['-file:', '-function:'],
  );
  assert.deepEqual(
    offersFor('category:g', allocationTerms(['gradient', 'input'])).map(({ text }) => text),
    ['category:gradient'],
  );
  assert.deepEqual(
    offersFor('category:g', allocationTerms(['gradient (inferred)'])).map(({ text }) => text),
    ['category:gradient'],
  );
  const findings = findingTerms(['Duplicate strings', 'Listeners', 'Duplicate strings']);
  const offered = (word: string): string[] =>
    offersFor(word, [...OBJECT_TERMS, ...findings]).map(({ text }) => text);
  assert.deepEqual(offered('-finding:'), ['-finding:"Duplicate strings"', '-finding:Listeners']);
  assert.deepEqual(offered('finding:dup'), ['finding:"Duplicate strings"']);
  assert.deepEqual(offered('finding:"duplicate s'), ['finding:"Duplicate strings"']);
  assert.deepEqual(offered('fi'), ['field:', 'finding:']);
  assert.ok(offersFor('', allocationTerms([])).length > 10);
});

test('filters are put together once', () => {
  assert.equal(both('', 'by:a'), 'by:a');
  assert.equal(both('size>1', 'by:a'), 'size>1 by:a');
  assert.equal(both('size>1 by:a', 'by:a'), 'size>1 by:a');
  assert.equal(both('by:ab', 'by:a'), 'by:ab by:a');
});
