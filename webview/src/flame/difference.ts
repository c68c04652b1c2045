// What a box of a difference flame graph says: what became more or less, in figures or in shares of the whole.

import type { FlameSides } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { mix, oklch, type Rgb } from '../canvas/colour';
import { figure, figureAndCount } from '../base/figure';
import { count } from '../base/format';
import type { Theme } from '../canvas/theme';
import type { TipFigures } from './tip';
import { share } from './words';
import type { Change } from './boxes';

export type Scale = 'absolute' | 'normalised';
export type Width = 'both' | 'after' | 'before';

/** What a graph whose boxes have two sides is measured in. */
export interface Sided {
  /** What all of it has on each side. */
  readonly whole: Change;
  readonly scale: Scale;
  /** What the sides are called. */
  readonly before: string;
  readonly after: string;
}

/** Of values of which some are negative: what they come to, and what the others do. Shares are not shown. */
export const SIGNED: Sided = {
  whole: { before: 0, after: 0 },
  scale: 'absolute',
  before: t('Less'),
  after: t('More'),
};

export type Turn = 'more' | 'less' | 'even';

export function changeOf(sides: FlameSides | null | undefined): Change {
  return { before: sides?.before_bytes ?? 0, after: sides?.after_bytes ?? 0 };
}

/**
 * How many there are: of two sides the difference, "−14". `both` is what the sides come to without their signs, which is
 * how wide a box is and no number of allocations.
 */
export function countText(both: number, sides: FlameSides | null): string {
  if (!sides) return count(both);
  const net = sides.after_count - sides.before_count;
  return net > 0 ? `+${count(net)}` : net < 0 ? `−${count(-net)}` : count(0);
}

/** The change in the scale's own measure: an amount, or percentage points of the whole. */
function differenceOf({ before, after }: Change, whole: Change, scale: Scale): number {
  if (scale === 'absolute') return after - before;
  const part = (value: number, all: number): number => (all > 0 ? (100 * value) / all : 0);
  return part(after, whole.after) - part(before, whole.before);
}

/** What is less than a hundredth of a point counts as no difference of shares, and drawn as none. */
const LEAST_POINTS = 0.005;

export function turnOf(change: Change, whole: Change, scale: Scale): Turn {
  const difference = differenceOf(change, whole, scale);
  const least = scale === 'absolute' ? 0 : LEAST_POINTS;
  return difference > least ? 'more' : difference < -least ? 'less' : 'even';
}

export const ARROWS: Record<Turn, string> = { more: '▲', less: '▼', even: '=' };

/** "▲ +704 KiB", "▼ −3.2 points", "= 0 B". */
export function changeText(change: Change, whole: Change, scale: Scale): string {
  const turn = turnOf(change, whole, scale);
  return `${ARROWS[turn]} ${withSign(differenceOf(change, whole, scale), turn, scale)}`;
}

function withSign(difference: number, turn: Turn, scale: Scale): string {
  const size = Math.abs(difference);
  const sign = turn === 'even' ? '' : turn === 'more' ? '+' : '−';
  if (scale === 'absolute') return `${sign}${figure(size)}`;
  return turn === 'even'
    ? t('0 points')
    : t('{0} points', `${sign}${size >= 10 ? size.toFixed(1) : size.toFixed(2)}`);
}

export function arrowOf(change: Change, whole: Change, scale: Scale): string {
  return ARROWS[turnOf(change, whole, scale)];
}

/** Before a box's name. */
export function changeMark(change: Change, whole: Change, scale: Scale): string {
  return turnOf(change, whole, scale) === 'even' ? '=' : changeText(change, whole, scale);
}

/** One side in the scale's own measure. */
export function sideText(value: number, all: number, scale: Scale): string {
  return scale === 'absolute' ? figure(value) : share(value, all);
}

/** "704 KiB → 1.4 MiB, ▲ +704 KiB", with shares where they are what is compared; "+3 KiB −1 KiB, net ▲ +2 KiB". */
export function changeSentence(change: Change, sided: Sided): string {
  const { whole, scale } = sided;
  if (sided === SIGNED)
    return t(
      '{0} {1}, net {2}',
      `+${figure(change.after)}`,
      `−${figure(change.before)}`,
      changeText(change, whole, scale),
    );
  const side = (value: number, all: number): string =>
    scale === 'absolute' ? figure(value) : `${figure(value)} (${share(value, all)})`;
  return `${side(change.before, whole.before)} → ${side(change.after, whole.after)}, ${changeText(change, whole, scale)}`;
}

/** For a tooltip: the difference, and both sides. */
export function changeFigures(change: Change, { whole, scale, before, after }: Sided): TipFigures {
  const side = (value: number, all: number): string =>
    all > 0 && scale === 'normalised' ? `${figure(value)} (${share(value, all)})` : figure(value);
  return {
    large: changeText(change, whole, scale),
    small: `${before.toLowerCase()} ${side(change.before, whole.before)} · ${after.toLowerCase()} ${side(change.after, whole.after)}`,
  };
}

/** "704 KiB in 9,145 allocations" of one side, or that it has nothing. */
export function sideFigures(bytes: number, count: number): string {
  return bytes === 0 && count === 0 ? t('nothing') : figureAndCount(bytes, count);
}

const LIGHTNESS: Record<Theme['kind'], { readonly even: number; readonly far: number }> = {
  dark: { even: 0.45, far: 0.68 },
  light: { even: 0.9, far: 0.72 },
  'contrast-dark': { even: 0.42, far: 0.75 },
  'contrast-light': { even: 0.9, far: 0.62 },
};
const CHROMA = 0.17;
const HUES = { more: 25, less: 150 } as const;
const STEPS = 16;

/**
 * How much of itself a box gained or lost, from grey to red or green: -1 is only before, 1 only after. How much that is
 * of the whole its width shows.
 */
export function relativeChange(change: Change, whole: Change, scale: Scale): number {
  const { before, after } =
    scale === 'absolute'
      ? change
      : {
          before: whole.before > 0 ? change.before / whole.before : 0,
          after: whole.after > 0 ? change.after / whole.after : 0,
        };
  // a side that is a difference itself may be less than nothing
  const larger = Math.max(Math.abs(before), Math.abs(after), Math.abs(after - before));
  if (larger === 0 || turnOf(change, whole, scale) === 'even') return 0;
  return (after - before) / larger;
}

export function colourOfChange(relative: number, theme: Theme): Rgb {
  const { even, far } = LIGHTNESS[theme.kind];
  const grey = oklch(even, 0, 0);
  if (relative === 0) return grey;
  // even a small change can be distinguished from none
  const depth = 0.25 + 0.75 * (Math.ceil(Math.abs(relative) * STEPS) / STEPS);
  return mix(grey, oklch(far, CHROMA, relative > 0 ? HUES.more : HUES.less), depth);
}
