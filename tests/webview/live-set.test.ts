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
  addTerm,
  traceTerms,
  findingTerms,
  OBJECT_TERMS,
  offersFor,
  wordAt,
} from '../../webview/src/shell/filter-terms';
import type { Pending } from '../../webview/src/base/request';
import { idOf, LiveTree, PAGE, type LiveNodeRow, type LiveRow } from '../../webview/src/live-set/tree';
import { plain } from './support/plain';

const group = (key: number): Group => ({
  key,
  name: plain(`group ${key}`),
  detail: plain(''),
  place: null,
  filter: '',
  bytes: 100 - key,
  inferred_bytes: 0,
  declared: '',
  count: 2,
  largest_bytes: 60,
  largest_allocation: key,
});

/** A set of so many groups of two allocations each; `asked` is every question. */
function made(groups: number): {
  tree: LiveTree;
  asked: string[];
  settle: () => Promise<void>;
  fail: boolean;
} {
  const asked: string[] = [];
  const state = { fail: false };
  const pending = <T>(text: string, answer: () => T): Pending<T> => {
    asked.push(text);
    const failed = state.fail;
    return {
      answer: Promise.resolve().then(() => {
        if (failed) throw new Error('no answer');
        return answer();
      }),
      cancel: () => undefined,
    };
  };
  const tree = new LiveTree({
    hasAllocations: true,
    groups: (path, offset, limit) =>
      pending(`groups ${path.join('/')} ${offset}`, (): GroupsAnswer => {
        const rows = Array.from({ length: Math.min(limit, groups - offset) }, (_, i) => group(offset + i));
        return {
          ...{ set_bytes: 9, set_count: 9, bytes: 9, count: 2 * groups },
          ...{ groups, offset, rows, largest: 'allocation' },
        };
      }),
    members: (path, offset) =>
      pending(`members ${path.join('/')} ${offset}`, (): MembersAnswer => {
        const first = 2 * (path.at(-1) ?? 0);
        // SAFETY: the tree looks at nothing but the number.
        const rows = [first, first + 1].map((allocation) => ({ allocation }) as AllocationSummary);
        return { bytes: 9, count: 2, offset, rows };
      }),
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return Object.assign(state, { tree, asked, settle });
}

const textOf = (row: LiveRow): string => (row.kind === 'rest' ? 'more' : idOf(row.node));
const ids = (tree: LiveTree): string[] => tree.rows.map(textOf);

function groupAt(tree: LiveTree, index: number): LiveNodeRow {
  const row = tree.rows[index];
  assert.ok(row?.kind === 'node' && row.node.kind === 'group');
  return row;
}

test('branches are fetched when they are opened, and once', async () => {
  const { tree, asked, settle } = made(3);
  tree.reset(2);
  assert.deepEqual(ids(tree), ['more']);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2']);
  tree.toggle(groupAt(tree, 1), true);
  assert.deepEqual(ids(tree), ['0', '1', 'more', '2']);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '1/0', '1/1', '1/2', '2']);
  tree.toggle(groupAt(tree, 3), true);
  await settle();
  assert.deepEqual(ids(tree).slice(3, 6), ['1/1', 'allocation:2', 'allocation:3']);
  assert.deepEqual(
    tree.rows.map((_, index) => tree.parentOf(index)),
    [-1, -1, 1, 1, 3, 3, 1, -1],
  );
  tree.toggle(groupAt(tree, 1), false);
  assert.deepEqual(ids(tree), ['0', '1', '2']);
  tree.toggle(groupAt(tree, 1), true);
  assert.deepEqual(ids(tree).length, 8);
  assert.deepEqual(asked, ['groups  0', 'groups 1 0', 'members 1/1 0']);
});

test('what is open stays open in another set, and not under other groups', async () => {
  const { tree, settle } = made(3);
  tree.reset(1);
  await settle();
  tree.toggle(groupAt(tree, 2), true);
  await settle();
  tree.reset(1);
  assert.equal(tree.totals, null);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2', 'allocation:4', 'allocation:5']);
  assert.deepEqual(tree.totals, { bytes: 9, count: 6, groups: 3 });
  tree.regroup(1);
  await settle();
  assert.deepEqual(ids(tree), ['0', '1', '2']);
});

test('more than a page is fetched page by page', async () => {
  const { tree, asked, settle } = made(PAGE + 20);
  tree.reset(1);
  await settle();
  const more = tree.rows.at(-1);
  assert.ok(more?.kind === 'rest' && more.left === 20 && !more.waiting);
  tree.more(more);
  tree.more(more);
  const waiting = tree.rows.at(-1);
  assert.ok(waiting?.kind === 'rest' && waiting.waiting);
  await settle();
  assert.equal(tree.rows.length, PAGE + 20);
  assert.equal(groupAt(tree, PAGE + 19).place, PAGE + 20);
  assert.deepEqual(asked, ['groups  0', `groups  ${PAGE}`]);
});

test('an answer that comes too late changes nothing, and one that fails says so until it is asked again', async () => {
  const run = made(3);
  run.tree.reset(1);
  run.tree.reset(0);
  await run.settle();
  assert.deepEqual(ids(run.tree), ['allocation:0', 'allocation:1']);
  run.fail = true;
  run.tree.reset(1);
  await run.settle();
  const [row] = run.tree.rows;
  assert.ok(row?.kind === 'rest' && row.message === 'no answer');
  run.fail = false;
  run.tree.more(row);
  await run.settle();
  assert.deepEqual(ids(run.tree), ['0', '1', '2']);
});

test('the word that is typed and the terms that begin like it', () => {
  assert.deepEqual(wordAt('size>1 fi', 9), { from: 7, word: 'fi' });
  assert.deepEqual(wordAt('file:"a b', 9), { from: 0, word: 'file:"a b' });
  assert.deepEqual(wordAt('"a \\" b" x', 10), { from: 9, word: 'x' });
  assert.deepEqual(
    offersFor('-f', traceTerms([])).map(({ text }) => text),
    ['-file:', '-function:', '-freed-by:'],
  );
  assert.deepEqual(
    offersFor('category:g', traceTerms(['gradient', 'input'])).map(({ text }) => text),
    ['category:gradient'],
  );
  assert.deepEqual(
    offersFor('category:g', traceTerms(['gradient (inferred)'])).map(({ text }) => text),
    ['category:gradient'],
  );
  const findings = findingTerms(['Duplicate strings', 'Listeners', 'Duplicate strings']);
  const offered = (word: string): string[] =>
    offersFor(word, [...OBJECT_TERMS, ...findings]).map(({ text }) => text);
  assert.deepEqual(offered('-finding:'), ['-finding:"Duplicate strings"', '-finding:Listeners']);
  assert.deepEqual(offered('finding:dup'), ['finding:"Duplicate strings"']);
  assert.deepEqual(offered('finding:"duplicate s'), ['finding:"Duplicate strings"']);
  assert.deepEqual(offered('fi'), ['field:', 'finding:']);
  assert.ok(offersFor('', traceTerms([])).length > 10);
});

test('filters are put together once', () => {
  const narrowed = (filter: string, term: string): string => {
    let now = '';
    addTerm({ filter, setFilter: (other) => (now = other) }, term);
    return now;
  };
  assert.equal(narrowed('', 'by:a'), 'by:a');
  assert.equal(narrowed('size>1', 'by:a'), 'size>1 by:a');
  assert.equal(narrowed('size>1 by:a', 'by:a'), 'size>1 by:a');
  assert.equal(narrowed('by:ab', 'by:a'), 'by:ab by:a');
});
