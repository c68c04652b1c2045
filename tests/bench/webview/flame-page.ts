// A flame graph of as many boxes as asked for, drawn again and again while it is panned and zoomed.

import { h, render } from 'preact';
import type { FlameName } from '../../../extension/shared/protocol.gen';
import { zoomed } from '../../../webview/src/flame/camera';
import { FlamePlot } from '../../../webview/src/flame/plot';
import { Places } from '../../../webview/src/flame/words';
import { writeFlame, type MadeBox } from '../../webview/support/flame-writer';

const TOTAL = 2 ** 40;
const DEPTH = 70;

declare global {
  interface Window {
    benchFlame?: (boxes: number, frames: number) => Promise<{ boxes: number; times: number[] }>;
  }
}

/** Rows of boxes side by side, some of them wide enough for a name. */
function boxesOf(wanted: number): { boxes: MadeBox[]; names: FlameName[] } {
  const boxes: MadeBox[] = [{ left: 0, value: TOTAL, node: 0, name: 0xffffffff, row: 0 }];
  const names: FlameName[] = [];
  const perRow = Math.ceil(wanted / (DEPTH - 1));
  for (let row = 1; row < DEPTH; row++) {
    const edge = (i: number): number => Math.round(TOTAL * (i / perRow) ** 2);
    for (let i = 0; i < perRow; i++) {
      const number = boxes.length;
      boxes.push({
        left: edge(i),
        value: edge(i + 1) - edge(i),
        node: number,
        name: number,
        row,
        kind: number % 3,
        package: number % 40,
      });
      if (i > perRow * 0.98) {
        const name = `function_${number}_with_a_long_name`;
        names.push({
          name: number,
          function: name,
          file: 'a.py',
          line: 0,
          kind: 'user',
          package: '',
          is_package: false,
          source: 'recorded',
          said: null,
          declared: '',
        });
      }
    }
  }
  return { boxes, names };
}

window.benchFlame = async (wanted, frames) => {
  const { boxes, names } = boxesOf(wanted);
  const plot = new FlamePlot(
    {
      ask: () => ({
        answer: Promise.resolve({ geometry: writeFlame(boxes, TOTAL), names }),
        cancel: () => undefined,
      }),
      shown: () => undefined,
      moved: () => undefined,
      failed: (error) => {
        throw error instanceof Error ? error : new Error(String(error));
      },
    },
    new Places(() => false),
  );
  render(h(plot.View, { hidden: false }), document.body);
  plot.renew(false, false);
  const frame = (): Promise<void> =>
    new Promise((resolve) => {
      requestAnimationFrame(() => {
        setTimeout(resolve, 0);
      });
    });
  while (!plot.geometry) await frame();
  for (let i = 0; i < 10; i++) await frame();
  const times: number[] = [];
  for (let i = 0; i < frames; i++) {
    plot.camera = zoomed(plot.camera, 0.5, i % 20 < 10 ? 1.002 : 1 / 1.002);
    plot.redraw();
    await frame();
    times.push(plot.frameTimes.at(-1) ?? 0);
  }
  return { boxes: plot.geometry.boxes, times };
};
