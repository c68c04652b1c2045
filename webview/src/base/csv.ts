// Comma-separated values, as RFC 4180 has them.

/** Signs that begin a formula, also the full-width and the small ones; spreadsheets skip blanks before them. */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]|[\t\r\n])/u;

/**
 * The same after what ends a cell where a spreadsheet separates by something other than commas, as in many languages.
 * Quotes are then no help: they are quotes only at a cell's beginning.
 */
const LATER = /([;|\t\r\n])(?=[\s\p{Cc}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b])/gu;

/** One line; what a spreadsheet would run as a formula has an apostrophe before it. */
export function csvLine(cells: readonly (number | string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: number | string | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = (FORMULA.test(value) ? "'" : '') + value.replace(LATER, "$1'");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
