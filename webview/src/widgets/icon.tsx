// A line drawing, as a component, and a button that shows one.

import type { VNode } from 'preact';
import { ICONS, type IconName } from './dom';

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg viewBox="0 0 16 16" class={`icon icon-${name}`} aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

interface IconButtonProps {
  readonly name: IconName;
  /** Its name and, with the key, its tooltip. */
  readonly label: string;
  readonly shortcut?: string;
  readonly press: (event: MouseEvent) => void;
}

export function IconButton({ name, label, shortcut = '', press }: IconButtonProps): VNode {
  return (
    <button
      type="button"
      class="icon-button"
      title={shortcut === '' ? label : `${label} (${shortcut})`}
      aria-label={label}
      {...(shortcut === '' ? {} : { 'aria-keyshortcuts': shortcut })}
      onClick={press}
    >
      <Icon name={name} />
    </button>
  );
}
