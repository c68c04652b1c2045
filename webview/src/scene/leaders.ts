/* eslint-disable @typescript-eslint/no-non-null-assertion -- indices are below lengths that decodeGeometry checked */
// What merged rects are mostly made of. Each different leader gets a colour of its own, behind those of the bands.

import { MERGED_BIT, NO_CATEGORY, NO_STACK, type Geometry } from '../../../extension/shared/geometry';

export interface Leaders {
  /** By leader; the first stands for "none leads". */
  readonly stacks: readonly number[];
  readonly categories: readonly number[];
  /** By rect: which leader a merged rect has. */
  readonly ofRect: Uint32Array;
}

const known = new WeakMap<Geometry, Leaders>();

export function leadersOf(g: Geometry): Leaders {
  const found = known.get(g) ?? findLeaders(g);
  known.set(g, found);
  return found;
}

function findLeaders(g: Geometry): Leaders {
  const stacks = [NO_STACK];
  const categories = [NO_CATEGORY];
  const ofRect = new Uint32Array(g.rects);
  const numbers = new Map<number, number>([[NO_STACK * 256 + NO_CATEGORY, 0]]);
  for (let rect = 0; rect < g.rects; rect++) {
    if (g.words[3 * rect + 2]! < MERGED_BIT) continue;
    const stack = g.rectStack[rect]!;
    const category = g.rectCategory[rect]!;
    const key = stack * 256 + category;
    let number = numbers.get(key);
    if (number === undefined) {
      number = stacks.length;
      numbers.set(key, number);
      stacks.push(stack);
      categories.push(category);
    }
    ofRect[rect] = number;
  }
  return { stacks, categories, ofRect };
}
