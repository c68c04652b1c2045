// What is under the pointer in a flame graph.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import { element, replace } from '../ui/dom';
import { counted } from '../ui/format';
import { shorten } from '../ui/text';
import type { BoxFacts } from './boxes';
import { amount, kindOf, placeOf, share } from './words';

export class FlameTip {
  readonly root = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });

  show(
    facts: BoxFacts,
    name: FlameName | undefined,
    total: number,
    isCount: boolean,
    colour: string,
    at: { x: number; y: number; width: number; height: number },
  ): void {
    const swatch = element('span', { class: facts.more ? 'swatch merged' : 'swatch' });
    if (!facts.more) swatch.style.background = colour;
    const where = name ? [kindOf(name), placeOf(name)].filter(Boolean).join(' · ') : '';
    const title = facts.more
      ? counted(facts.name, 'box', 'boxes')
      : facts.node === 0
        ? 'all'
        : name?.function;
    replace(
      this.root,
      element(
        'div',
        { class: 'tooltip-head' },
        swatch,
        element('strong', {}, amount(facts.value, isCount)),
        element('span', { class: 'muted' }, share(facts.value, total)),
      ),
      element('div', {}, element('bdi', { class: facts.more ? '' : 'code' }, shorten(title ?? '…', 120))),
      facts.more && element('div', { class: 'muted' }, 'Each under half a pixel here: zoom in to see them'),
      where !== '' && element('div', { class: 'muted' }, element('bdi', {}, shorten(where, 100))),
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
