// A share of a whole as a bar before its figure.

import type { VNode } from 'preact';

export function ShareBar({ part, whole }: { readonly part: number; readonly whole: number }): VNode {
  return (
    <span
      class="share-bar"
      aria-hidden="true"
      style={{ '--share': whole > 0 ? String(part / whole) : '0' }}
    />
  );
}
