// The rows of an answer, and what its columns lead to.

import { signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import type { FromWebviewMessage } from '../../../extension/shared/messages';
import type { SqlColumn } from '../../../extension/shared/protocol.gen';

import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { Table, type TableColumn, type TableRows } from '../widgets/table';
import { placeIn, rolesOf, shownCell, type Roles, type Row } from './rows';

const MEASURED_ROWS = 200;
const WIDEST_CHARACTERS = 60;

export interface GridSort {
  readonly column: number;
  readonly descending: boolean;
}

export interface GridActions {
  readonly post: (message: FromWebviewMessage) => void;
  /** A row was picked, by a click or the space bar. */
  readonly pick: (row: Row, roles: Roles) => void;
  /** A row's line is to be opened. */
  readonly open: (row: Row, roles: Roles, beside: boolean) => void;
  readonly sortBy: (sort: GridSort) => void;
}

/** The rows that are shown. */
export class Grid {
  readonly scroller = createRef<HTMLDivElement>();
  readonly shown = signal<TableRows<Row>>({
    ...{ columns: [], rows: [], total: 0, sort: null, answer: null },
  });
  roles: Roles = rolesOf([]);

  /** Another answer, or the same one in another order or longer; `keep` leaves the place where it is. */
  show(columns: readonly SqlColumn[], rows: readonly Row[], sort: GridSort | null, keep: boolean): void {
    this.roles = rolesOf(columns);
    this.shown.value = {
      columns: columns.map((column, index) => columnOf(column, index, rows, this.roles)),
      rows,
      total: rows.length,
      sort: sort && { column: String(sort.column), descending: sort.descending },
      answer: keep ? this.shown.peek().answer : rows,
    };
  }

  focus(): void {
    this.scroller.current?.focus({ preventScroll: true });
  }
}

export function ResultGrid({ grid, actions }: { readonly grid: Grid; readonly actions: GridActions }): VNode {
  return (
    <div class="sql-result">
      <Table<Row>
        name="sql"
        label={t('Result')}
        shown={grid.shown}
        scroller={grid.scroller}
        actions={{
          pick: (row) => actions.pick(row, grid.roles),
          open: (row, beside) => actions.open(row, grid.roles, beside),
          sort: ({ column, descending }) => actions.sortBy({ column: Number(column), descending }),
          more: null,
          post: actions.post,
        }}
        about={(row) => ({ place: placeIn(row, grid.roles) })}
      />
    </div>
  );
}

function columnOf(
  { name, type }: SqlColumn,
  index: number,
  rows: readonly Row[],
  roles: Roles,
): TableColumn<Row> {
  const longest = rows
    .slice(0, MEASURED_ROWS)
    .reduce((most, row) => Math.max(most, shownCell(row[index] ?? null, name).text.length), name.length + 2);
  const leads = index === roles.file || index === roles.line;
  return {
    key: String(index),
    name: shorten(name, WIDEST_CHARACTERS),
    number: type === 'integer' || type === 'real',
    width: `calc(${Math.min(longest, WIDEST_CHARACTERS)}ch + 20px)`,
    cell: (row) => {
      const value = row[index] ?? null;
      const { text, full } = shownCell(value, name);
      const place = leads && placeIn(row, roles) !== null;
      return {
        content: <bdi>{text}</bdi>,
        title: full,
        class: value === null ? 'null' : place ? 'place' : '',
      };
    },
    copied: (row) => {
      const value = row[index] ?? null;
      const { text } = shownCell(value, name);
      return typeof value === 'number' ? { shown: text, exact: value } : text;
    },
  };
}
