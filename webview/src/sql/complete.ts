// What could be written at a place of a query.

import type { SqlSchema, SqlTable } from '../../../extension/shared/protocol.gen';

export interface Suggestion {
  readonly text: string;
  readonly kind: 'column' | 'function' | 'keyword' | 'table';
  /** What it is, in words. */
  readonly detail: string;
}

export interface Completion {
  /** Where the word begins that a suggestion takes the place of. */
  readonly from: number;
  readonly suggestions: readonly Suggestion[];
}

const NONE: Completion = { from: 0, suggestions: [] };
const MOST = 100;
/** Characters of the query that are looked at on each side of the caret: people write less. */
const MOST_LOOKED_AT = 5000;
/** A table's name, perhaps with arguments, perhaps with another name for it. */
const SOURCE = /\b(?:from|join)\s+(\w+)(?:\s*\([^()]*\))?(?:\s+(?:as\s+)?(\w+))?/gi;
const FURTHER = /^(?:\s*,\s*(\w+)(?:\s*\([^()]*\))?(?:\s+(?:as\s+)?(\w+))?)/i;

/** `asked` says that the user asked for it: then an empty word has suggestions, too. */
export function complete(query: string, caret: number, schema: SqlSchema, asked: boolean): Completion {
  if (caret > MOST_LOOKED_AT) {
    const cut = caret - MOST_LOOKED_AT;
    const { from, suggestions } = complete(query.slice(cut), MOST_LOOKED_AT, schema, asked);
    return { from: from + cut, suggestions };
  }
  query = query.slice(0, caret + MOST_LOOKED_AT);
  const before = query.slice(0, caret);
  if (insideText(before)) return NONE;
  const word = /\w*$/.exec(before)?.[0] ?? '';
  const from = caret - word.length;
  const sources = sourcesOf(query, schema);
  const qualifier = /(\w+)\.$/.exec(before.slice(0, from))?.[1];
  if (qualifier !== undefined) {
    const table = sources.get(qualifier.toLowerCase());
    return found(from, word, table ? columnsOf([table]) : []);
  }
  if ((word === '' && !asked) || /^\d/.test(word)) return NONE;
  const tables = schema.tables.map(tableSuggestion);
  if (/\b(?:from|join)\s+$/i.test(before.slice(0, from)) || inFromList(before.slice(0, from)))
    return found(from, word, tables);
  const used = [...new Set(sources.values())];
  return found(from, word, [
    ...columnsOf(used.length > 0 ? used : schema.tables),
    ...[...sources.keys()]
      .filter((name) => !schema.tables.some((table) => table.name === name))
      .map((text): Suggestion => ({ text, kind: 'table', detail: sources.get(text)?.name ?? '' })),
    ...schema.functions.map((text): Suggestion => ({ text, kind: 'function', detail: 'function' })),
    ...schema.keywords.map((text): Suggestion => ({ text, kind: 'keyword', detail: '' })),
    ...tables,
  ]);
}

function found(from: number, word: string, all: readonly Suggestion[]): Completion {
  const start = word.toLowerCase();
  const seen = new Set<string>();
  const suggestions: Suggestion[] = [];
  // What begins with the word first, then what only contains it.
  for (const test of [
    (text: string): boolean => text.startsWith(start),
    (text: string): boolean => start.length > 1 && text.includes(start),
  ]) {
    for (const suggestion of all) {
      const text = suggestion.text.toLowerCase();
      // By a function's name, not by those of its arguments.
      if (seen.has(text) || !test(text.split('(', 1)[0] ?? text)) continue;
      seen.add(text);
      suggestions.push(suggestion);
    }
  }
  // Nothing is left to write.
  if (suggestions.length === 1 && suggestions[0]?.text.toLowerCase() === start) return NONE;
  return { from, suggestions: suggestions.slice(0, MOST) };
}

function tableSuggestion(table: SqlTable): Suggestion {
  const text = table.kind === 'function' ? `${table.name}(${table.arguments.join(', ')})` : table.name;
  return { text, kind: 'table', detail: table.description };
}

function columnsOf(tables: readonly SqlTable[]): Suggestion[] {
  return tables.flatMap((table) =>
    table.columns.map(({ name, description }): Suggestion => ({
      text: name,
      kind: 'column',
      detail: `${table.name}: ${description}`,
    })),
  );
}

/** The tables that a query names, by the names that it gives them. */
function sourcesOf(query: string, schema: SqlSchema): Map<string, SqlTable> {
  const sources = new Map<string, SqlTable>();
  const learn = (name: string | undefined, other: string | undefined): void => {
    const table = schema.tables.find((each) => each.name === name?.toLowerCase());
    if (!table) return;
    sources.set(table.name, table);
    if (other !== undefined && !schema.keywords.includes(other.toUpperCase()))
      sources.set(other.toLowerCase(), table);
  };
  for (const match of query.matchAll(SOURCE)) {
    learn(match[1], match[2]);
    let rest = query.slice(match.index + match[0].length);
    for (let next = FURTHER.exec(rest); next; next = FURTHER.exec(rest)) {
      learn(next[1], next[2]);
      rest = rest.slice(next[0].length);
    }
  }
  return sources;
}

function inFromList(before: string): boolean {
  const clause = /\bfrom\b(?!.*\b(?:where|group|order|limit|on|using|having|select)\b)(.*)$/is.exec(
    before,
  )?.[1];
  return clause !== undefined && /,\s*$/.test(clause);
}

/** Whether the text ends within a string, a quoted name or a comment. */
function insideText(before: string): boolean {
  const closed = before.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*\n|\/\*[\s\S]*?\*\//g, ' ');
  return /['"]|--|\/\*/.test(closed);
}
