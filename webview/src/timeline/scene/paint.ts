/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// Which colour each band of a picture gets, packed for the renderers.

import {
  HIGHLIGHTED_NEITHER,
  NO_ALLOCATION,
  NO_CATEGORY,
  NO_STACK,
  type Geometry,
  type Grouped,
} from '../../../../extension/shared/geometry';
import type { Branch } from '../../../../extension/shared/protocol.gen';
import { mix, pack, type Rgb } from '../../canvas/colour';
import { areaColours } from './areas';
import { areaLeader, leadersOf } from './leaders';
import type { Palette } from '../../canvas/palette';

/** What is highlighted; everything else is dimmed. */
export type Highlight =
  | { readonly kind: 'none' }
  | { readonly kind: 'stacks'; readonly stacks: ReadonlySet<number> }
  | { readonly kind: 'category'; readonly category: number }
  /** One area of a picture by group, by its key. */
  | { readonly kind: 'area'; readonly key: number }
  /** The allocations of a branch of the live set's tree: the picture marks which of its own those are. */
  | { readonly kind: 'group'; readonly branch: Branch };

/** The pattern of an area; the first has none. */
export function patternOf(area: number): number {
  return area % PATTERNS;
}

/** How much of the neutral colour is in what is reserved and free. */
const RESERVED = 0.3;
/** How far a dimmed colour goes towards the background. */
const DIM = 0.72;
/** Patterns that the renderers know, none included. */
export const PATTERNS = 6;

/** In the highest byte of a merged band's word: it has a leader's colour, not the neutral tone. */
const LED = 0x01000000;
/** The same, and it is of nothing else: no hatch. */
export const PLAIN = 2;

/**
 * In a picture that isn't stacked each allocation lies where it is. One 32-bit word to a band: red, green, blue, and a pattern's number in the highest byte. Behind them one to each
 * leader of merged bands.
 */
export function paintBands(g: Geometry, palette: Palette, highlight: Highlight, stacked = true): Uint32Array {
  if (g.grouped) return paintAreas(g, g.grouped, palette, highlight, stacked);
  const leaders = leadersOf(g);
  const words = new Uint32Array(g.bands + leaders.stacks.length);
  const stacks = packAll(palette.stacks);
  const categories = packAll(palette.categories);
  const none = packAll([palette.none]);
  const dimStacks = packAll(palette.stacks.map((c) => dimmed(c, palette)));
  const dimCategories = packAll(palette.categories.map((c) => dimmed(c, palette)));
  const dimNone = packAll([dimmed(palette.none, palette)]);
  const reserved = pack(reservedColour(palette));
  for (let band = 0; band < g.bands; band++) {
    if (g.allocation[band] === NO_ALLOCATION) {
      words[band] = reserved;
      continue;
    }
    const highlighted = isHighlighted(g, band, highlight);
    const category = g.category[band]!;
    if (palette.by === 'stack') {
      const table = highlighted ? stacks : dimStacks;
      words[band] = table[g.stack[band]! % table.length]!;
    } else {
      const table = highlighted ? categories : dimCategories;
      const colour = category < table.length ? table[category]! : (highlighted ? none : dimNone)[0]!;
      const pattern = palette.patterns && category !== NO_CATEGORY ? category % PATTERNS : 0;
      words[band] = (colour | (pattern << 24)) >>> 0;
    }
  }
  for (let leader = 1; leader < leaders.stacks.length; leader++) {
    const stack = leaders.stacks[leader]!;
    const category = leaders.categories[leader]!;
    const highlighted = leaders.highlighted[leader]!;
    if (stack === NO_STACK) continue;
    if (palette.by === 'category' && category >= palette.categories.length) continue;
    if (highlight.kind === 'group' && highlighted === HIGHLIGHTED_NEITHER) continue;
    const colour = colourOf(stack, category, palette);
    const shown = isHighlightedBy(stack, category, highlighted, highlight) ? colour : dimmed(colour, palette);
    words[g.bands + leader] = (pack(shown) | LED) >>> 0;
  }
  return words;
}

/** By group: each area has its colour, and so have the bands that unfold out of it. */
function paintAreas(
  g: Geometry,
  grouped: Grouped,
  palette: Palette,
  highlight: Highlight,
  stacked: boolean,
): Uint32Array {
  const colours = areaColours(grouped, palette);
  const shown = packAll(colours);
  const dim = packAll(colours.map((colour) => dimmed(colour, palette)));
  const words = new Uint32Array(g.bands + 1 + 2 * colours.length);
  const reserved = pack(reservedColour(palette));
  for (let band = 0; band < g.bands; band++) {
    if (g.allocation[band] === NO_ALLOCATION) {
      words[band] = reserved;
      continue;
    }
    const table = isHighlighted(g, band, highlight) ? shown : dim;
    const area = grouped.group[band]!;
    // areas that stand on each other are hatched as wholes, over the bands
    const pattern = palette.patterns && !stacked ? patternOf(area) : 0;
    words[band] = (table[area]! | (pattern << 24)) >>> 0;
  }
  for (const [area, { key }] of grouped.areas.entries()) {
    const all = highlight.kind === 'none' || (highlight.kind === 'area' && highlight.key === key);
    for (const highlighted of [false, true]) {
      const colour = all || (highlighted && highlight.kind !== 'area') ? shown : dim;
      words[g.bands + areaLeader(area, highlighted)] = (colour[area]! | (PLAIN << 24)) >>> 0;
    }
  }
  return words;
}

/** What is reserved and free, in the memory map. */
export function reservedColour(palette: Palette): Rgb {
  return mix(palette.background, palette.none, RESERVED);
}

export function isHighlighted(g: Geometry, band: number, highlight: Highlight): boolean {
  if (highlight.kind === 'area') {
    return g.grouped === null || g.grouped.areas[g.grouped.group[band]!]?.key === highlight.key;
  }
  return isHighlightedBy(
    g.stack[band]!,
    g.category[band]!,
    g.highlighted ? g.highlighted[band]! : 1,
    highlight,
  );
}

function isHighlightedBy(
  stack: number,
  category: number,
  highlighted: number,
  highlight: Highlight,
): boolean {
  if (highlight.kind === 'stacks') return highlight.stacks.has(stack);
  if (highlight.kind === 'category') return category === highlight.category;
  if (highlight.kind === 'group') return highlighted === 1;
  return true;
}

/** The colour of a band as drawn, unless it is dimmed. */
export function bandColour(g: Geometry, band: number, palette: Palette): Rgb {
  const { grouped } = g;
  if (grouped) return areaColours(grouped, palette)[grouped.group[band] ?? -1] ?? palette.none;
  return colourOf(g.stack[band] ?? 0, g.category[band] ?? NO_CATEGORY, palette);
}

/** The colour of an allocation in the order of time. */
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
