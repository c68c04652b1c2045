// A menu at a point of the window, as ARIA has it: arrows walk through it, and it closes as soon as it is left.

import { render, type VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../base/text';

export interface MenuItem {
  readonly text: string;
  /** The key that does the same. */
  readonly key?: string;
  /** Whether it holds, of something that is switched on and off. */
  readonly checked?: boolean;
  /** One of a few, of which one holds. */
  readonly radio?: boolean;
  readonly disabled?: boolean;
  run(): void;
}

/** What a menu has in it; null is a line between two groups. */
export type MenuEntry = MenuItem | null;

/** At least so far from the edge of the window. */
const MARGIN_PX = 4;

/** Opens a menu; the focus returns to where it was when the menu closes. */
export function openMenu(entries: readonly MenuEntry[], x: number, y: number, label = ''): void {
  const before = document.activeElement;
  const host = document.createElement('div');
  const gone = new AbortController();
  const close = (): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    render(null, host);
    host.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
  const { signal } = gone;
  document.addEventListener(
    'pointerdown',
    (event) => {
      if (!(event.target instanceof Node) || !host.contains(event.target)) close();
    },
    { signal, capture: true },
  );
  window.addEventListener('blur', close, { signal });
  window.addEventListener('resize', close, { signal });
  document.body.append(host);
  render(<Menu entries={entries} x={x} y={y} label={label} close={close} />, host);
}

/** Opens a menu below a button, or above it where there is no room. */
export function openMenuAt(button: HTMLElement, entries: readonly MenuEntry[], label: string): void {
  const { left, bottom } = button.getBoundingClientRect();
  openMenu(entries, left, bottom + 2, label);
}

interface MenuProps {
  readonly entries: readonly MenuEntry[];
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly close: () => void;
}

function Menu({ entries, x, y, label, close }: MenuProps): VNode {
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const menu = root.current;
    if (!menu) return;
    menu.style.left = `${Math.max(Math.min(x, window.innerWidth - menu.offsetWidth - MARGIN_PX), 0)}px`;
    menu.style.top = `${Math.max(Math.min(y, window.innerHeight - menu.offsetHeight - MARGIN_PX), 0)}px`;
    buttonsOf(menu)[0]?.focus();
  }, [x, y]);
  return (
    <div
      class="menu"
      role="menu"
      ref={root}
      {...(label === '' ? {} : { 'aria-label': label })}
      onKeyDown={(event) => walk(event, close)}
      onContextMenu={(event) => event.preventDefault()}
    >
      {entries.map((entry, index) =>
        entry === null ? (
          <hr key={index} role="separator" />
        ) : (
          <button
            key={index}
            type="button"
            role={roleOf(entry)}
            tabIndex={-1}
            disabled={entry.disabled ?? false}
            {...(entry.checked === undefined ? {} : { 'aria-checked': entry.checked })}
            onClick={() => {
              close();
              entry.run();
            }}
          >
            <span class="menu-check" aria-hidden="true">
              {entry.checked ? '✓' : ''}
            </span>
            <span class="menu-text">{visible(entry.text)}</span>
            <span class="menu-key">{entry.key}</span>
          </button>
        ),
      )}
    </div>
  );
}

function roleOf({ checked, radio }: MenuItem): 'menuitem' | 'menuitemradio' | 'menuitemcheckbox' {
  if (checked === undefined) return 'menuitem';
  return radio ? 'menuitemradio' : 'menuitemcheckbox';
}

function buttonsOf(menu: Element): HTMLButtonElement[] {
  return [...menu.querySelectorAll('button')].filter((button) => !button.disabled);
}

function walk(event: KeyboardEvent, close: () => void): void {
  if (!(event.currentTarget instanceof Element)) return;
  const buttons = buttonsOf(event.currentTarget);
  const at = buttons.findIndex((each) => each === document.activeElement);
  const to: Readonly<Record<string, number>> = {
    ArrowDown: (at + 1) % buttons.length,
    ArrowUp: (at + buttons.length - 1) % buttons.length,
    Home: 0,
    End: buttons.length - 1,
  };
  const next = to[event.key];
  if (next !== undefined) buttons[next]?.focus();
  else if (event.key === 'Escape' || event.key === 'Tab') close();
  else if (event.key !== 'Enter' && event.key !== ' ') {
    const letter = event.key.toLowerCase();
    const found = [...buttons.slice(at + 1), ...buttons].find(
      (button) => button.querySelector('.menu-text')?.textContent.toLowerCase().startsWith(letter) ?? false,
    );
    if (!found) return;
    found.focus();
  } else buttons[at]?.click();
  event.preventDefault();
  event.stopPropagation();
}
