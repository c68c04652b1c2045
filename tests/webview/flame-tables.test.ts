// The flame graph's tables, keys and settings: rows that are fetched when they are opened, whatever order answers come
// in; each key has one meaning; and what was kept comes back as far as it is whole.

import { effect } from '@preact/signals';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FlameState } from '../../extension/shared/messages';
import type { FlameChildrenAnswer, FlameName, FlameNode } from '../../extension/shared/protocol.gen';
import { FLAME_KEYS } from '../../webview/src/flame/keys';
import { halfParams } from '../../webview/src/flame/question';
import { initialSettings, KeptFlame, restoreFlame, treeParams } from '../../webview/src/flame/settings';
import { LazyRows, TREE_PAGE, type NodeRow } from '../../webview/src/widgets/lazy-rows';

const nameOf = (name: number): FlameName => ({
  ...{ name, function: `f${name}`, file: 'a.py', line: 0, kind: 'user', package: '', is_package: false },
  ...{ source: 'recorded', said: null, declared: '' },
});

/** A tree in which node n has `widths[n]` children (none where it isn't given), numbered from 10 n on. */
function made(widths: Readonly<Record<number, number>>) {
  const answers: { node: number; cancelled: boolean; answer: () => Promise<void> }[] = [];
  const node = (number: number): FlameNode => ({
    ...{ node: number, name: nameOf(number), depth: 1, self_bytes: 1, self_count: 1, bytes: 5, count: 1 },
    ...{ children: widths[number] ?? 0, x0: 0, x1: 1, sides: null, self_sides: null },
  });
  let active = 0;
  const rows = new LazyRows<FlameNode, FlameChildrenAnswer>({
    hasChildren: ({ children }) => children > 0,
    ask: (above, offset, limit) => {
      const parent = above?.node ?? 0;
      const children = widths[parent] ?? 0;
      const last = Math.min(offset + limit, children);
      const answer: FlameChildrenAnswer = {
        ...{
          total_bytes: 100,
          total_count: 10,
          children,
          offset,
          rest_bytes: 7,
          rest_count: children - last,
        },
        whole: null,
        rows: Array.from({ length: last - offset }, (_, i) => node(10 * parent + offset + i + 1)),
      };
      let give: (value: FlameChildrenAnswer) => void = () => undefined;
      const promise = new Promise<FlameChildrenAnswer>((resolve) => {
        give = resolve;
      });
      const asked = {
        node: parent,
        cancelled: false,
        answer: async () => {
          if (!asked.cancelled) give(answer);
          await new Promise(setImmediate);
        },
      };
      answers.push(asked);
      return {
        answer: promise,
        cancel: () => {
          asked.cancelled = true;
        },
      };
    },
    failed: (error) => {
      throw error;
    },
  });
  rows.changed = (moved) => {
    active = moved(active);
  };
  const settle = async (): Promise<void> => {
    for (let asked = answers.shift(); asked; asked = answers.shift()) await asked.answer();
  };
  const shown = (): string[] =>
    rows.rows.map((row) => `${'>'.repeat(row.level)}${row.kind === 'node' ? row.node.node : `+${row.left}`}`);
  const at = (number: number): NodeRow<FlameNode> => {
    const found = rows.rows.find((row) => row.kind === 'node' && row.node.node === number);
    assert.ok(found?.kind === 'node');
    return found;
  };
  const stand = {
    get on(): string | undefined {
      return shown()[active];
    },
    set on(row: string | undefined) {
      active = shown().indexOf(row ?? '');
    },
  };
  return { rows, answers, settle, shown, at, stand };
}

describe('the rows of a call tree', () => {
  it('open and close, chains of one child by themselves, and who stands on a row stays there', async () => {
    const tree = made({ 0: 2, 1: 1, 11: 1, 111: 2, 2: 1 });
    tree.rows.reset();
    await tree.settle();
    assert.deepEqual(tree.shown(), ['1', '2']);
    tree.stand.on = '2';
    tree.rows.toggle(tree.at(1), true);
    await tree.settle();
    assert.deepEqual(tree.shown(), ['1', '>11', '>>111', '>>>1111', '>>>1112', '2']);
    assert.equal(tree.stand.on, '2');
    assert.equal(tree.rows.rows[tree.rows.parentOf(4)], tree.at(111));
    tree.stand.on = '>>>1112';
    tree.rows.toggle(tree.at(11), false);
    assert.deepEqual(tree.shown(), ['1', '>11', '2']);
    assert.equal(tree.stand.on, '>11', 'a row that is gone leaves one on what closed over it');
    assert.deepEqual([tree.at(1).place, tree.at(1).of, tree.at(2).place], [1, 2, 2]);
  });

  it('stand where they belong, in whatever order the answers come, and once', async () => {
    const tree = made({ 0: 3, 1: 2, 2: 2 });
    tree.rows.reset();
    await tree.settle();
    tree.rows.toggle(tree.at(1), true);
    tree.rows.toggle(tree.at(2), true);
    const [first, second] = tree.answers;
    await second?.answer();
    await first?.answer();
    assert.deepEqual(tree.shown(), ['1', '>11', '>12', '2', '>21', '>22', '3']);
    tree.answers.length = 0;
    tree.rows.toggle(tree.at(2), false);
    tree.rows.toggle(tree.at(2), true);
    tree.rows.toggle(tree.at(2), false);
    tree.rows.toggle(tree.at(2), true);
    await tree.settle();
    assert.deepEqual(tree.shown(), ['1', '>11', '>12', '2', '>21', '>22', '3']);
    tree.rows.toggle(tree.at(1), false);
    tree.rows.toggle(tree.at(1), true);
    tree.rows.toggle(tree.at(1), false);
    await tree.settle();
    assert.deepEqual(tree.shown(), ['1', '2', '>21', '>22', '3'], 'what was closed meanwhile stays closed');
    tree.rows.toggle(tree.at(1), true);
    tree.rows.reset();
    await tree.settle();
    assert.deepEqual(tree.shown(), ['1', '2', '3'], 'answers about another tree are not taken');
  });

  it('come by pages', async () => {
    const tree = made({ 0: 2 * TREE_PAGE + 5 });
    tree.rows.reset();
    await tree.settle();
    assert.equal(tree.shown().at(-1), `+${TREE_PAGE + 5}`);
    for (let page = 0; page < 2; page++) {
      const rest = tree.rows.rows.at(-1);
      assert.ok(rest?.kind === 'rest');
      tree.rows.more(rest);
      tree.rows.more(rest);
      await tree.settle();
    }
    assert.deepEqual(
      tree.shown(),
      Array.from({ length: 2 * TREE_PAGE + 5 }, (_, i) => String(i + 1)),
    );
  });
});

