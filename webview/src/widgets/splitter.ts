// A bar between two parts of the view.

import { element } from './dom';

/** A bar between two parts that can be dragged, or moved by the arrow keys. Its value is the size in CSS pixels. */
export function splitter(
  name: string,
  direction: 'vertical' | 'horizontal',
  size: () => number,
  resize: (size: number) => void,
): HTMLElement {
  const bar = element('div', {
    class: `splitter ${direction}`,
    role: 'separator',
    tabIndex: 0,
    attributes: {
      ...{ 'aria-label': name, 'aria-orientation': direction },
      ...{ 'aria-valuenow': size(), 'aria-valuemin': 0 },
    },
  });
  const along = (event: MouseEvent): number => (direction === 'vertical' ? event.clientX : event.clientY);
  bar.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    const start = along(event);
    const from = size();
    const move = (next: PointerEvent): void => {
      resize(from + start - along(next));
    };
    bar.addEventListener('pointermove', move);
    bar.addEventListener(
      'lostpointercapture',
      () => {
        bar.removeEventListener('pointermove', move);
      },
      { once: true },
    );
  });
  bar.addEventListener('keydown', (event) => {
    const grow = direction === 'vertical' ? 'ArrowLeft' : 'ArrowUp';
    const shrink = direction === 'vertical' ? 'ArrowRight' : 'ArrowDown';
    if (event.altKey || (event.key !== grow && event.key !== shrink)) return;
    event.preventDefault();
    event.stopPropagation();
    resize(size() + (event.key === grow ? 24 : -24));
  });
  return bar;
}
