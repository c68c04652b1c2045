// Comma-separated values, as RFC 4180 has them.

/** One line; a text that a spreadsheet would run as a formula has an apostrophe before it. */
export function csvLine(cells: readonly (number | string | null)[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(value: number | string | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
