// A DOM for components under Node. Imported before what makes elements.

import { Window } from 'happy-dom';
import { render, type VNode } from 'preact';

const window = new Window({ width: 1440, height: 900 });

const NAMES = [
  ...['document', 'Element', 'HTMLElement', 'HTMLButtonElement', 'HTMLInputElement', 'HTMLSelectElement'],
  ...['HTMLTextAreaElement', 'HTMLTableRowElement', 'Node', 'Text', 'Event', 'KeyboardEvent', 'MouseEvent'],
  ...['PointerEvent', 'FocusEvent', 'MutationObserver', 'requestAnimationFrame', 'cancelAnimationFrame'],
  ...['ResizeObserver', 'getComputedStyle', 'navigator'],
] as const;

Object.assign(globalThis, { window });
for (const name of NAMES)
  Object.defineProperty(globalThis, name, {
    configurable: true,
    writable: true,
    value: Reflect.get(window, name),
  });

/** Until components have drawn what changed, and observers were notified. */
export async function drawn(): Promise<void> {
  await window.happyDOM.waitUntilComplete();
}

/** Until something is there that takes several answers and drawings; it gives up in the end. */
export async function drawnUntil(isThere: () => boolean): Promise<void> {
  for (let times = 0; times < 100 && !isThere(); times++) await drawn();
}

/** Draws a component in an element of the document. */
export function mounted(node: VNode): HTMLElement {
  const host = document.createElement('div');
  document.body.append(host);
  render(node, host);
  return host;
}

export function press(target: Element, key: string): void {
  target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
}
