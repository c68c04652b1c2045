// A share of a whole as a bar before its figure.

import type { VNode } from 'preact';
import { element } from './dom';

export function ShareBar({ part, whole }: { readonly part: number; readonly whole: number }): VNode {
  return (
    <span
      class="share-bar"
      aria-hidden="true"
      style={{ '--share': whole > 0 ? String(part / whole) : '0' }}
    />
  );
}

/** The same as an element. */
export function shareBar(part: number, whole: number): HTMLElement {
  const bar = element('span', { class: 'share-bar', attributes: { 'aria-hidden': 'true' } });
  bar.style.setProperty('--share', whole > 0 ? String(part / whole) : '0');
  return bar;
}
