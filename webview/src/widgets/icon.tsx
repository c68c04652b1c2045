// VS Code's own icons, in the colour of the text around them.

import arrowDown from '@vscode/codicons/src/icons/arrow-down.svg';
import arrowLeft from '@vscode/codicons/src/icons/arrow-left.svg';
import arrowRight from '@vscode/codicons/src/icons/arrow-right.svg';
import arrowUp from '@vscode/codicons/src/icons/arrow-up.svg';
import chevronRight from '@vscode/codicons/src/icons/chevron-right.svg';
import close from '@vscode/codicons/src/icons/close.svg';
import copy from '@vscode/codicons/src/icons/copy.svg';
import edit from '@vscode/codicons/src/icons/edit.svg';
import ellipsis from '@vscode/codicons/src/icons/ellipsis.svg';
import filter from '@vscode/codicons/src/icons/filter.svg';
import gear from '@vscode/codicons/src/icons/gear.svg';
import screenFull from '@vscode/codicons/src/icons/screen-full.svg';
import search from '@vscode/codicons/src/icons/search.svg';
import warning from '@vscode/codicons/src/icons/warning.svg';
import type { VNode } from 'preact';

const ICONS = {
  copy,
  edit,
  filter,
  gear,
  search,
  warning,
  close,
  fit: screenFull,
  more: ellipsis,
  chevron: chevronRight,
  up: arrowUp,
  down: arrowDown,
  left: arrowLeft,
  right: arrowRight,
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <span class={`icon icon-${name}`} aria-hidden="true" dangerouslySetInnerHTML={{ __html: ICONS[name] }} />
  );
}
