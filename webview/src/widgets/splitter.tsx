// A bar between two parts of the view that can be dragged, or moved by the arrow keys.

import type { VNode } from 'preact';

interface SplitterProps {
  readonly label: string;
  readonly direction: 'vertical' | 'horizontal';
  readonly hidden: boolean;
  /** What it gives to the part after it, in CSS pixels. */
  readonly size: number;
  readonly resize: (size: number) => void;
}

const STEP_PX = 24;

export function Splitter({ label, direction, hidden, size, resize }: SplitterProps): VNode {
  const vertical = direction === 'vertical';
  const along = (event: MouseEvent): number => (vertical ? event.clientX : event.clientY);
  return (
    <div
      class={`splitter ${direction}`}
      role="separator"
      tabIndex={0}
      hidden={hidden}
      aria-label={label}
      aria-orientation={direction}
      aria-valuenow={size}
      aria-valuemin={0}
      onPointerDown={(event) => {
        event.preventDefault();
        const bar = event.currentTarget;
        bar.setPointerCapture(event.pointerId);
        const from = size + along(event);
        const move = (next: PointerEvent): void => resize(from - along(next));
        bar.addEventListener('pointermove', move);
        const done = (): void => bar.removeEventListener('pointermove', move);
        bar.addEventListener('lostpointercapture', done, { once: true });
      }}
      onKeyDown={(event) => {
        const grow = vertical ? 'ArrowLeft' : 'ArrowUp';
        const shrink = vertical ? 'ArrowRight' : 'ArrowDown';
        if (event.altKey || (event.key !== grow && event.key !== shrink)) return;
        event.preventDefault();
        event.stopPropagation();
        resize(size + (event.key === grow ? STEP_PX : -STEP_PX));
      }}
    />
  );
}
