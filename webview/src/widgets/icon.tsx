// A line drawing, as a component.

import type { VNode } from 'preact';

/** Line drawings on a 16 by 16 grid. */
const ICONS = {
  fit: 'M2.5 6V2.5H6 M10 2.5h3.5V6 M13.5 10v3.5H10 M6 13.5H2.5V10',
  more: 'M3.5 8h.01 M8 8h.01 M12.5 8h.01',
  gear: 'M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4z M8 1.8v2 M8 12.2v2 M1.8 8h2 M12.2 8h2 M3.6 3.6 5 5 M11 11l1.4 1.4 M3.6 12.4 5 11 M11 5l1.4-1.4',
  copy: 'M5.5 5.5h8v8h-8z M10.5 5.5v-3h-8v8h3',
  filter: 'M2.5 3.5h11L9.5 8v4.5l-3-1.5V8z',
  warning: 'M8 2.5 14 13.5H2z M8 6.5v3.2 M8 11.3v.6',
  close: 'M4 4l8 8 M12 4l-8 8',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z M9 4.7l2.3 2.3',
  chevron: 'M6 4l4 4-4 4',
  up: 'M8 12.5v-9 M4.5 7 8 3.5 11.5 7',
  down: 'M8 3.5v9 M4.5 9 8 12.5 11.5 9',
  left: 'M12.5 8h-9 M7 4.5 3.5 8 7 11.5',
  right: 'M3.5 8h9 M9 4.5 12.5 8 9 11.5',
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg viewBox="0 0 16 16" class={`icon icon-${name}`} aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
