// A row of tabs.

import { element, setLabel } from './dom';

export class Tabs<T extends string> {
  readonly root: HTMLElement;
  private readonly tabs: ReadonlyMap<T, HTMLButtonElement>;

  constructor(
    label: string,
    tabs: readonly { readonly id: T; readonly title: string; readonly panel: HTMLElement }[],
    pick: (id: T) => void,
  ) {
    this.tabs = new Map(
      tabs.map(({ id, title, panel }, index) => {
        panel.id = `pane-${id}`;
        panel.setAttribute('role', 'tabpanel');
        setLabel(panel, title);
        const key = index < 9 ? String(index + 1) : '';
        const tab = element(
          'button',
          {
            type: 'button',
            role: 'tab',
            title: key ? `${title} (${key})` : title,
            attributes: { 'aria-controls': panel.id, 'data-tab': id },
            on: {
              click: () => {
                pick(id);
              },
            },
          },
          title,
        );
        return [id, tab] as const;
      }),
    );
    this.root = element(
      'div',
      { class: 'tabs', role: 'tablist', attributes: { 'aria-label': label } },
      ...this.tabs.values(),
    );
    this.root.addEventListener('keydown', (event) => {
      this.key(event);
    });
  }

  show(id: T | null): void {
    for (const [each, tab] of this.tabs) {
      const is = each === id;
      tab.setAttribute('aria-selected', String(is));
      tab.tabIndex = is ? 0 : -1;
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    const all = [...this.tabs.values()];
    const at = all.findIndex((tab) => tab === event.target);
    if (at < 0) return;
    const next = all[(at + (event.key === 'ArrowRight' ? 1 : all.length - 1)) % all.length];
    next?.click();
    next?.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
