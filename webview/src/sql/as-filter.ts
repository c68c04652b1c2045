// A query as a term of the filter, which is one line: the objects that its rows name.

import type { SqlColumn } from '../../../extension/shared/protocol.gen';

export const MOST_CHARACTERS = 4096;

/** A text, a quoted name, or comments and blanks. */
const PARTS =
  /('(?:[^']|'')*')|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|(?:--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\s)+/g;

/** The query without comments and line breaks; one in a text is written as `char(10)`. */
export function inOneLine(query: string): string {
  const made = query.replace(PARTS, (part: string, text?: string) => {
    if (text !== undefined)
      return /[\r\n]/.test(text)
        ? `(${text.replace(/[\r\n]/g, (each) => `'||char(${each.charCodeAt(0)})||'`)})`
        : text;
    return /^(?:--|\/\*|\s)/.test(part) ? ' ' : part;
  });
  return made.replace(/[\s;]+$/, '').trimStart();
}

/** The term for what a query's rows name. */
export function filterOf(query: string): string {
  return `query:"${inOneLine(query).replace(/["\\]/g, '\\$&')}"`;
}

/** Whether rows name objects: in the column `object`, or in their only one. */
export function nameObjects(columns: readonly SqlColumn[]): boolean {
  const own = columns.filter(({ name }) => name.toLowerCase() === 'object');
  return own.length === 1 || (columns.length === 1 && columns[0]?.type === 'integer');
}
