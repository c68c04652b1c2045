// An element that other code made and looks after, in the place of a component.

import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/** Itself it has no box, unless a class gives it one. */
export function Island({
  of,
  class: name = 'island',
}: {
  readonly of: HTMLElement;
  readonly class?: string;
}): VNode {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    root.current?.replaceChildren(of);
  }, [of]);
  return <div ref={root} class={name} />;
}
