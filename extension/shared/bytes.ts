// The format of sizes in the views and beside lines of code; `memlens.units` is the server's equivalent.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** Formats a size with three significant digits, "1.23 GiB", or as whole bytes. */
export function bytes(value: number): string {
  let unit = 0;
  let scaled = value;
  // 1023.5 KiB would be printed as 1024 KiB instead of 1 MiB.
  while (unit < UNITS.length - 1 && Math.abs(scaled) >= (unit === 0 ? 1024 : 999.5)) {
    scaled /= 1024;
    unit++;
  }
  const places = unit === 0 ? 0 : scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2;
  // 512 MiB and 1 GiB rather than 512.0 MiB and 1.00 GiB.
  const text = scaled.toFixed(places);
  const short =
    places > 0 && Number(text) === Math.round(scaled) && Number.isInteger(scaled) ? scaled.toFixed(0) : text;
  return `${short} ${UNITS[unit] ?? ''}`;
}
