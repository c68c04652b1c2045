// What the colours of boxes with two sides mean.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { ARROWS, colourOfChange, SIGNED, type Sided, type Turn } from './difference';

const RELATIVE: Readonly<Record<Turn, number>> = { more: 1, even: 0, less: -1 };

export function ChangeLegend({ sided }: { readonly sided: Sided }): VNode {
  const texts: Readonly<Record<Turn, string>> =
    sided === SIGNED
      ? { more: t('more'), even: t('no change'), less: t('less') }
      : { more: t('more after'), even: t('the same'), less: t('less after') };
  return (
    <>
      {(['more', 'even', 'less'] as const).map((turn) => (
        <span key={turn} class="compare-sample">
          <span
            class={`flame-change ${turn}`}
            style={{ background: css(colourOfChange(RELATIVE[turn], theme.value)) }}
          />
          {`${ARROWS[turn]} ${texts[turn]}`}
        </span>
      ))}
      <span class="muted">{t('the deeper, the larger a part of the box')}</span>
    </>
  );
}
