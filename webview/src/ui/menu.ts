// What can be done to one thing, at the pointer or at the keyboard's place: ARIA's menu, gone as soon as it is left.

import { element } from './dom';

export interface MenuItem {
  readonly text: string;
  /** The key that does the same. */
  readonly key: string;
  run(): void;
}

/** Opens a menu in the window; focus goes back to where it was when the menu closes. */
export function openMenu(items: readonly MenuItem[], x: number, y: number): void {
  const before = document.activeElement;
  const gone = new AbortController();
  const close = (): void => {
    if (gone.signal.aborted) return;
    gone.abort();
    root.remove();
    if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  };
  const buttons = items.map((item) =>
    element(
      'button',
      {
        type: 'button',
        role: 'menuitem',
        tabIndex: -1,
        on: {
          click: () => {
            close();
            item.run();
          },
        },
      },
      element('span', {}, item.text),
      element('span', { class: 'menu-key' }, item.key),
    ),
  );
  const root = element('div', { class: 'menu', role: 'menu' }, ...buttons);
  const keys: Readonly<Record<string, (at: number) => number>> = {
    ArrowDown: (at) => (at + 1) % buttons.length,
    ArrowUp: (at) => (at + buttons.length - 1) % buttons.length,
    Home: () => 0,
    End: () => buttons.length - 1,
  };
  root.addEventListener('keydown', (event) => {
    const to = keys[event.key];
    if (to) buttons[to(buttons.findIndex((each) => each === document.activeElement))]?.focus();
    else if (event.key === 'Escape' || event.key === 'Tab') close();
    else if (event.key !== 'Enter' && event.key !== ' ') return;
    else if (document.activeElement instanceof HTMLElement) document.activeElement.click();
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener('contextmenu', (event) => {
    event.preventDefault();
  });
  const { signal } = gone;
  document.addEventListener(
    'pointerdown',
    (event) => {
      if (!(event.target instanceof Node) || !root.contains(event.target)) close();
    },
    { signal, capture: true },
  );
  window.addEventListener('blur', close, { signal });
  window.addEventListener('resize', close, { signal });
  document.body.append(root);
  root.style.left = `${Math.max(Math.min(x, window.innerWidth - root.offsetWidth - 4), 0)}px`;
  root.style.top = `${Math.max(Math.min(y, window.innerHeight - root.offsetHeight - 4), 0)}px`;
  buttons[0]?.focus();
}
