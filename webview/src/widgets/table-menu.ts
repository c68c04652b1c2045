// The context menu of rows that have no menu of their own: what can be copied of them, read from the table itself.

import type { Api } from '../api';
import { copyItems, type CopiedCell } from './copy';
import { exactBytes } from '../base/format';
import { openMenu } from './menu';

const CELLS = ':scope > th, :scope > td, :scope > [role=gridcell]';

/** Opens the menu of the row that an event is about; false where there is none. */
export function openTableMenu(api: Pick<Api, 'post'>, event: MouseEvent): boolean {
  const row =
    event.target instanceof Element ? event.target.closest<HTMLElement>('tbody tr, [role=row]') : null;
  const table = row?.closest('table, [role=grid]');
  if (!row || !table) return false;
  const cells = cellsOf(row);
  const heads = Array.from(table.querySelectorAll('thead th, [role=columnheader]'), textOf);
  const rows = (): CopiedCell[][] =>
    Array.from(table.querySelectorAll('tbody tr, [role=row]'), cellsOf).filter((each) => each.length > 0);
  const [first = ''] = cells;
  const name = typeof first === 'string' ? first : first.shown;
  const { path = '' } = row.dataset;
  const items = copyItems(
    api,
    { name, place: path === '' ? null : { file: path, line: 0 } },
    { one: () => ({ heads, rows: [cells] }), all: () => ({ heads, rows: rows() }) },
  );
  // nothing stands above the line that they begin with
  openMenu(items.slice(1), event.clientX, event.clientY);
  return true;
}

function cellsOf(row: Element): CopiedCell[] {
  return Array.from(row.querySelectorAll<HTMLElement>(CELLS), (cell) => {
    const shown = textOf(cell);
    const exact = bytesOf(cell.title) ?? (/^[\d,]+$/.test(shown) ? numberOf(shown) : null);
    return exact === null ? shown : { shown, exact };
  });
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''));
}

/** The number in what `exactBytes` made; null of another text. */
function bytesOf(title: string): number | null {
  const [digits] = /\d[\d,]*/.exec(title) ?? [];
  if (digits === undefined) return null;
  const value = numberOf(digits);
  return title.startsWith(exactBytes(value)) ? value : null;
}

/** What is seen of an element, in one line. */
function textOf(element: Element): string {
  const parts = Array.from(element.childNodes, (node) => {
    if (!(node instanceof Element)) return node.textContent ?? '';
    return node.getAttribute('aria-hidden') === 'true' ? '' : textOf(node);
  });
  return parts.filter(Boolean).join(' ').replace(/\s+/g, ' ').trim();
}
