// The settings of a pane, in a menu that a button with a gear opens.

import { element, icon } from '../widgets/dom';

export interface Setting {
  readonly text: string;
  readonly control: HTMLElement;
}

/** A button, and what it opens: a row for each setting, gone while its control is hidden. */
export function settingsButton(label: string, settings: readonly Setting[]): HTMLElement {
  const sheet = element(
    'div',
    { class: 'settings', role: 'dialog', attributes: { popover: 'auto', 'aria-label': label } },
    ...settings.map(({ text, control }) =>
      element('div', { class: 'setting' }, element('span', { class: 'setting-name' }, text), control),
    ),
  );
  const button = element(
    'button',
    {
      class: 'icon-button settings-button',
      type: 'button',
      title: label,
      attributes: { 'aria-label': label, 'aria-haspopup': 'dialog', 'aria-expanded': 'false' },
      on: {
        click: () => {
          sheet.togglePopover();
        },
      },
    },
    icon('gear'),
  );
  sheet.addEventListener('toggle', () => {
    const open = sheet.matches(':popover-open');
    button.setAttribute('aria-expanded', String(open));
    if (!open) return;
    place(sheet, button);
    [...sheet.querySelectorAll<HTMLElement>('button, select, input')]
      .find((control) => !control.closest('[hidden]'))
      ?.focus();
  });
  const slot = element('span', { class: 'settings-slot' }, button, sheet);
  // Escape closes the sheet and does nothing else, wherever in it the focus is.
  slot.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !sheet.matches(':popover-open')) return;
    sheet.hidePopover();
    button.focus();
    event.preventDefault();
    event.stopPropagation();
  });
  return slot;
}

const MARGIN_PX = 4;

/** Below the button, its end where the button's is, and within the window. */
function place(sheet: HTMLElement, button: HTMLElement): void {
  const { right, bottom, top } = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = sheet;
  sheet.style.left = `${Math.max(right - width, MARGIN_PX)}px`;
  const below = bottom + MARGIN_PX + height <= window.innerHeight;
  sheet.style.top = `${below ? bottom + 2 : Math.max(top - height - 2, MARGIN_PX)}px`;
}
