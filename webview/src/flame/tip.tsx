// What is under the pointer in a flame graph.

import type { VNode } from 'preact';
import type { FlameName } from '../../../extension/shared/protocol.gen';
import { plural, t } from '../base/l10n';
import { shorten } from '../base/text';
import type { BoxFacts } from './boxes';
import { kindOf, nameText, type Places } from './words';

/** The main figure, and what stands beside it. */
export interface TipFigures {
  readonly large: string;
  readonly small: string;
}

export interface FlameCardProps {
  readonly facts: BoxFacts;
  readonly name: FlameName | undefined;
  readonly figures: TipFigures;
  /** What else is known of the box; empty for nothing. */
  readonly detail: string;
  readonly colour: string;
  readonly places: Places;
}

export function FlameCard({ facts, name, figures, detail, colour, places }: FlameCardProps): VNode {
  const where = name ? [kindOf(name), places.of(name)].filter(Boolean).join(' · ') : '';
  return (
    <>
      <div class="tooltip-head">
        <span
          class={facts.more ? 'swatch merged' : 'swatch'}
          style={{ background: facts.more ? '' : colour }}
        />
        <strong>{figures.large}</strong>
        <span class="muted">{figures.small}</span>
      </div>
      <div>
        <bdi class={facts.more ? '' : 'code'}>{shorten(titleOf(facts, name), 120)}</bdi>
      </div>
      {detail !== '' && <div class="muted">{detail}</div>}
      {facts.more && <div class="muted">{t('Each smaller than half a pixel here: zoom in to see them')}</div>}
      {where !== '' && (
        <div class="muted">
          <bdi>{shorten(where, 300)}</bdi>
        </div>
      )}
    </>
  );
}

function titleOf(facts: BoxFacts, name: FlameName | undefined): string {
  if (facts.more) return plural(facts.name, '{0} box', '{0} boxes');
  if (facts.node === 0) return t('all');
  return name ? nameText(name) : '…';
}
