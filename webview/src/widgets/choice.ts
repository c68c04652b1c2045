// A few states side by side, one of which holds.

import { element } from './dom';

export class Choice<T extends string> {
  readonly root: HTMLElement;
  private readonly buttons: ReadonlyMap<T, HTMLButtonElement>;
  private value: T | null = null;

  /** `change` is called when another one is pressed; `set` shows the current one. */
  constructor(
    label: string,
    options: readonly { readonly value: T; readonly text: string; readonly title?: string }[],
    change: (value: T) => void,
  ) {
    this.buttons = new Map(
      options.map(({ value, text, title = '' }) => [
        value,
        element(
          'button',
          {
            type: 'button',
            title,
            on: {
              click: () => {
                if (this.value !== value) change(value);
              },
            },
          },
          text,
        ),
      ]),
    );
    this.root = element(
      'div',
      { class: 'choice', role: 'group', title: label, attributes: { 'aria-label': label } },
      ...this.buttons.values(),
    );
  }

  /** Null where none of them holds. */
  set(value: T | null): void {
    this.value = value;
    for (const [each, button] of this.buttons) press(button, each === value);
  }

  enable(value: T, enabled: boolean): void {
    const button = this.buttons.get(value);
    if (button) button.disabled = !enabled;
  }
}

export function press(button: HTMLButtonElement, pressed: boolean): void {
  button.setAttribute('aria-pressed', String(pressed));
}
