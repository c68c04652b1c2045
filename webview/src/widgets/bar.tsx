// A row of controls as one stop of Tab: arrows, Home and End lead from one control to the next.

import type { ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../base/text';

interface BarProps {
  readonly class: string;
  readonly label: string;
  readonly hidden?: boolean;
  readonly children: ComponentChildren;
}

export function Bar({ class: name, label, hidden = false, children }: BarProps): VNode {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (root.current ? oneStop(root.current) : undefined), []);
  return (
    <div ref={root} class={name} role="toolbar" aria-label={visible(label)} hidden={hidden}>
      {children}
    </div>
  );
}

const CONTROLS = 'button, select, input, a[href]';

/** Makes the row's controls one stop, as they come and go, until what it returns is called. */
function oneStop(row: HTMLElement): () => void {
  const arrange = (current: Element | null): void => {
    const all = controlsOf(row);
    const stop = all.find((each) => each === current) ?? all.find((each) => each.tabIndex === 0) ?? all[0];
    for (const each of all) {
      const index = each === stop ? 0 : -1;
      if (each.tabIndex !== index) each.tabIndex = index;
    }
  };
  row.addEventListener('focusin', ({ target }) => {
    if (target instanceof Element) arrange(target);
  });
  row.addEventListener('keydown', (event) => {
    const next = neighbour(event, controlsOf(row));
    if (!next) return;
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  const observer = new MutationObserver(() => arrange(null));
  observer.observe(row, { childList: true, subtree: true, attributeFilter: ['hidden', 'disabled'] });
  arrange(null);
  return () => observer.disconnect();
}

function controlsOf(row: HTMLElement): HTMLElement[] {
  return [...row.querySelectorAll<HTMLElement>(CONTROLS)].filter(
    (each) => !each.hasAttribute('disabled') && !each.closest('[hidden], [popover], [role=listbox]'),
  );
}

function neighbour(event: KeyboardEvent, all: readonly HTMLElement[]): HTMLElement | null {
  const at = all.findIndex((each) => each === event.target);
  if (at < 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return null;
  const to: Readonly<Record<string, number>> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    Home: 0,
    End: all.length - 1,
  };
  const next = to[event.key];
  if (next === undefined || stays(event)) return null;
  return all[(next + all.length) % all.length] ?? null;
}

/** Whether the key moves the caret of a text that has room for it. */
function stays({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLInputElement)) return false;
  if (key === 'Home' || key === 'End') return target.value !== '';
  const { selectionStart, selectionEnd, value } = target;
  if (selectionStart !== selectionEnd) return true;
  return key === 'ArrowLeft' ? selectionStart !== 0 : selectionStart !== value.length;
}
