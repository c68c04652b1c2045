// Colours of bands: perceptually even (OKLCH), so that no stack shouts louder than another.

export type Rgb = readonly [number, number, number];

/** What the palette must suit. */
export type ThemeKind = 'light' | 'dark' | 'contrast-dark' | 'contrast-light';

const GOLDEN = 0.6180339887498949;
/** Colours before the palette repeats. */
const STACK_COLOURS = 512;

interface Shades {
  /** Lightness levels that neighbouring ids cycle through. */
  readonly lightness: readonly number[];
  readonly chroma: readonly number[];
}

const SHADES: Record<ThemeKind, Shades> = {
  dark: { lightness: [0.66, 0.56, 0.75], chroma: [0.115, 0.12, 0.095] },
  light: { lightness: [0.74, 0.65, 0.83], chroma: [0.105, 0.12, 0.085] },
  'contrast-dark': { lightness: [0.72, 0.58, 0.85], chroma: [0.15, 0.16, 0.12] },
  'contrast-light': { lightness: [0.62, 0.5, 0.74], chroma: [0.14, 0.15, 0.12] },
};

/**
 * Colours for stacks by number. Hues go round by the golden ratio, which keeps any few consecutive numbers far
 * apart, and lightness cycles with another period, so hues that come close again differ in lightness.
 */
export function stackPalette(theme: ThemeKind): readonly Rgb[] {
  const { lightness, chroma } = SHADES[theme];
  return Array.from({ length: STACK_COLOURS }, (_, i) => {
    const hue = (0.61 + i * GOLDEN) % 1;
    const shade = i % lightness.length;
    // Dark yellows are browns that look like dirt: lighter there.
    const lift = 0.07 * Math.exp(-(((hue * 360 - 85) / 40) ** 2));
    return oklch((lightness[shade] ?? 0.7) + lift, chroma[shade] ?? 0.1, hue * 360);
  });
}

/** A slate that is neither one of the stacks' colours nor the grey of what has none. */
export function noStackColour(theme: ThemeKind): Rgb {
  const middle = SHADES[theme].lightness[1] ?? 0.56;
  return oklch(middle - 0.06, 0.045, 245);
}

/** Hue in degrees, lightness off the theme's middle, and chroma as a share: what each category means stays put. */
const CATEGORIES: Record<string, readonly [hue: number, lift: number, chroma: number]> = {
  parameter: [150, 0, 1],
  gradient: [262, -0.02, 1.15],
  activation: [38, 0.01, 1.15],
  optimizer_state: [88, 0.07, 1],
  parameter_or_optimizer_state: [120, 0.03, 0.8],
  temporary: [315, 0, 1],
  autograd_detail: [215, 0.05, 0.8],
  input: [185, -0.08, 0.8],
  unknown: [260, 0, 0.12],
};

/** Colours for a snapshot's categories, in its order. */
export function categoryPalette(names: readonly string[], theme: ThemeKind): readonly Rgb[] {
  const middle = SHADES[theme].lightness[0] ?? 0.7;
  const chroma = SHADES[theme].chroma[0] ?? 0.1;
  return names.map((name, i) => {
    const plain = name.replace(/ \(inferred\)$/, '');
    const known = Object.hasOwn(CATEGORIES, plain) ? CATEGORIES[plain] : undefined;
    const [hue, lift, share] = known ?? [((i * GOLDEN) % 1) * 360, (i % 3) * 0.05 - 0.05, 1];
    return oklch(middle + lift, chroma * share, hue);
  });
}

/** OKLCH to sRGB bytes; chroma is lowered until the colour exists. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const angle = (hue * Math.PI) / 180;
  for (let c = chroma; ; c -= 0.004) {
    const rgb = oklabToLinear(lightness, Math.max(c, 0) * Math.cos(angle), Math.max(c, 0) * Math.sin(angle));
    if (c <= 0 || rgb.every((v) => v >= -0.0005 && v <= 1.0005))
      return [byte(rgb[0]), byte(rgb[1]), byte(rgb[2])];
  }
}

// The matrices are those of Björn Ottosson's definition of OKLab.
function oklabToLinear(L: number, a: number, b: number): [number, number, number] {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function byte(linear: number): number {
  const v = Math.min(Math.max(linear, 0), 1);
  return Math.round(255 * (v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055));
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (x: number, y: number) => Math.round(x + (y - x) * share);
  return [at(a[0], b[0]), at(a[1], b[1]), at(a[2], b[2])];
}

/** WCAG relative luminance. */
export function luminance([r, g, b]: Rgb): number {
  const lin = (v: number) => (v <= 10 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * lin(r) + 0.7152 * lin(g) + 0.0722 * lin(b);
}

export function contrast(a: Rgb, b: Rgb): number {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// where both have the same contrast, which is 4.58
const BLACK_ABOVE = Math.sqrt(1.05 * 0.05) - 0.05;

/** Black or white, whichever reads better on a colour. */
export function inkOn(colour: Rgb): Rgb {
  return luminance(colour) > BLACK_ABOVE ? [0, 0, 0] : [255, 255, 255];
}

/** `#rgb`, `#rrggbb(aa)`, `rgb(…)` or `rgba(…)` over `under`; null for anything else. */
export function parseColour(text: string, under: Rgb = [0, 0, 0]): Rgb | null {
  const value = text.trim().toLowerCase();
  const parts = value.startsWith('#') ? hexParts(value.slice(1)) : functionParts(value);
  if (!parts) return null;
  const [r, g, b, a] = parts;
  return mix(under, [r, g, b], a);
}

type Rgba = readonly [number, number, number, number];

function hexParts(hex: string): Rgba | null {
  if (!/^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/.test(hex)) return null;
  const full = hex.length <= 4 ? hex.replace(/./g, '$&$&') : hex;
  const at = (i: number) => Number.parseInt(full.slice(i, i + 2), 16);
  return [at(0), at(2), at(4), full.length === 8 ? at(6) / 255 : 1];
}

function functionParts(text: string): Rgba | null {
  const match = /^rgba?\(([^)]*)\)$/.exec(text);
  if (!match) return null;
  const numbers = (match[1] ?? '').split(/[\s,/]+/).filter(Boolean);
  const [r, g, b, a = 1] = numbers.map((n) =>
    n.endsWith('%') ? Number.parseFloat(n) / 100 : Number.parseFloat(n),
  );
  if (r === undefined || g === undefined || b === undefined || ![r, g, b, a].every(Number.isFinite))
    return null;
  return [r, g, b, a];
}

export function css([r, g, b]: Rgb, alpha = 1): string {
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

/** As the renderers take it: red in the lowest byte, the highest is zero. */
export function pack([r, g, b]: Rgb): number {
  return (r | (g << 8) | (b << 16)) >>> 0;
}
