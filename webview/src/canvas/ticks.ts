// Where the axes' ticks stand and what they say.

interface Tick {
  readonly at: number;
  readonly label: string;
}

export interface Ticks {
  readonly ticks: readonly Tick[];
  /** Said once at the axis when the labels count from it ("12.3 s +"), else null. */
  readonly base: string | null;
}

interface Unit {
  readonly size: number;
  readonly name: string;
  /** Steps that read well, in this unit. */
  readonly steps: readonly number[];
}

const DECIMAL = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const TIME_UNITS: readonly Unit[] = [
  { size: 1, name: 'µs', steps: DECIMAL },
  { size: 1e3, name: 'ms', steps: DECIMAL },
  { size: 1e6, name: 's', steps: [1, 2, 5, 10, 15, 30] },
  { size: 60e6, name: 'min', steps: [1, 2, 5, 10, 15, 30] },
  { size: 3600e6, name: 'h', steps: [1, 2, 3, 6, 12] },
  { size: 86400e6, name: 'd', steps: [...DECIMAL, 1000, 2000, 5000, 10000, 20000, 50000] },
];
const BINARY = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
const BYTE_UNITS: readonly Unit[] = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'].map((name, power) => ({
  size: 1024 ** power,
  name,
  steps: BINARY,
}));

/** Labels longer than this many digits count from a base instead. */
const MOST_DIGITS = 5;

/** Ticks of a time axis in microseconds since the first event. */
export function timeTicks(from: number, to: number, count: number): Ticks {
  const step = stepOf(TIME_UNITS, (to - from) / count);
  // The larger unit reads better where it needs one decimal at most: 1.5 s rather than 1500 ms.
  return labelled(from, to, step.value, unitFor(TIME_UNITS, step, from, to, 10), TIME_UNITS);
}

/** Ticks in bytes, at powers of two. */
export function byteTicks(from: number, to: number, count: number): Ticks {
  const step = stepOf(BYTE_UNITS, (to - from) / count);
  return labelled(from, to, step.value, unitFor(BYTE_UNITS, step, from, to, 4), BYTE_UNITS);
}

/** Ticks at whole event numbers. */
export function eventTicks(from: number, to: number, count: number): Ticks {
  const rough = Math.max((to - from) / count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= rough * 0.999) ?? 10 * power;
  const ticks = positions(from, to, step).map((at) => ({ at, label: fixed(at, 0) }));
  return { ticks, base: null };
}

interface Step {
  readonly value: number;
  readonly unit: number;
}

function stepOf(units: readonly Unit[], rough: number): Step {
  for (const [unit, { size, steps }] of units.entries()) {
    const step = steps.find((s) => s * size >= rough * 0.999);
    if (step !== undefined) return { value: step * size, unit };
  }
  const last = units.length - 1;
  return { value: rough, unit: last };
}

/** The unit of the labels: the largest in which the step is not finer than 1/`finest`. */
function unitFor(units: readonly Unit[], step: Step, from: number, to: number, finest: number): Unit {
  let chosen = units[step.unit];
  const largest = Math.max(Math.abs(from), Math.abs(to));
  for (const unit of units.slice(step.unit)) {
    if (unit.size <= largest && step.value * finest >= unit.size * 0.999) chosen = unit;
  }
  return chosen ?? { size: 1, name: '', steps: [] };
}

function labelled(from: number, to: number, step: number, unit: Unit, units: readonly Unit[]): Ticks {
  const digits = Math.floor(Math.max(Math.abs(from), Math.abs(to)) / unit.size).toString().length;
  const places = decimals(step / unit.size);
  let base = 0;
  if (digits + places > MOST_DIGITS) {
    // Round the base to a multiple of a power of the step that the view does not outgrow.
    const rounding = step * 2 ** Math.ceil(Math.log2(Math.max((to - from) / step, 1)));
    base = Math.floor(from / rounding) * rounding;
  }
  const ticks = positions(from, to, step).map((at) => {
    const value = (at - base) / unit.size;
    const text = `${fixed(value, places)} ${unit.name}`;
    return { at, label: base > 0 ? `+${text}` : at === 0 ? '0' : text };
  });
  return { ticks, base: base > 0 ? exact(base, units) : null };
}

/** The base in the largest unit that shows all of it, to about a dozen digits. */
function exact(value: number, units: readonly Unit[]): string {
  const unit = [...units].reverse().find((u) => u.size <= value && decimals(value / u.size) <= 6) ?? units[0];
  if (!unit) return '';
  return `${fixed(value / unit.size, decimals(value / unit.size))} ${unit.name} +`;
}

/** How many decimals a number needs, at most 6 counted (7 means more). */
function decimals(value: number): number {
  for (let places = 0; places <= 6; places++) {
    const scaled = value * 10 ** places;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * Math.max(1, Math.abs(scaled) * 1e-6)) return places;
  }
  return 7;
}

// Made once: making one for each label takes longer than all else in a frame.
const FIXED = Array.from(
  { length: 8 },
  (_, places) =>
    new Intl.NumberFormat('en-US', { minimumFractionDigits: places, maximumFractionDigits: places }),
);

function fixed(value: number, places: number): string {
  return FIXED[places]?.format(value) ?? String(value);
}

function positions(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  const all: number[] = [];
  for (let i = first; i <= last && all.length < 200; i++) all.push(i * step + 0); // never -0
  return all;
}
