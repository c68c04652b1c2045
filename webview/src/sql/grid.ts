// The rows of an answer: a grid of which only what is in view is made, to be gone through by keyboard.

import type { SqlColumn } from '../../../extension/shared/protocol.gen';
import { element, replace } from '../widgets/dom';
import { shorten } from '../base/text';
import { placeIn, rolesOf, shownCell, type Roles, type Row } from './rows';

const ROW_PX = 22;
const SPARE_ROWS = 12;
const MEASURED_ROWS = 200;
const WIDEST_CHARACTERS = 60;
const PAGE_ROWS = 15;

export interface GridSort {
  readonly column: number;
  readonly descending: boolean;
}

export interface GridActions {
  /** A row was picked, by a click or the space bar. */
  readonly pick: (row: Row, roles: Roles) => void;
  /** A row's line is to be opened. */
  readonly open: (row: Row, roles: Roles, beside: boolean) => void;
  readonly sort: (sort: GridSort) => void;
}

export class Grid {
  readonly root: HTMLElement;
  private readonly head = element('div', { class: 'sql-row sql-head' });
  private readonly body = element('div', { class: 'sql-body', role: 'rowgroup' });
  private readonly scroller: HTMLElement;
  private columns: readonly SqlColumn[] = [];
  private rows: readonly Row[] = [];
  private roles: Roles = rolesOf([]);
  private sort: GridSort | null = null;
  private row = 0;
  private column = 0;
  private picked = -1;
  private shown = { first: 0, last: 0 };

  constructor(private readonly actions: GridActions) {
    this.scroller = element(
      'div',
      {
        class: 'sql-grid',
        role: 'grid',
        tabIndex: 0,
        attributes: { 'aria-label': 'Result', 'aria-readonly': true },
        on: {
          scroll: () => {
            this.draw(false);
          },
          keydown: (event) => {
            this.key(event);
          },
          click: (event) => {
            this.click(event);
          },
        },
      },
      element('div', { role: 'rowgroup' }, this.head),
      this.body,
    );
    this.root = this.scroller;
    new ResizeObserver(() => {
      this.draw(false);
    }).observe(this.scroller);
  }

  /** Another answer, or the same one in another order or longer; `keep` leaves the place where it is. */
  show(columns: readonly SqlColumn[], rows: readonly Row[], sort: GridSort | null, keep: boolean): void {
    this.columns = columns;
    this.rows = rows;
    this.roles = rolesOf(columns);
    this.sort = sort;
    if (!keep) {
      this.row = 0;
      this.column = Math.min(this.column, Math.max(columns.length - 1, 0));
      this.picked = -1;
      this.scroller.scrollTop = 0;
    }
    this.scroller.setAttribute('aria-rowcount', String(rows.length + 1));
    this.scroller.setAttribute('aria-colcount', String(columns.length));
    this.scroller.style.setProperty('--sql-columns', this.widths());
    this.body.style.height = `${rows.length * ROW_PX}px`;
    // a row without cells is none
    if (columns.length > 0) this.head.setAttribute('role', 'row');
    else this.head.removeAttribute('role');
    replace(this.head, ...columns.map((column, i) => this.heading(column, i)));
    this.draw(true);
  }

  focus(): void {
    this.scroller.focus({ preventScroll: true });
  }

  private widths(): string {
    const sample = this.rows.slice(0, MEASURED_ROWS);
    const widths = this.columns.map(({ name }, i) => {
      const longest = sample.reduce(
        (most, row) => Math.max(most, shownCell(row[i] ?? null, name).text.length),
        name.length + 2,
      );
      return `calc(${Math.min(longest, WIDEST_CHARACTERS)}ch + 20px)`;
    });
    return [...widths, 'minmax(0, 1fr)'].join(' ');
  }

  private heading(column: SqlColumn, index: number): HTMLElement {
    const sorted = this.sort?.column === index ? this.sort : null;
    const direction = sorted ? (sorted.descending ? 'descending' : 'ascending') : 'none';
    return element(
      'div',
      {
        class: isNumber(column) ? 'number' : '',
        role: 'columnheader',
        title: `${shorten(column.name, 200)}: click to sort`,
        attributes: { 'aria-sort': direction, 'aria-colindex': index + 1, 'data-column': index },
      },
      element('bdi', {}, shorten(column.name, WIDEST_CHARACTERS)),
      element('span', { class: 'sort-mark', attributes: { 'aria-hidden': 'true' } }, MARKS[direction]),
    );
  }

  private draw(anew: boolean): void {
    const top = Math.max(this.scroller.scrollTop - ROW_PX, 0);
    const first = Math.max(Math.floor(top / ROW_PX) - SPARE_ROWS, 0);
    const height = Math.ceil(this.scroller.clientHeight / ROW_PX);
    const last = Math.min(first + height + 2 * SPARE_ROWS, this.rows.length);
    if (!anew && first === this.shown.first && last === this.shown.last) return;
    this.shown = { first, last };
    const made: HTMLElement[] = [];
    for (let i = first; i < last; i++) made.push(this.line(i));
    replace(this.body, ...made);
    this.mark();
  }

