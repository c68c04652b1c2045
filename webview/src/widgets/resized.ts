// What is done when an element gets its size, and whenever that is another.

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function useResized(root: RefObject<Element | null>, resized: () => void): void {
  const latest = useRef(resized);
  latest.current = resized;
  useLayoutEffect(() => {
    if (!root.current) return;
    const observer = new ResizeObserver(() => latest.current());
    observer.observe(root.current);
    return () => observer.disconnect();
  }, []);
}
