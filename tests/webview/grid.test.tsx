// The grid of rows that open: what has the focus keeps it, keys walk through it.

import { drawn, mounted, press } from './support/dom';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Grid, type GridColumn, type GridRow } from '../../webview/src/widgets/grid';

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
async function made(items: Item[]): Promise<{ grid: Grid; root: HTMLElement; did: string[] }> {
  const did: string[] = [];
  const grid = new Grid('Things', {
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
  const root = mounted(<grid.View />).querySelector<HTMLElement>('.grid');
  assert.ok(root);
  Object.defineProperty(root, 'clientHeight', { value: 220 });
  grid.setColumns(COLUMNS);
  grid.update();
  await drawn();
  return { grid, root, did };
}

const item = (name: string, level = 0, open: boolean | null = null): Item => ({ name, level, open });
const rows = (root: Element): Element[] => [...root.querySelectorAll('.grid-row')];

test('the head that has the focus keeps it when the table is sorted by it', async () => {
  const { root, did } = await made([item('one'), item('two')]);
  const [head] = root.querySelectorAll<HTMLElement>('.grid-head button');
  head?.focus();
  head?.click();
  await drawn();
  assert.deepEqual(did, ['sort 0']);
  assert.equal(document.activeElement, head);
  assert.equal(head?.parentElement?.getAttribute('aria-sort'), 'ascending');
});

test('a narrow window leaves out spare columns, and the others keep their numbers', async () => {
  const { grid, root } = await made([item('one')]);
  const [name, bytes] = COLUMNS;
  assert.ok(name && bytes);
  grid.setColumns([name, { ...bytes, spare: 'medium' }, { ...bytes, width: '60px', spare: 'narrow' }, bytes]);
  await drawn();
  assert.equal(root.style.getPropertyValue('--columns'), '1fr 84px 60px 84px');
  assert.equal(root.style.getPropertyValue('--medium-columns'), '1fr 60px 84px');
  assert.equal(root.style.getPropertyValue('--narrow-columns'), '1fr 84px');
  assert.deepEqual(
    [...root.querySelectorAll('[role=columnheader]:not([class*=spare])')].map((each) =>
      each.getAttribute('aria-colindex'),
    ),
    ['1', '4'],
  );
});

test('of very many rows those in view are elements, and the others have their room', async () => {
  const { grid, root } = await made(Array.from({ length: 1000 }, (_, i) => item(`thing ${i}`)));
  assert.equal(rows(root).length, 18);
  assert.equal(root.querySelector<HTMLElement>('.grid-body')?.style.height, '22000px');
  assert.equal(root.getAttribute('aria-rowcount'), '1001');
  press(root, 'End');
  await drawn();
  assert.equal(grid.activeIndex, 999);
  const last = rows(root).at(-1);
  assert.equal(last?.getAttribute('data-id'), 'thing 999');
  assert.equal(last.getAttribute('aria-rowindex'), '1001');
  assert.equal(root.getAttribute('aria-activedescendant'), last.id);
});

test('cells show names with what can’t be seen in them, components, and elements of others', async () => {
  const { root } = await made([item('one', 0, false), item('two', 1)]);
  assert.deepEqual(
    rows(root).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)),
    [
      ['onea<U+202E>b', '1 B'],
      ['twoa<U+202E>b', '2 B'],
    ],
  );
  assert.ok(root.querySelector('.number > .made'));
  assert.deepEqual(
    rows(root).map((row) => row.getAttribute('aria-expanded')),
    ['false', null],
  );
});

test('arrows open, close and walk; a press on the twistie opens, and one beside it picks', async () => {
  const { root, did } = await made([item('one', 0, false), item('two', 1)]);
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowLeft', 'Enter', ' ', 'x'])
    press(root, key);
  assert.deepEqual(did, ['toggle 0 true', 'toggle 0 false', 'pick 0 opened', 'pick 0']);
  did.length = 0;
  root.querySelector<HTMLElement>('.twistie')?.click();
  root.querySelector<HTMLElement>('.code')?.click();
  assert.deepEqual(did, ['toggle 0 true', 'pick 0']);
});
