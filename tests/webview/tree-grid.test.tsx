// The tree table: what has the focus keeps it, keys walk through it.

import { drawn, press } from './support/dom';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { TreeGrid, type GridColumn, type GridRow } from '../../webview/src/widgets/tree-grid';

afterEach(() => {
  document.body.replaceChildren();
});

interface Item {
  readonly name: string;
  readonly level: number;
  open: boolean | null;
}

const COLUMNS: readonly GridColumn[] = [
  { name: 'Name', title: 'Sort by name', width: '1fr', number: false, sort: 'none' },
  { name: 'Bytes', title: '', width: '84px', number: true, sort: 'descending' },
];

/** A table of two columns as high as ten rows; `did` is what was asked of its owner. */
function made(items: Item[]): { grid: TreeGrid; did: string[] } {
  const did: string[] = [];
  const grid = new TreeGrid('Things', {
    count: () => items.length,
    row: (index): GridRow => {
      const item = items[index];
      assert.ok(item);
      const { name, level, open } = item;
      return {
        ...{ id: name, level, open, place: index + 1, of: items.length, selected: false, class: 'thing' },
        cells: [
          [<bdi class="code">{name}</bdi>, 'a\u202eb'],
          index === 1 ? [<span class="made">2 B</span>] : ['1 B'],
        ],
      };
    },
    sort: (column) => {
      did.push(`sort ${column}`);
      grid.setColumns(COLUMNS.map((each, i) => ({ ...each, sort: i === column ? 'ascending' : 'none' })));
      grid.update();
    },
    pick: (index, opened, beside) =>
      did.push(`pick ${index}${opened ? ' opened' : ''}${beside ? ' beside' : ''}`),
    toggle: (index, open) => {
      did.push(`toggle ${index} ${open}`);
      const item = items[index];
      if (item) item.open = open;
      grid.update();
    },
    parent: (index) => (items[index]?.level === 0 ? -1 : 0),
    key: (event) => event.key === 'f',
  });
  Object.defineProperty(grid.root, 'clientHeight', { value: 220 });
  document.body.append(grid.root);
  grid.setColumns(COLUMNS);
  grid.update();
  return { grid, did };
}

const item = (name: string, level = 0, open: boolean | null = null): Item => ({ name, level, open });
const rows = (grid: TreeGrid): Element[] => [...grid.root.querySelectorAll('.grid-row')];

test('the head that has the focus keeps it when the table is sorted by it', async () => {
  const { grid, did } = made([item('one'), item('two')]);
  const [head] = grid.root.querySelectorAll<HTMLElement>('.grid-head button');
  head?.focus();
  head?.click();
  await drawn();
  assert.deepEqual(did, ['sort 0']);
  assert.equal(document.activeElement, head);
  assert.equal(head?.parentElement?.getAttribute('aria-sort'), 'ascending');
});

test('of very many rows those in view are elements, and the others have their room', () => {
  const { grid } = made(Array.from({ length: 1000 }, (_, i) => item(`thing ${i}`)));
  assert.equal(rows(grid).length, 18);
  assert.equal(grid.root.querySelector<HTMLElement>('.grid-body')?.style.height, '22000px');
  assert.equal(grid.root.getAttribute('aria-rowcount'), '1001');
  press(grid.root, 'End');
  assert.equal(grid.activeIndex, 999);
  const last = rows(grid).at(-1);
  assert.equal(last?.getAttribute('data-id'), 'thing 999');
  assert.equal(last.getAttribute('aria-rowindex'), '1001');
  assert.equal(grid.root.getAttribute('aria-activedescendant'), last.id);
});

test('cells show names with what can’t be seen in them, components, and elements of others', () => {
  const { grid } = made([item('one', 0, false), item('two', 1)]);
  assert.deepEqual(
    rows(grid).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)),
    [
      ['onea<U+202E>b', '1 B'],
      ['twoa<U+202E>b', '2 B'],
    ],
  );
  assert.ok(grid.root.querySelector('.number > .made'));
  assert.deepEqual(
    rows(grid).map((row) => row.getAttribute('aria-expanded')),
    ['false', null],
  );
});

test('arrows open, close and walk; a press on the twistie opens, and one beside it picks', () => {
  const { grid, did } = made([item('one', 0, false), item('two', 1)]);
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowLeft', 'Enter', ' ', 'x'])
    press(grid.root, key);
  assert.deepEqual(did, ['toggle 0 true', 'toggle 0 false', 'pick 0 opened', 'pick 0']);
  did.length = 0;
  grid.root.querySelector<HTMLElement>('.twistie')?.click();
  grid.root.querySelector<HTMLElement>('.code')?.click();
  assert.deepEqual(did, ['toggle 0 true', 'pick 0']);
});
