// What the pointer does to the picture and the selection.

import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import type { Cursors } from './cursors';
import type { Hover } from './hover';
import type { Plot } from './plot';
import { movements } from '../widgets/movements';
import type { PointerActions } from '../widgets/pointer';
import type { Selection } from './selection';

/** A picture of allocations, and what the pointer changes. */
interface Picture {
  readonly plot: Plot;
  readonly selection: Pick<Selection, 'select' | 'selectAt' | 'clear' | 'zoomTo'>;
  readonly cursors: Pick<Cursors, 'place' | 'extendTo' | 'span'>;
  readonly hover: Pick<Hover, 'move'>;
  openLabel(allocation: AllocationSummary): void;
  /** The box tool has drawn its box. */
  boxUsed?(): void;
}

export function gestures(picture: Picture): PointerActions {
  const { plot, selection, cursors, hover } = picture;
  const moves = movements(plot, (from, to) => cursors.span(from, to));
  return {
    hover: (at) => hover.move(at),
    click: (at, { open, extend }) => {
      const hit = plot.hit(at.x, at.y);
      const g = plot.geometry;
      if (!hit || !g) return;
      const moment = g.moment[hit.column] ?? 0;
      const then = open ? (allocation: AllocationSummary): void => picture.openLabel(allocation) : null;
      if (extend) {
        cursors.extendTo(moment);
        return;
      }
      cursors.place(moment);
      if (hit.band !== null) selection.select(g.allocation[hit.band] ?? 0, moment, false, then);
      else if (hit.merged > 0) selection.selectAt(moment, hit.yBytes, then);
      else selection.clear();
    },
    doubleClick: () => {
      // the first click of the two selected it
      selection.zoomTo();
    },
    ...moves,
    boxDone: (from, to) => {
      moves.boxDone(from, to);
      picture.boxUsed?.();
    },
  };
}
