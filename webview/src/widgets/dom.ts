// Elements that components are drawn in, or that other code looks after. Text in them only ever becomes text nodes.

import { visible } from '../base/text';
import { finished, started } from '../base/under-way';

interface Properties {
  class?: string;
  id?: string;
  role?: string;
  tabIndex?: number;
  hidden?: boolean;
  /** Attributes by name, ARIA's for instance. */
  attributes?: Readonly<Record<string, string>>;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  { class: names, role, attributes, ...properties }: Properties = {},
  ...children: Node[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(tag), properties);
  if (names !== undefined) made.className = names;
  for (const [name, value] of Object.entries({ ...(role === undefined ? {} : { role }), ...attributes }))
    made.setAttribute(name, name === 'aria-label' ? visible(value) : value);
  made.append(...children);
  return made;
}

/** Renames an element for screen readers. */
export function setLabel(target: Element, label: string): void {
  target.setAttribute('aria-label', visible(label));
}

/** Calls back at most once per `wait` of quiet. */
export function debounce(
  wait: number,
  run: () => void,
): { (): void; cancel: () => void; /** Calls back now, if it is due. */ flush: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(later.flush, wait);
    started(later, 'put off');
  };
  later.cancel = (): void => {
    clearTimeout(timer);
    timer = undefined;
    finished(later);
  };
  later.flush = (): void => {
    if (timer === undefined) return;
    later.cancel();
    run();
  };
  return later;
}
