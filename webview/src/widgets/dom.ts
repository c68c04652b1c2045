// Small helpers to build elements. Text only ever becomes text nodes, and what can't be seen in it is made visible.

import { shorten, visible } from '../base/text';
import { finished, started } from '../base/under-way';

type Child = Node | string | null | undefined | false;

interface Properties {
  class?: string;
  title?: string;
  id?: string;
  role?: string;
  type?: string;
  tabIndex?: number;
  hidden?: boolean;
  disabled?: boolean;
  /** Attributes by name, ARIA's for instance. */
  attributes?: Readonly<Record<string, string | number | boolean>>;
  on?: { readonly [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  const { class: names, role, type, attributes, on, tabIndex, title, id, hidden, disabled } = properties;
  if (names !== undefined) made.className = names;
  if (title !== undefined) made.title = title.split('\n').map(visible).join('\n');
  if (id !== undefined) made.id = id;
  if (tabIndex !== undefined) made.tabIndex = tabIndex;
  if (hidden !== undefined) made.hidden = hidden;
  if (role !== undefined) made.setAttribute('role', role);
  if (type !== undefined) made.setAttribute('type', type);
  if (disabled) made.setAttribute('disabled', '');
  for (const [name, value] of Object.entries(attributes ?? {}))
    made.setAttribute(name, name === 'aria-label' ? visible(String(value)) : String(value));
  for (const [name, handler] of Object.entries(on ?? {})) {
    // SAFETY: `on` pairs every event's name with a handler of that event.
    made.addEventListener(name, handler as EventListener);
  }
  add(made, ...children);
  return made;
}

/** Names an element anew, for screen readers. */
export function setLabel(target: Element, label: string): void {
  target.setAttribute('aria-label', visible(label));
}

export function add(parent: Element, ...children: Child[]): void {
  for (const child of children)
    if (child !== null && child !== undefined && child !== false)
      parent.append(typeof child === 'string' ? visible(child) : child);
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  add(parent, ...children);
}

const LONGEST_TEXT = 2000;

/**
 * Sets a sentence, which may have names of a snapshot in it, without touching the DOM when it is the same: screen
 * readers repeat what is set.
 */
export function setText(target: Element, text: string): void {
  const shown = shorten(text, LONGEST_TEXT);
  if (target.textContent !== shown) target.textContent = shown;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Line drawings on a 16 by 16 grid. */
export const ICONS = {
  fit: 'M2.5 6V2.5H6 M10 2.5h3.5V6 M13.5 10v3.5H10 M6 13.5H2.5V10',
  peak: 'M1.5 13.5 6 5.5l2.5 4 2-3 4 7z M6 1.5v1.5',
  plus: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z M10.3 10.3l3.7 3.7 M7 5v4 M5 7h4',
  minus: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9z M10.3 10.3l3.7 3.7 M5 7h4',
  box: 'M2.5 4.5v-2h2 M7 2.5h2 M11.5 2.5h2v2 M13.5 7v2 M13.5 11.5v2h-2 M9 13.5H7 M4.5 13.5h-2v-2 M2.5 9V7',
  table: 'M2.5 3h11v10h-11z M2.5 6.3h11 M2.5 9.6h11 M7 6.3V13',
  panel: 'M2.5 3h11v10h-11z M9.5 3v10',
  more: 'M3.5 8h.01 M8 8h.01 M12.5 8h.01',
  gear: 'M8 5.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4z M8 1.8v2 M8 12.2v2 M1.8 8h2 M12.2 8h2 M3.6 3.6 5 5 M11 11l1.4 1.4 M3.6 12.4 5 11 M11 5l1.4-1.4',
  copy: 'M5.5 5.5h8v8h-8z M10.5 5.5v-3h-8v8h3',
  filter: 'M2.5 3.5h11L9.5 8v4.5l-3-1.5V8z',
  warning: 'M8 2.5 14 13.5H2z M8 6.5v3.2 M8 11.3v.6',
  close: 'M4 4l8 8 M12 4l-8 8',
  edit: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z M9 4.7l2.3 2.3',
  chevron: 'M6 4l4 4-4 4',
  source: 'M5.5 5 2.5 8l3 3 M10.5 5l3 3-3 3',
  up: 'M8 12.5v-9 M4.5 7 8 3.5 11.5 7',
  down: 'M8 3.5v9 M4.5 9 8 12.5 11.5 9',
  left: 'M12.5 8h-9 M7 4.5 3.5 8 7 11.5',
  right: 'M3.5 8h9 M9 4.5 12.5 8 9 11.5',
} as const;

export type IconName = keyof typeof ICONS;

export function icon(name: IconName): SVGSVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', `icon icon-${name}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
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
