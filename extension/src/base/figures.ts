import { bytes } from '../../shared/bytes';

/** A map, as a file may call its unit `constructor`. */
const IN_US = new Map([
  ['nanoseconds', 1e-3],
  ['microseconds', 1],
  ['milliseconds', 1e3],
  ['seconds', 1e6],
]);

/** Formats a value of a profile in its unit, as the server does (`memlens.units.format_value`). */
export function formatValue(amount: number, unit: string): string {
  if (unit === 'bytes') return bytes(amount);
  const inUs = IN_US.get(unit);
  if (inUs !== undefined) return formatTime(amount * inUs);
  const number = amount.toLocaleString('en-US');
  return unit === 'count' || unit === '' ? number : `${number} ${unit}`;
}

function formatTime(us: number): string {
  const [value, unit] = us >= 1e6 ? [us / 1e6, 's'] : us >= 1e3 ? [us / 1e3, 'ms'] : [us, 'µs'];
  return `${value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))} ${unit}`;
}
