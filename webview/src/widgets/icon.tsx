// A line drawing, as a component.

import type { VNode } from 'preact';
import { ICONS, type IconName } from './dom';

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg viewBox="0 0 16 16" class={`icon icon-${name}`} aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
