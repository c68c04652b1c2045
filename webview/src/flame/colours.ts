/* oxlint-disable typescript/no-non-null-assertion -- every index here is below a length that was just checked */
// Colours of boxes: by whose code it is, or by how much it holds.

import {
  HOLDS_MATCH,
  KIND_LIBRARY,
  KIND_NATIVE,
  KIND_USER,
  MATCHES,
  MORE,
  type FlameGeometry,
} from '../../../extension/shared/flame-geometry';
import { colourOfChange, relativeChange, turnOf, type Scale } from './difference';
import type { Change } from './boxes';
import { mix, oklch, pack, type Rgb, type ThemeKind } from '../canvas/colour';
import type { Theme } from '../canvas/theme';
import type { FlameInk } from './raster';

export type ColourBy = 'package' | 'value' | Compared;

/** Coloured by the difference: of what, and in which scale. */
export interface Compared {
  readonly whole: Change;
  readonly scale: Scale;
}

/**
 * Lightness of the user's code, of libraries and of native code: each darker or greyer than the one before, and all at 3:1
 * to the background at least.
 */
const LIGHTNESS: Record<ThemeKind, readonly [number, number, number]> = {
  dark: [0.72, 0.6, 0.55],
  light: [0.64, 0.63, 0.62],
  'contrast-dark': [0.78, 0.62, 0.5],
  'contrast-light': [0.58, 0.6, 0.62],
};
const CHROMA = [0.12, 0.07, 0.018] as const;
const SHADES = 16;
const GOLDEN = 0.6180339887498949;

/** The user's code in warm colours by function, libraries in cool ones by package, native code nearly grey. */
function colourOfBox(kind: number, packageNumber: number, name: number, theme: Theme): Rgb {
  const lightness = LIGHTNESS[theme.kind];
  const shade = (((name * GOLDEN) % 1) - 0.5) * 0.05;
  if (kind === KIND_USER) return oklch(lightness[0] + shade, CHROMA[0], 25 + 75 * ((name * GOLDEN) % 1));
  if (kind === KIND_LIBRARY)
    return oklch(lightness[1] + shade, CHROMA[1], 150 + 160 * ((packageNumber * GOLDEN) % 1));
  if (kind === KIND_NATIVE)
    return oklch(lightness[2] + shade, CHROMA[2], 360 * ((packageNumber * GOLDEN) % 1));
  return greyOf(theme);
}

/** Of what is no code, as the whole. */
function greyOf({ background, foreground, kind }: Theme): Rgb {
  return mix(background, foreground, kind.endsWith('light') ? 0.56 : 0.45);
}

/** Colours of the user's code, or of libraries, as they are drawn: a few of them. */
export function sampleColours(of: 'user' | 'library', theme: Theme): readonly Rgb[] {
  const kind = of === 'user' ? KIND_USER : KIND_LIBRARY;
  return [0, 1, 2, 3].map((number) => colourOfBox(kind, number, number, theme));
}

/** From little (near the background) to all of it. */
function colourOfShare(share: number, theme: Theme): Rgb {
  const [most] = LIGHTNESS[theme.kind];
  // a tenth of the share is a third of the way: most boxes hold little
  const heat = Math.max(0, 1 + Math.log10(Math.max(share, 1e-3)) / 3);
  const light = theme.kind === 'light' || theme.kind === 'contrast-light';
  return oklch(light ? 0.95 - (0.95 - most + 0.1) * heat : 0.4 + (most - 0.4) * heat, 0.02 + 0.14 * heat, 40);
}

/** One packed colour a box. What a search doesn't match is dimmed; what holds a match below it, less. */
export function paintFlame(g: FlameGeometry, by: ColourBy, searching: boolean, theme: Theme): Uint32Array {
  const colours = new Uint32Array(g.boxes);
  const known = new Map<number, number>();
  const compared = typeof by === 'object' ? by : null;
  for (let box = 0; box < g.boxes; box++) {
    const flags = g.flags[box]!;
    if (flags & MORE) continue;
    const dim = !searching || flags & MATCHES ? 0 : flags & HOLDS_MATCH ? 1 : 2;
    const relative = compared && g.sides ? relativeOf(g, box, compared) : 0;
    const share = Math.round(24 * Math.log10(Math.max(g.value[box]! / g.total, 1e-6)));
    const key = compared
      ? dim + 3 * Math.round(50 * (relative + 1))
      : by === 'value'
        ? dim + 3 * (200 + share)
        : dim + 3 * ((g.name[box]! % SHADES) + SHADES * (g.kind[box]! + 4 * g.package[box]!));
    let colour = known.get(key);
    if (colour === undefined) {
      const plain = compared
        ? colourOfChange(relative, theme)
        : by === 'value'
          ? colourOfShare(10 ** (share / 24), theme)
          : colourOfBox(g.kind[box]!, g.package[box]!, g.name[box]! % SHADES, theme);
      const faded = mix(plain, theme.background, dim === 0 ? 0 : dim === 1 ? 0.45 : 0.75);
      colour = (pack(faded) | 0xff000000) >>> 0;
      known.set(key, colour);
    }
    colours[box] = colour;
  }
  return colours;
}

/** Where a box of a comparison gets a line: 1 along its upper edge for more, 2 along its lower one for less. */
export function markBoxes(g: FlameGeometry, { whole, scale }: Compared): Uint8Array {
  return Uint8Array.from({ length: g.boxes }, (_, box) => {
    const { before, after } = g.sides ?? { before: [], after: [] };
    const turn = turnOf({ before: before[box] ?? 0, after: after[box] ?? 0 }, whole, scale);
    return turn === 'more' ? 1 : turn === 'less' ? 2 : 0;
  });
}

function relativeOf(g: FlameGeometry, box: number, { whole, scale }: Compared): number {
  const change = { before: g.sides!.before[box]!, after: g.sides!.after[box]! };
  // as fine as colours can be distinguished, so that few are made
  return Math.round(50 * relativeChange(change, whole, scale)) / 50;
}

export function inkOf(theme: Theme): FlameInk {
  const opaque = (colour: Rgb): number => (pack(colour) | 0xff000000) >>> 0;
  return {
    background: opaque(theme.background),
    more: opaque(theme.picture.merged),
    moreStripe: opaque(greyOf(theme)),
    mark: opaque(theme.foreground),
  };
}

export function unpack(colour: number): Rgb {
  return [colour & 0xff, (colour >> 8) & 0xff, (colour >> 16) & 0xff];
}
