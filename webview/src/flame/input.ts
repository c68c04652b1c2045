// The pointer on a flame graph: hover, click, double click, wheel and drag.

import type { BoxFacts } from './boxes';
import { panned, zoomed } from './camera';
import type { FlameHover } from './hover';
import type { FlamePlot } from './plot';

/** What is done to boxes, drawn as boxes or as rings. */
export interface BoxPresses {
  click(box: number, open: boolean): void;
  zoom(facts: BoxFacts | null): void;
  /** What can be done to a box, at a point of the window; -1 for the one that is selected. */
  menu(box: number, x: number, y: number): void;
}

/** Pixels that a press may wander and still be a click. */
const CLICK_PX = 4;
const WHEEL_FACTOR = 1.0016;
const WHEEL_ROWS_PX = 18;

export function listenToPointer(plot: FlamePlot, hover: FlameHover, presses: BoxPresses): void {
  const { surface } = plot;
  let press: { x: number; y: number; lastX: number; lastY: number; dragging: boolean } | null = null;

  const at = (event: MouseEvent): { x: number; y: number } => {
    const box = surface.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  surface.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    // by the keyboard it is about the selected box
    const { x, y } = at(event);
    hover.hide();
    presses.menu(event.button === 2 ? plot.boxAt(x, y) : -1, event.clientX, event.clientY);
  });
  surface.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    press = {
      x: event.clientX,
      y: event.clientY,
      lastX: event.clientX,
      lastY: event.clientY,
      dragging: false,
    };
    surface.setPointerCapture(event.pointerId);
  });
  surface.addEventListener('pointermove', (event) => {
    if (press) {
      const moved = Math.hypot(event.clientX - press.x, event.clientY - press.y);
      if (!press.dragging && moved > CLICK_PX) {
        press.dragging = true;
        surface.classList.add('dragging');
        hover.hide();
      }
      if (!press.dragging) return;
      const rows = (event.clientY - press.lastY) / (surface.clientHeight / plot.rows);
      plot.moveTo(
        panned(
          plot.target,
          -(event.clientX - press.lastX) / surface.clientWidth,
          plot.isUpwards ? rows : -rows,
        ),
      );
      press.lastX = event.clientX;
      press.lastY = event.clientY;
      return;
    }
    const { x, y } = at(event);
    hover.show(plot.boxAt(x, y), x, y);
  });
  let dragged = false;
  const release = (): void => {
    const done = press;
    press = null;
    surface.classList.remove('dragging');
    dragged = done?.dragging ?? false;
  };
  surface.addEventListener('pointerup', release);
  surface.addEventListener('pointercancel', release);
  surface.addEventListener('pointerleave', () => {
    if (!press) hover.hide();
  });
  surface.addEventListener('click', (event) => {
    // The first click may move the boxes, by opening the details: the second one means the same box.
    if (dragged || event.detail > 1) return;
    const { x, y } = at(event);
    const box = plot.boxAt(x, y);
    surface.focus({ preventScroll: true });
    // the details may take the place where the tooltip stands
    hover.hide();
    presses.click(box, event.ctrlKey || event.metaKey);
  });
  surface.addEventListener('dblclick', () => {
    if (!dragged) presses.zoom(plot.facts(plot.selectedBox()));
  });
  surface.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : WHEEL_ROWS_PX;
      const { x } = at(event);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const by = ((event.deltaX || event.deltaY) * unit) / surface.clientWidth;
        plot.moveTo(panned(plot.target, by, 0));
      } else if (event.altKey) {
        const rows = (event.deltaY * unit) / WHEEL_ROWS_PX;
        plot.moveTo(panned(plot.target, 0, plot.isUpwards ? -rows : rows));
      } else {
        plot.moveTo(zoomed(plot.target, x / surface.clientWidth, WHEEL_FACTOR ** (-event.deltaY * unit)));
      }
      hover.hide();
    },
    { passive: false },
  );
}
