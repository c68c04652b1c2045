const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** "1.25 GiB", as the server writes it in hovers and lenses (`memlens.units`). */
export function formatBytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? ''}`;
}

const IN_US: Record<string, number> = { nanoseconds: 1e-3, microseconds: 1, milliseconds: 1e3, seconds: 1e6 };

/** A value of a profile in its unit, as the server writes it (`memlens.units.format_value`). */
export function formatValue(amount: number, unit: string): string {
  if (unit === 'bytes') return formatBytes(amount);
  const inUs = IN_US[unit];
  if (inUs !== undefined) return formatTime(amount * inUs);
  const number = amount.toLocaleString('en-US');
  return unit === 'count' || unit === '' ? number : `${number} ${unit}`;
}

function formatTime(us: number): string {
  const [value, unit] = us >= 1e6 ? [us / 1e6, 's'] : us >= 1e3 ? [us / 1e3, 'ms'] : [us, 'µs'];
  return `${value >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))} ${unit}`;
}
