// What the file could not tell, in a strip that steps back to an icon in the toolbar.

import type { Notice } from '../../../extension/shared/protocol.gen';
import { element, icon, iconButton } from './dom';
import { visible } from './text';

export function warningStrip(warnings: readonly Notice[], hide: () => void): HTMLElement {
  return element(
    'section',
    { class: 'warnings', attributes: { 'aria-label': 'What this file could not tell' } },
    icon('warning'),
    element(
      'ul',
      {},
      ...warnings.map((warning) => element('li', {}, element('bdi', {}, visible(warning.message)))),
    ),
    iconButton('close', 'Hide', hide),
  );
}
