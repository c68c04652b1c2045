// Names of the categories beside their colours; pressing one lights it up.

import { t } from '../base/l10n';
import { css, type Rgb } from '../canvas/colour';
import { element } from './dom';
import { categoryName } from '../base/format';
import { shorten } from '../base/text';

export function legend(
  names: readonly string[],
  colours: readonly Rgb[],
  lit: number | null,
  press: (category: number | null) => void,
): HTMLElement {
  return element(
    'div',
    { class: 'legend', role: 'group', attributes: { 'aria-label': t('Categories') } },
    ...names.map((name, i) => {
      const swatch = element('span', { class: 'swatch' });
      const colour = colours[i];
      if (colour) swatch.style.background = css(colour);
      return element(
        'button',
        {
          type: 'button',
          attributes: { 'aria-pressed': i === lit },
          on: {
            click: () => {
              press(i === lit ? null : i);
            },
          },
        },
        swatch,
        element('bdi', {}, shorten(categoryName(name), 32)),
      );
    }),
  );
}
