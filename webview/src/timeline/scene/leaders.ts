/* oxlint-disable typescript/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// What merged rects are mostly made of. Each different leader gets a colour of its own, after those of the bands.

import {
  LIT_NEITHER,
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
  /** Whether what is lit up leads; all of it where the picture does not say. */
  readonly lit: readonly number[];
  /** By rect: which leader a merged rect has. */
  readonly ofRect: Uint32Array;
}

const known = new WeakMap<Geometry, Leaders>();

export function leadersOf(g: Geometry): Leaders {
  const found = known.get(g) ?? findLeaders(g);
  known.set(g, found);
  return found;
}

/** By area two leaders: of what is not lit up in it, and of what is. */
function areasAsLeaders(g: Geometry): Leaders {
  const count = 1 + 2 * (g.grouped?.areas.length ?? 0);
  const ofRect = new Uint32Array(g.rects);
  for (let rect = 0; rect < g.rects; rect++) {
    const band = g.words[3 * rect + 2]!;
    if (band >= MERGED_BIT) ofRect[rect] = areaLeader(mergedArea(band), g.rectLit?.[rect] === 1);
  }
  return {
    stacks: Array.from({ length: count }, () => NO_STACK),
    categories: Array.from({ length: count }, () => NO_CATEGORY),
    lit: Array.from({ length: count }, (_, leader) => (leader === 0 ? LIT_NEITHER : 1 - (leader % 2))),
    ofRect,
  };
}

export function areaLeader(area: number, lit: boolean): number {
  return 1 + 2 * area + (lit ? 1 : 0);
}

function findLeaders(g: Geometry): Leaders {
  if (g.grouped) return areasAsLeaders(g);
  const stacks = [NO_STACK];
  const categories = [NO_CATEGORY];
  const lit = [LIT_NEITHER];
  const ofRect = new Uint32Array(g.rects);
  const numbers = new Map<number, number>([[keyOf(NO_STACK, NO_CATEGORY, LIT_NEITHER), 0]]);
  for (let rect = 0; rect < g.rects; rect++) {
    if (g.words[3 * rect + 2]! < MERGED_BIT) continue;
    const stack = g.rectStack[rect]!;
    const category = g.rectCategory[rect]!;
    const led = g.rectLit ? g.rectLit[rect]! : stack === NO_STACK ? LIT_NEITHER : 1;
    const key = keyOf(stack, category, led);
    let number = numbers.get(key);
    if (number === undefined) {
      number = stacks.length;
      numbers.set(key, number);
      stacks.push(stack);
      categories.push(category);
      lit.push(led);
    }
    ofRect[rect] = number;
  }
  return { stacks, categories, lit, ofRect };
}

function keyOf(stack: number, category: number, lit: number): number {
  return (stack * 256 + category) * 4 + lit;
}
