// What can be copied of a row and its table: names, paths, and the rows as text, Markdown or CSV.

import type { Frame } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { MenuEntry } from './menu';
import { csvLine } from '../base/csv';
import { t } from '../base/l10n';
import { visible } from '../base/text';

/** A cell as it is shown; a figure with its exact amount, which CSV has in its place. */
export type CopiedCell = string | { readonly shown: string; readonly exact: number };

export interface CopiedTable {
  readonly heads: readonly string[];
  readonly rows: readonly (readonly CopiedCell[])[];
}

const shown = (cell: CopiedCell): string => visible(typeof cell === 'string' ? cell : cell.shown);

/** Columns with a tab between them, as spreadsheets take them. */
export function copyTable({ heads, rows }: CopiedTable): string {
  return [heads, ...rows.map((row) => row.map((cell) => shown(cell).replaceAll('\t', ' ')))]
    .map((row) => row.join('\t'))
    .join('\n');
}

// What GitHub and others make mentions, links, emoji and formulas of, whatever is escaped; as in export/markdown.py.
const ACTING = /@\w|:\/\/|\bwww\.|\b(?:mailto|xmpp):|#\d|\bgh-\d|:[\w+-]+:|(?<!\w)\$/i;

/** A text of the dump as that in Markdown; words that would become more than text are code. */
export function markdownText(text: string): string {
  return visible(text)
    .split(/(\s+)/)
    .map((word) => (ACTING.test(word) ? markdownCode(word) : word.replace(/[\\`*_[\]<>#|~&]/g, '\\$&')))
    .join('');
}

function markdownCode(text: string): string {
  const fence = '`'.repeat(Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length)) + 1);
  return fence.length > 1 ? `${fence} ${text} ${fence}` : `\`${text}\``;
}

/** The same in a table, whose rows are divided at bars before code is looked for. */
function markdownCell(text: string): string {
  return markdownText(text).replace(/(\\*)\|/g, (bar, escapes: string) =>
    escapes.length % 2 ? bar : `${escapes}\\|`,
  );
}

export function asMarkdown({ heads, rows }: CopiedTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const numbers = heads.map((_, at) => rows.every((row) => typeof row[at] !== 'string') && rows.length > 0);
  return [
    line(heads.map(markdownCell)),
    line(numbers.map((number) => (number ? '--:' : '---'))),
    ...rows.map((row) => line(row.map((each) => markdownCell(shown(each))))),
  ].join('\n');
}

/** With exact amounts. */
function asCsv({ heads, rows }: CopiedTable): string {
  const exact = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? cell : cell.exact)));
  return [heads, ...exact].map(csvLine).join('');
}

/** Where a row's subject is in the source; null where it isn't. */
export type CopiedPlace = Pick<Frame, 'file' | 'line'> | null;

/** A row alone. */
export function copyRow(row: readonly CopiedCell[]): string {
  return copyTable({ heads: [], rows: [row] }).trimStart();
}

/** What a row's menu offers to copy; `table` makes the whole table when it is asked for. */
export function copyItems(
  api: Pick<Api, 'post'>,
  row: { readonly name: string; readonly place: CopiedPlace },
  table: { readonly one: () => CopiedTable; readonly all: () => CopiedTable } | null,
): readonly MenuEntry[] {
  const item = (text: string, make: () => string): MenuEntry => ({
    text,
    run: () => api.post({ type: 'copy', text: make() }),
  });
  const { name, place } = row;
  return [
    null,
    item(t('Copy Name'), () => name),
    ...(place && place.file !== ''
      ? [item(t('Copy Path'), () => (place.line > 0 ? `${place.file}:${place.line}` : place.file))]
      : []),
    ...(table
      ? [
          item(t('Copy Row'), () => copyRow(table.one().rows[0] ?? [])),
          item(t('Copy Table'), () => copyTable(table.all())),
          item(t('Copy Table as Markdown'), () => asMarkdown(table.all())),
          item(t('Copy Table as CSV'), () => asCsv(table.all())),
        ]
      : []),
  ];
}
