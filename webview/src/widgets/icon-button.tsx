// A button that shows an icon, as a component.

import type { VNode } from 'preact';
import { Icon, type IconName } from './icon';

interface IconButtonProps {
  readonly icon: IconName;
  /** Its name and, with the key, its tooltip. */
  readonly label: string;
  readonly press: (event: MouseEvent) => void;
  /** The key that does the same. */
  readonly keys?: string;
  /** A class besides that of such buttons. */
  readonly class?: string;
  readonly tabIndex?: number;
  /** Of a button that stays pressed. */
  readonly pressed?: boolean;
}

export function IconButton({ icon, label, press, keys = '', ...rest }: IconButtonProps): VNode {
  return (
    <button
      type="button"
      class={rest.class === undefined ? 'icon-button' : `icon-button ${rest.class}`}
      title={keys === '' ? label : `${label} (${keys})`}
      aria-label={label}
      {...(keys === '' ? {} : { 'aria-keyshortcuts': keys })}
      {...(rest.tabIndex === undefined ? {} : { tabIndex: rest.tabIndex })}
      {...(rest.pressed === undefined ? {} : { 'aria-pressed': rest.pressed })}
      onClick={press}
    >
      <Icon name={icon} />
    </button>
  );
}
