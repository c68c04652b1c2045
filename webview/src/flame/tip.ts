// What is under the pointer in a flame graph.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import { element, replace } from '../widgets/dom';
import { counted } from '../base/format';
import { shorten } from '../base/text';
import type { BoxFacts } from './boxes';
import { kindOf, nameText, type Places } from './words';

/** The main figure, and what stands beside it. */
export interface TipFigures {
  readonly large: string;
  readonly small: string;
}

export class FlameTip {
  readonly root = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });

  constructor(private readonly places: Places) {}

  show(
    facts: BoxFacts,
    name: FlameName | undefined,
    figures: TipFigures,
    colour: string,
    at: { x: number; y: number; width: number; height: number },
  ): void {
    const swatch = element('span', { class: facts.more ? 'swatch merged' : 'swatch' });
    if (!facts.more) swatch.style.background = colour;
    const where = name ? [kindOf(name), this.places.of(name)].filter(Boolean).join(' · ') : '';
    const title = facts.more
      ? counted(facts.name, 'box', 'boxes')
      : facts.node === 0
        ? 'all'
        : name && nameText(name);
    replace(
      this.root,
      element(
        'div',
        { class: 'tooltip-head' },
        swatch,
        element('strong', {}, figures.large),
        element('span', { class: 'muted' }, figures.small),
      ),
      element('div', {}, element('bdi', { class: facts.more ? '' : 'code' }, shorten(title ?? '…', 120))),
      facts.more && element('div', { class: 'muted' }, 'Each under half a pixel here: zoom in to see them'),
      where !== '' && element('div', { class: 'muted' }, element('bdi', {}, shorten(where, 300))),
    );
    this.root.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.root;
    const left = at.x + 16 + width > at.width ? at.x - 14 - width : at.x + 16;
    const top = Math.min(at.y + 14, at.height - height - 4);
    this.root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}
