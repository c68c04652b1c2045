// The settings of a pane, in a sheet that a button with a gear opens.

import type { ComponentChild, ComponentChildren, VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Choices, Dropdown, type ChoiceProps } from '../widgets/choice';
import { Icon } from '../widgets/icon';

interface SettingsProps {
  readonly label: string;
  /** A `SettingRow` for each setting. */
  readonly children: ComponentChildren;
}

interface SettingProps {
  readonly text: string;
  readonly children: ComponentChild;
}

export function SettingRow({ text, children }: SettingProps): VNode {
  return (
    <div class="setting">
      <span class="setting-name">{text}</span>
      {children}
    </div>
  );
}

/** One of a few as a setting that is called what its choice is; a `list` drops down. */
export function SettingChoice<T extends string>({
  list = false,
  ...choice
}: ChoiceProps<T> & { readonly list?: boolean }): VNode {
  return (
    <SettingRow text={choice.label}>{list ? <Dropdown {...choice} /> : <Choices {...choice} />}</SettingRow>
  );
}

/** A button, and the sheet that it opens. */
export function Settings({ label, children }: SettingsProps): VNode {
  const opener = useRef<HTMLButtonElement>(null);
  const sheet = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [button, opened] = [opener.current, sheet.current];
    const slot = button?.parentElement;
    if (!button || !opened || !slot) return;
    const toggled = (): void => {
      const open = opened.matches(':popover-open');
      button.setAttribute('aria-expanded', String(open));
      if (!open) return;
      place(opened, button);
      [...opened.querySelectorAll<HTMLElement>('button, select, input')]
        .find((control) => !control.closest('[hidden]'))
        ?.focus();
    };
    // Escape closes the sheet and does nothing else, wherever in it the focus is.
    const escaped = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || !opened.matches(':popover-open')) return;
      opened.hidePopover();
      button.focus();
      event.preventDefault();
      event.stopPropagation();
    };
    opened.addEventListener('toggle', toggled);
    slot.addEventListener('keydown', escaped);
    return () => {
      opened.removeEventListener('toggle', toggled);
      slot.removeEventListener('keydown', escaped);
    };
  }, []);
  return (
    <span class="settings-slot">
      <button
        ref={opener}
        type="button"
        class="icon-button settings-button"
        title={label}
        aria-label={label}
        aria-haspopup="dialog"
        aria-expanded="false"
        onClick={() => {
          sheet.current?.togglePopover();
        }}
      >
        <Icon name="gear" />
      </button>
      <div ref={sheet} class="settings" role="dialog" popover="auto" aria-label={label}>
        {children}
      </div>
    </span>
  );
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