describe("the flame graph's keys", () => {
  it('have one meaning each, and letters the one of their Shift only where it is given', () => {
    const press = (key: string, more = {}) =>
      FLAME_KEYS.actionOf({ key, shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more });
    for (const { keys: each = [], action } of FLAME_KEYS.rows)
      for (const key of each) {
        const shiftKey = key.startsWith('Shift+');
        const ctrlKey = key.startsWith('Mod+');
        assert.equal(press(key.replace(/^(Shift|Mod)\+(?=.)/, ''), { shiftKey, ctrlKey }), action, key);
      }
    assert.equal(press('W', { shiftKey: true }), 'sandwich');
    assert.equal(press('+', { shiftKey: true }), 'zoomIn');
    assert.equal(press('w', { ctrlKey: true }), null, "VS Code's");
    assert.equal(press('ArrowUp', { altKey: true }), null);
    assert.equal(press('x'), null);
  });
});

const SET = {
  ...({ device: 0, kind: 'live', from_moment: null, to_moment: null, filter: '', value: null } as const),
};

describe('what a flame graph shows', () => {
  const name = nameOf(7);
  const info = { model: 'profile', file_bytes: 123, mixed_stacks: false } as const;

  it('comes back as it was kept', () => {
    let notified = 0;
    const kept = new KeptFlame(null, info);
    const stop = effect(() => {
      notified += kept.state.fileBytes / info.file_bytes;
    });
    assert.deepEqual(kept.settings, initialSettings(info));
    kept.set({ form: 'functions', value: 'count', direction: 'bottom_up', merge: 'line', order: 'time' });
    kept.set({ hidden: [name], focus: name, sandwich: name, search: 'x', fold: true, packages: ['torch'] });
    stop();
    assert.equal(notified, 3, 'as it was first, and each time that it is another');
    const saved = JSON.parse(JSON.stringify(kept.state)) as FlameState;
    assert.deepEqual(restoreFlame(saved, info), kept.settings);
  });

  it('has libraries collapsed where stacks are mixed, until it is chosen otherwise', () => {
    const mixed = { ...info, mixed_stacks: true };
    const kept = new KeptFlame(null, mixed);
    assert.deepEqual([kept.settings.collapse, initialSettings(info).collapse], [true, false]);
    kept.set({ collapse: false });
    assert.equal(restoreFlame(kept.state, mixed).collapse, false);
    const asked = (form: FlameState['form']) =>
      treeParams({ ...initialSettings(mixed), form }, SET, 9).options.collapse;
    assert.deepEqual([asked('table'), asked('functions')], [['*'], []]);
    assert.equal(initialSettings({ model: 'graph', file_bytes: 1 }).collapse, false);
  });

  it('is believed no further than it is whole, and names not for another file', () => {
    const kept = new KeptFlame(null, info);
    kept.set({ hidden: [name], focus: name, sandwich: name, search: 'x' });
    const other = restoreFlame(kept.state, { ...info, file_bytes: 124 });
    assert.deepEqual([other.hidden, other.focus, other.sandwich, other.search], [[], null, null, 'x']);
    const wrong = { ...kept.state, form: 'x', hidden: [{ name: -1 }, null, name], packages: [3], search: 4 };
    const mended = restoreFlame(wrong as unknown as FlameState, info);
    assert.deepEqual(mended, { ...kept.settings, hidden: [name], search: '' });
    const { source: _, ...older } = name;
    const before = { ...kept.state, focus: older } as unknown as FlameState;
    assert.deepEqual(restoreFlame(before, info).focus, name, 'kept before names had a source');
    assert.deepEqual(restoreFlame('x' as unknown as FlameState, info), initialSettings(info));
  });

  it('is asked for up and down from a function, with all else as it is', () => {
    const params = treeParams({ ...initialSettings(info), fold: true, focus: nameOf(3) }, SET, 9);
    const half = halfParams(params, 'bottom_up', name);
    const { options } = half;
    assert.deepEqual(half, {
      ...params,
      options: { ...params.options, direction: 'bottom_up', focus: 7 },
    });
    assert.equal(options.fold_recursion, true);
  });
});
