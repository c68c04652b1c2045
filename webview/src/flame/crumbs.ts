// The way back from a zoom: which boxes fill the view.

import type { FlameName } from '../../../extension/shared/protocol.gen';
import { element, replace } from '../widgets/dom';
import { shorten } from '../base/text';
import { fillingBoxes, type BoxFacts } from './boxes';
import { WHOLE } from './camera';
import type { FlamePlot } from './plot';
import { nameText } from './words';

const textOf = (name: FlameName | undefined): string => (name ? nameText(name) : '…');

export class FlameCrumbs {
  readonly root = element('nav', { class: 'flame-crumbs', attributes: { 'aria-label': 'Zoomed to' } });
  private shown = '';

  constructor(
    private readonly plot: FlamePlot,
    private readonly zoomTo: (facts: BoxFacts) => void,
  ) {}

  update(): void {
    const { plot } = this;
    const g = plot.geometry;
    if (!g) return;
    const zoom = plot.target.x0 > 0 || plot.target.x1 < 1;
    const boxes = zoom ? fillingBoxes(g, plot.target) : [];
    const facts = boxes.flatMap((box) => plot.facts(box) ?? []);
    const key = JSON.stringify([zoom, facts, facts.map(({ name }) => plot.names.has(name))]);
    if (key === this.shown) return;
    this.shown = key;
    const button = (name: string, text: string, press: () => void): HTMLElement =>
      element('button', { class: name, type: 'button', on: { click: press } }, element('bdi', {}, text));
    replace(
      this.root,
      zoom &&
        button('link flame-reset', 'Reset zoom', () => {
          plot.moveTo(WHOLE, true);
        }),
      ...facts
        .filter(({ node, more }) => node !== 0 && !more)
        .map((each) =>
          button('link', shorten(textOf(plot.names.get(each.name)), 40), () => {
            this.zoomTo(each);
          }),
        ),
    );
    this.root.classList.toggle('shown', zoom);
  }
}
