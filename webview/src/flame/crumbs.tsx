// The way back from a zoom: which boxes fill the view.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { shortName } from '../base/symbols';
import { fillingBoxes, type BoxFacts } from './boxes';
import { WHOLE } from './camera';
import type { FlamePlot } from './plot';
import { nameText } from './words';

interface Crumb {
  readonly text: string;
  readonly facts: BoxFacts;
}

export class FlameCrumbs {
  /** Null while all of the graph is in view. */
  private readonly crumbs = signal<readonly Crumb[] | null>(null);
  private shown = '';

  constructor(
    private readonly plot: FlamePlot,
    private readonly zoomTo: (facts: BoxFacts) => void,
  ) {}

  readonly View = ({ hidden = false }: { readonly hidden?: boolean }): VNode => {
    const crumbs = this.crumbs.value;
    return (
      <nav class={crumbs ? 'flame-crumbs shown' : 'flame-crumbs'} aria-label={t('Zoomed to')} hidden={hidden}>
        {crumbs && (
          <button type="button" class="link flame-reset" onClick={() => this.plot.moveTo(WHOLE, true)}>
            <bdi>{t('Reset zoom')}</bdi>
          </button>
        )}
        {crumbs?.map(({ text, facts }) => (
          <button key={facts.node} type="button" class="link" onClick={() => this.zoomTo(facts)}>
            <bdi>{text}</bdi>
          </button>
        ))}
      </nav>
    );
  };

  update(): void {
    const { plot } = this;
    const g = plot.geometry;
    if (!g) return;
    const zoom = plot.target.x0 > 0 || plot.target.x1 < 1;
    const crumbs = (zoom ? fillingBoxes(g, plot.target) : []).flatMap((box): Crumb[] => {
      const facts = plot.facts(box);
      if (!facts || facts.node === 0 || facts.more) return [];
      const name = plot.names.get(facts.name);
      return [{ facts, text: name ? shortName(nameText(name), 40) : '…' }];
    });
    const key = JSON.stringify([zoom, crumbs]);
    if (key === this.shown) return;
    this.shown = key;
    this.crumbs.value = zoom ? crumbs : null;
  }
}
