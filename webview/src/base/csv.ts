// Comma-separated values, as RFC 4180 has them.

/** Signs that begin a formula, also the full-width ones; spreadsheets skip blanks before them. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])/u;

/** One line; a text that a spreadsheet would run as a formula has an apostrophe before it. */
export function csvLine(cells: readonly (number | string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: number | string | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
