// Names of the categories beside their colours; pressing one highlights it.

import type { VNode } from 'preact';
import { categoryName } from '../base/format';
import { t } from '../base/l10n';
import { shorten } from '../base/text';
import { css, type Rgb } from '../canvas/colour';
import { Bar } from './bar';

export interface LegendProps {
  readonly names: readonly string[];
  readonly colours: readonly Rgb[];
  /** The one that is highlighted. */
  readonly highlighted: number | null;
  readonly press: (category: number | null) => void;
}

export function Legend({ names, colours, highlighted, press }: LegendProps): VNode {
  return (
    <Bar class="legend" label={t('Categories')}>
      {names.map((name, i) => {
        const colour = colours[i];
        return (
          <button
            key={name}
            type="button"
            aria-pressed={i === highlighted}
            onClick={() => press(i === highlighted ? null : i)}
          >
            <span class="swatch" style={{ background: colour ? css(colour) : '' }} />
            <bdi>{shorten(categoryName(name), 32)}</bdi>
          </button>
        );
      })}
    </Bar>
  );
}
