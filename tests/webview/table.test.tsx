// The table of any number of rows: what of it is made, its keys, sorting, paging and copying.

import { drawn } from './support/dom';
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { render } from 'preact';
import { Table, type TableColumn, type TableRows } from '../../webview/src/widgets/table';

interface Line {
  readonly name: string;
  readonly size: number;
}

const COLUMNS: readonly TableColumn<Line>[] = [
  {
    ...{ key: 'name', name: 'Name', number: false, width: '1fr' },
    cell: ({ name }) => ({ content: name }),
    copied: ({ name }) => name,
  },
  {
    ...{ key: 'size', name: 'Size', number: true, width: '80px' },
    cell: ({ size }) => ({ content: `${size} B` }),
    copied: ({ size }) => ({ shown: `${size} B`, exact: size }),
  },
];

const lines = (many: number, from = 0): Line[] =>
  Array.from({ length: many }, (_, i) => ({ name: `line ${from + i}`, size: 10 * (from + i) }));

function press(target: Element, key: string, ctrlKey = false): void {
  target.dispatchEvent(new KeyboardEvent('keydown', { key, ctrlKey, bubbles: true, cancelable: true }));
}

afterEach(() => {
  document.body.replaceChildren();
});

async function made(rows: readonly Line[], total = rows.length) {
  const log: string[] = [];
  const table = new Table<Line>({
    name: 't',
    label: 'Lines',
    pick: ({ name }) => log.push(`pick ${name}`),
    open: ({ name }, beside) => log.push(`open ${name}${beside ? ' beside' : ''}`),
    sort: ({ column, descending }) => log.push(`sort ${column} ${descending ? 'down' : 'up'}`),
    more: (offset) => log.push(`more ${offset}`),
    post: (message) => {
      log.push(message.type === 'copy' ? `copy ${message.text}` : message.type);
    },
    placeOf: () => null,
  });
  const show = async (part: Partial<TableRows<Line>>): Promise<void> => {
    table.show({ ...table.now, ...part });
    await drawn();
  };
  const root = document.createElement('div');
  document.body.append(root);
  render(<table.View />, root);
  await show({ columns: COLUMNS, rows, total, answer: rows });
  const grid = root.querySelector<HTMLElement>('[role=grid]');
  assert.ok(grid);
  const active = (): string | undefined =>
    document.getElementById(grid.getAttribute('aria-activedescendant') ?? '')?.textContent;
  return { root, grid, show, log, active };
}

test('of many rows only those in view are made, and all are counted', async () => {
  const { grid } = await made(lines(5000));
  assert.equal(grid.getAttribute('aria-rowcount'), '5001');
  const rows = grid.querySelectorAll('.t-row');
  assert.ok(rows.length > 0 && rows.length < 200, String(rows.length));
  assert.equal(rows[1]?.getAttribute('aria-rowindex'), '3');
});

test('keys lead through cells, pick and open rows, and sort by the column', async () => {
  const { grid, log, active } = await made(lines(50));
  assert.equal(active(), 'line 0');
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'ArrowRight']) press(grid, key);
  await drawn();
  assert.equal(active(), '10 B');
  press(grid, ' ');
  press(grid, 'Enter');
  press(grid, 's');
  await drawn();
  assert.deepEqual(log, ['pick line 1', 'open line 1', 'sort size down']);
  assert.equal(grid.querySelector('[aria-selected=true]')?.getAttribute('data-index'), '1');
  press(grid, 'End', true);
  press(grid, 'Home');
  await drawn();
  assert.equal(active(), 'line 49');
});

test('the next page is asked for where the last row comes near, and what comes leaves the place', async () => {
  const first = lines(30);
  const { grid, show, log, active } = await made(first, 60);
  assert.ok(log.includes('more 30'), String(log));
  press(grid, 'ArrowDown');
  await show({ rows: [...first, ...lines(30, 30)] });
  assert.equal(active(), 'line 1');
  log.length = 0;
  const other = lines(3, 7);
  press(grid, 'End');
  const columns = COLUMNS.slice(0, 1);
  await show({ columns, rows: other, total: 3, answer: other });
  assert.equal(active(), 'line 7', 'another answer begins at its top, in a column that it has');
  press(grid, 's');
  assert.deepEqual(log, ['sort name up']);
});

test('a row is copied by key; heads sort the other way when they are pressed again', async () => {
  const { root, grid, show, log } = await made(lines(3));
  press(grid, 'ArrowDown');
  press(grid, 'c', true);
  const head = root.querySelector<HTMLElement>('.t-head > [aria-colindex="2"]');
  head?.click();
  await show({ sort: { column: 'size', descending: true } });
  assert.equal(head?.getAttribute('aria-sort'), 'descending');
  head.click();
  assert.deepEqual(log, ['copy line 1\t10 B', 'sort size down', 'sort size up']);
});
