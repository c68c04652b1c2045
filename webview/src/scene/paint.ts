/* eslint-disable @typescript-eslint/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// Which colour each band of a picture gets, packed for the renderers.

import {
  LIT_NEITHER,
  NO_ALLOCATION,
  NO_CATEGORY,
  NO_STACK,
  type Geometry,
} from '../../../extension/shared/geometry';
import type { Branch } from '../../../extension/shared/protocol.gen';
import { mix, type Rgb } from './colour';
import { leadersOf } from './leaders';

/** What is lit up; everything else is dimmed. */
export type Highlight =
  | { readonly kind: 'none' }
  | { readonly kind: 'stacks'; readonly stacks: ReadonlySet<number> }
  | { readonly kind: 'category'; readonly category: number }
  /** The allocations of a branch of the live set's tree: which of a picture those are, the picture tells. */
  | { readonly kind: 'group'; readonly branch: Branch };

export interface Palette {
  readonly by: 'stack' | 'category';
  readonly stacks: readonly Rgb[];
  readonly categories: readonly Rgb[];
  readonly none: Rgb;
  readonly background: Rgb;
  /** Hatch bands by category as well, so that colour is not all that tells them apart. */
  readonly patterns: boolean;
}

/** How much of the neutral colour is in what is reserved and free. */
const RESERVED = 0.3;
/** How far a dimmed colour goes towards the background. */
const DIM = 0.72;
/** Patterns that the renderers know, none included. */
export const PATTERNS = 6;

/** In the highest byte of a merged band's word: it has a leader's colour, not the neutral tone. */
const LED = 0x01000000;

/**
 * One 32-bit word to a band: red, green, blue, and a pattern's number in the highest byte. Behind them one to each
 * leader of merged bands.
 */
export function paintBands(g: Geometry, palette: Palette, highlight: Highlight): Uint32Array {
  const leaders = leadersOf(g);
  const words = new Uint32Array(g.bands + leaders.stacks.length);
  const stacks = packAll(palette.stacks);
  const categories = packAll(palette.categories);
  const none = packAll([palette.none]);
  const dimStacks = packAll(palette.stacks.map((c) => dimmed(c, palette)));
  const dimCategories = packAll(palette.categories.map((c) => dimmed(c, palette)));
  const dimNone = packAll([dimmed(palette.none, palette)]);
  const reserved = pack(mix(palette.background, palette.none, RESERVED));
  for (let band = 0; band < g.bands; band++) {
    if (g.allocation[band] === NO_ALLOCATION) {
      words[band] = reserved;
      continue;
    }
    const lit = isLit(g, band, highlight);
    const category = g.category[band]!;
    if (palette.by === 'stack') {
      const table = lit ? stacks : dimStacks;
      words[band] = table[g.stack[band]! % table.length]!;
    } else {
      const table = lit ? categories : dimCategories;
      const colour = category < table.length ? table[category]! : (lit ? none : dimNone)[0]!;
      const pattern = palette.patterns && category !== NO_CATEGORY ? category % PATTERNS : 0;
      words[band] = (colour | (pattern << 24)) >>> 0;
    }
  }
  for (let leader = 1; leader < leaders.stacks.length; leader++) {
    const stack = leaders.stacks[leader]!;
    const category = leaders.categories[leader]!;
    const lit = leaders.lit[leader]!;
    if (stack === NO_STACK) continue;
    if (palette.by === 'category' && category >= palette.categories.length) continue;
    if (highlight.kind === 'group' && lit === LIT_NEITHER) continue;
    const colour = colourOf(stack, category, palette);
    const shown = isLitBy(stack, category, lit, highlight) ? colour : dimmed(colour, palette);
    words[g.bands + leader] = (pack(shown) | LED) >>> 0;
  }
  return words;
}

export function isLit(g: Geometry, band: number, highlight: Highlight): boolean {
  return isLitBy(g.stack[band]!, g.category[band]!, g.lit ? g.lit[band]! : 1, highlight);
}

function isLitBy(stack: number, category: number, lit: number, highlight: Highlight): boolean {
  if (highlight.kind === 'stacks') return highlight.stacks.has(stack);
  if (highlight.kind === 'category') return category === highlight.category;
  if (highlight.kind === 'group') return lit === 1;
  return true;
}

/** The colour of a band as drawn, for swatches and for ink on it. */
export function colourOf(stack: number, category: number, palette: Palette): Rgb {
  if (palette.by === 'stack') return palette.stacks[stack % palette.stacks.length] ?? palette.none;
  return palette.categories[category] ?? palette.none;
}

function dimmed(colour: Rgb, palette: Palette): Rgb {
  return mix(colour, palette.background, DIM);
}

function packAll(colours: readonly Rgb[]): Uint32Array {
  return Uint32Array.from(colours, pack);
}

export function pack([r, g, b]: Rgb): number {
  return (r | (g << 8) | (b << 16)) >>> 0;
}
