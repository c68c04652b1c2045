// What end-to-end tests and the bench read of the flame graph.

import type { FlameCamera } from './camera';
import type { FlamePlot } from './plot';
import { nameText } from './words';

export interface FlameTest {
  /** The boxes on the screen that are wide enough to be clicked, with their names. */
  boxes(): {
    node: number;
    name: string;
    more: boolean;
    x: number;
    y: number;
    width: number;
    height: number;
    /** Of a comparison. */
    before: number | null;
    after: number | null;
  }[];
  camera(): FlameCamera;
  readonly frameTimes: readonly number[];
  /** Draws now; for the bench. */
  redraw(): void;
}

declare global {
  interface Window {
    memlensFlame?: FlameTest;
    memlensDifference?: FlameTest;
    memlensStacks?: FlameTest;
  }
}

export function exposeFlameForTests(
  plot: FlamePlot,
  as: 'memlensFlame' | 'memlensDifference' | 'memlensStacks',
): void {
  window[as] = {
    boxes: () =>
      Array.from({ length: plot.geometry?.boxes ?? 0 }, (_, box) => {
        const facts = plot.facts(box);
        const rect = plot.rectOf(box);
        if (!facts || !rect || rect.width < 2) return [];
        const known = plot.names.get(facts.name);
        const name = facts.node === 0 ? 'all' : known ? nameText(known) : '';
        const { before = null, after = null } = facts.change ?? {};
        return [{ node: facts.node, name, more: facts.more, ...rect, before, after }];
      }).flat(),
    camera: () => plot.camera,
    frameTimes: plot.frameTimes,
    redraw: () => plot.redraw(),
  };
}
