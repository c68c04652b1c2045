// The columns of an answer, and what they lead to.

import type { SqlColumn } from '../../../extension/shared/protocol.gen';
import { shorten } from '../base/text';
import type { TableColumn } from '../widgets/table';
import { placeIn, shownCell, type Roles, type Row } from './rows';

const MEASURED_ROWS = 200;
const WIDEST_CHARACTERS = 60;

export function columnOf(
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