  private line(index: number): HTMLElement {
    const row = this.rows[index] ?? [];
    const leads = placeIn(row, this.roles) !== null;
    const line = element(
      'div',
      {
        class: index % 2 === 1 ? 'sql-row odd' : 'sql-row',
        role: 'row',
        attributes: { 'aria-rowindex': index + 2, 'data-row': index },
      },
      ...this.columns.map((column, i) => {
        const { text, full } = shownCell(row[i] ?? null, column.name);
        const classes = [
          isNumber(column) ? 'number' : '',
          row[i] === null ? 'null' : '',
          leads && (i === this.roles.file || i === this.roles.line) ? 'place' : '',
        ];
        const attributes = { 'aria-colindex': i + 1, 'data-column': i };
        return element(
          'div',
          {
            class: classes.join(' ').trim(),
            role: 'gridcell',
            title: full,
            id: `sql-${index}-${i}`,
            attributes,
          },
          element('bdi', {}, text),
        );
      }),
    );
    line.style.top = `${index * ROW_PX}px`;
    return line;
  }

  /** The cell that the keyboard is at, and the row that is lit up. */
  private mark(): void {
    for (const line of this.body.children) {
      const is = Number(line.getAttribute('data-row')) === this.picked;
      if (is) line.setAttribute('aria-selected', 'true');
      else line.removeAttribute('aria-selected');
    }
    this.body.querySelector('.active')?.classList.remove('active');
    const cell = this.body.querySelector(`[id="sql-${this.row}-${this.column}"]`);
    cell?.classList.add('active');
    if (cell) this.scroller.setAttribute('aria-activedescendant', cell.id);
    else this.scroller.removeAttribute('aria-activedescendant');
  }

  private goTo(row: number, column: number): void {
    this.row = Math.min(Math.max(row, 0), Math.max(this.rows.length - 1, 0));
    this.column = Math.min(Math.max(column, 0), Math.max(this.columns.length - 1, 0));
    const top = this.row * ROW_PX;
    const { scrollTop, clientHeight } = this.scroller;
    // The head stands over the first row in view.
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + 2 * ROW_PX > scrollTop + clientHeight)
      this.scroller.scrollTop = top + 2 * ROW_PX - clientHeight;
    this.draw(false);
    this.mark();
    const cell = this.body.querySelector<HTMLElement>('.active');
    if (!cell) return;
    const { scrollLeft, clientWidth } = this.scroller;
    if (cell.offsetLeft < scrollLeft) this.scroller.scrollLeft = cell.offsetLeft;
    else if (cell.offsetLeft + cell.offsetWidth > scrollLeft + clientWidth)
      this.scroller.scrollLeft = Math.min(cell.offsetLeft, cell.offsetLeft + cell.offsetWidth - clientWidth);
  }

  private pick(): void {
    const row = this.rows[this.row];
    if (!row) return;
    this.picked = this.row;
    this.mark();
    this.actions.pick(row, this.roles);
  }

  private click(event: MouseEvent): void {
    if (!(event.target instanceof Element)) return;
    const cell = event.target.closest('[data-column]');
    const column = Number(cell?.getAttribute('data-column'));
    if (!cell) return;
    if (cell.getAttribute('role') === 'columnheader') {
      this.actions.sort(this.nextSort(column));
      return;
    }
    this.goTo(Number(cell.parentElement?.getAttribute('data-row')), column);
    const row = this.rows[this.row];
    if (row && (event.ctrlKey || event.metaKey || event.detail === 2)) {
      this.actions.open(row, this.roles, event.altKey);
    } else this.pick();
  }

  private nextSort(column: number): GridSort {
    const again = this.sort?.column === column ? this.sort : null;
    return { column, descending: again ? !again.descending : isNumber(this.columns[column]) };
  }

  private key(event: KeyboardEvent): void {
    // Alt with an arrow goes back and forward
    if (event.altKey && event.key.startsWith('Arrow')) return;
    const mod = event.ctrlKey || event.metaKey;
    const { row, column } = this;
    switch (event.key) {
      case 'ArrowDown':
        this.goTo(row + 1, column);
        break;
      case 'ArrowUp':
        this.goTo(row - 1, column);
        break;
      case 'ArrowRight':
        this.goTo(row, column + 1);
        break;
      case 'ArrowLeft':
        this.goTo(row, column - 1);
        break;
      case 'PageDown':
        this.goTo(row + PAGE_ROWS, column);
        break;
      case 'PageUp':
        this.goTo(row - PAGE_ROWS, column);
        break;
      case 'Home':
        this.goTo(mod ? 0 : row, 0);
        break;
      case 'End':
        this.goTo(mod ? this.rows.length - 1 : row, this.columns.length - 1);
        break;
      case ' ':
        this.pick();
        break;
      case 'Enter': {
        const at = this.rows[row];
        if (at) this.actions.open(at, this.roles, mod);
        break;
      }
      case 's':
        if (mod) return;
        if (this.columns.length > 0) this.actions.sort(this.nextSort(column));
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

const MARKS = { none: '', ascending: '▲', descending: '▼' };

function isNumber(column: SqlColumn | undefined): boolean {
  return column?.type === 'integer' || column?.type === 'real';
}
