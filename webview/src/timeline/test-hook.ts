// What end-to-end tests and the bench read: where allocations are on the screen, and how long frames took.

import type { Plot } from './plot';
import type { Camera } from '../canvas/camera';
import { isHighlighted } from './scene/paint';

export interface MemlensTest {
  /** What lies at a point of the canvas (CSS pixels); null where there is nothing. */
  bandAt(x: number, y: number): { allocation: number | null; merged: number; column: number } | null;
  /** The largest visible part of an allocation's band, in CSS pixels of the canvas. */
  rectOf(allocation: number): { x: number; y: number; width: number; height: number } | null;
  /** The allocations that are bands of their own in the picture. */
  bands(): number[];
  /** Those of them that are not dimmed; null while the picture does not know which of a group it shows. */
  highlighted(): number[] | null;
  camera(): Camera;
  /** The pixel at a point of the canvas (CSS pixels), drawn and read back. */
  pixel(x: number, y: number): [number, number, number, number];
  /** Milliseconds of scripting of the latest frames. */
  readonly frameTimes: readonly number[];
}

declare global {
  interface Window {
    memlensTest?: MemlensTest;
    /** The memory map, while it was shown at least once. */
    memlensMap?: MemlensTest;
  }
}

export function exposeForTests(plot: Plot): void {
  window.memlensTest = hookOf(plot);
}

export function exposeMap(plot: Plot): void {
  window.memlensMap = hookOf(plot);
}

function hookOf(plot: Plot): MemlensTest {
  return {
    bandAt: (x, y) => {
      const { rect = null, band = null, merged = 0, column = 0 } = plot.hit(x, y) ?? {};
      if (rect === null) return null;
      return { allocation: band === null ? null : (plot.geometry?.allocation[band] ?? null), merged, column };
    },
    rectOf: (allocation) => plot.rectOf(allocation),
    bands: () => Array.from(plot.geometry?.allocation ?? []),
    highlighted: () => {
      const { geometry: g, highlighted } = plot;
      if (!g || (highlighted.kind === 'group' && !g.highlighted)) return null;
      return Array.from(g.allocation).filter((_, band) => isHighlighted(g, band, highlighted));
    },
    camera: () => plot.camera,
    pixel: (x, y) => plot.pixel(x, y),
    frameTimes: plot.frameTimes,
  };
}
