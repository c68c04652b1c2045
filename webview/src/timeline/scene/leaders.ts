/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// What merged rects are mostly made of. Each different leader gets a colour of its own, after those of the bands.

import {
  HIGHLIGHTED_NEITHER,
  MERGED_BIT,
  mergedArea,
  NO_CATEGORY,
  NO_STACK,
  type Geometry,
} from '../../../../extension/shared/geometry';

export interface Leaders {
  /** By leader; the first stands for "none leads". */
  readonly stacks: readonly number[];
  readonly categories: readonly number[];
  /** Whether what is highlighted leads; all of it where the picture does not say. */
  readonly highlighted: readonly number[];
  /** By rect: which leader a merged rect has. */
  readonly ofRect: Uint32Array;
}

const known = new WeakMap<Geometry, Leaders>();

export function leadersOf(g: Geometry): Leaders {
  const found = known.get(g) ?? findLeaders(g);
  known.set(g, found);
  return found;
}

/** By area two leaders: of what is not highlighted in it, and of what is. */
function areasAsLeaders(g: Geometry): Leaders {
  const count = 1 + 2 * (g.grouped?.areas.length ?? 0);
  const ofRect = new Uint32Array(g.rects);
  for (let rect = 0; rect < g.rects; rect++) {
    const band = g.words[3 * rect + 2]!;
    if (band >= MERGED_BIT) ofRect[rect] = areaLeader(mergedArea(band), g.rectHighlighted?.[rect] === 1);
  }
  return {
    stacks: Array.from({ length: count }, () => NO_STACK),
    categories: Array.from({ length: count }, () => NO_CATEGORY),
    highlighted: Array.from({ length: count }, (_, leader) =>
      leader === 0 ? HIGHLIGHTED_NEITHER : 1 - (leader % 2),
    ),
    ofRect,
  };
}

export function areaLeader(area: number, highlighted: boolean): number {
  return 1 + 2 * area + (highlighted ? 1 : 0);
}

function findLeaders(g: Geometry): Leaders {
  if (g.grouped) return areasAsLeaders(g);
  const stacks = [NO_STACK];
  const categories = [NO_CATEGORY];
  const highlighted = [HIGHLIGHTED_NEITHER];
  const ofRect = new Uint32Array(g.rects);
  const numbers = new Map<number, number>([[keyOf(NO_STACK, NO_CATEGORY, HIGHLIGHTED_NEITHER), 0]]);
  for (let rect = 0; rect < g.rects; rect++) {
    if (g.words[3 * rect + 2]! < MERGED_BIT) continue;
    const stack = g.rectStack[rect]!;
    const category = g.rectCategory[rect]!;
    const led = g.rectHighlighted ? g.rectHighlighted[rect]! : stack === NO_STACK ? HIGHLIGHTED_NEITHER : 1;
    const key = keyOf(stack, category, led);
    let number = numbers.get(key);
    if (number === undefined) {
      number = stacks.length;
      numbers.set(key, number);
      stacks.push(stack);
      categories.push(category);
      highlighted.push(led);
    }
    ofRect[rect] = number;
  }
  return { stacks, categories, highlighted, ofRect };
}

function keyOf(stack: number, category: number, highlighted: number): number {
  return (stack * 256 + category) * 4 + highlighted;
}
