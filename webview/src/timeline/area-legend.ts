// The areas of the picture by name, with what they come to at the moment that is looked at.

import { t } from '../base/l10n';
import type { Geometry } from '../../../extension/shared/geometry';
import type { Area, GroupedBy } from '../../../extension/shared/protocol.gen';
import { swatchPattern } from './render/area-patterns';
import { areaColours, areaName, OTHER } from './scene/areas';
import { css, inkOn } from '../canvas/colour';
import type { LegendMoment } from './legend-moment';
import { patternOf, reservedColour, type Palette } from './scene/paint';
import { element, replace, setText } from '../widgets/dom';
import { bytes } from '../base/format';
import { shorten } from '../base/text';

export interface LegendEvents {
  /** An area is pointed at; null for none any more. */
  pointed(key: number | null): void;
  /** An area is picked, or given up if it was. */
  picked(key: number | null): void;
}

export class AreaLegend {
  readonly root = element('div', {
    class: 'area-legend',
    role: 'group',
    hidden: true,
    attributes: { 'aria-label': t('Areas') },
    on: {
      pointerleave: () => {
        this.events.pointed(null);
      },
    },
  });
  private readonly when = element('span', { class: 'muted area-legend-when' });
  private readonly chips = element('div', { class: 'area-legend-chips' });
  private figures: HTMLElement[] = [];
  private shown: readonly Area[] = [];
  private order: number[] = [];
  private by: GroupedBy['by'] = 'line';
  private key: number | null = null;
  /** What it shows; the same is not made anew, so that what has the focus keeps it. */
  private shows = '';

  constructor(
    private readonly events: LegendEvents,
    /** Whether reserved memory is in the picture as well. */
    private readonly withReserved = false,
  ) {
    replace(this.root, this.when, this.chips);
  }

  /** Another picture, or other colours; `picked` is the area that is highlighted. */
  show(g: Geometry | null, palette: Palette, picked: number | null): void {
    const grouped = g?.grouped ?? null;
    this.root.hidden = grouped === null;
    if (!grouped) return;
    const { by, areas } = grouped;
    const shows = JSON.stringify([by, areas, areaColours(grouped, palette), picked]);
    if (shows === this.shows) {
      this.shown = areas;
      return;
    }
    this.shows = shows;
    this.by = by.by;
    this.key = picked;
    this.shown = grouped.areas;
    // the largest at the peak first, as in the tables; what has no area of its own last
    this.order = Array.from(grouped.areas.keys()).sort(
      (a, b) => peakOf(grouped.areas[b]) - peakOf(grouped.areas[a]),
    );
    const colours = areaColours(grouped, palette);
    this.figures = this.order.map(() => element('span', { class: 'area-legend-bytes' }));
    replace(
      this.chips,
      this.withReserved && reservedChip(palette),
      ...this.order.map((area, i) => {
        const colour = colours[area] ?? palette.none;
        const pattern = palette.patterns ? swatchPattern(patternOf(area), inkOn(colour)) : 'none';
        return this.chip(area, { colour: css(colour), pattern }, this.figures[i]);
      }),
    );
  }

  /** What the areas come to at a moment. */
  showFigures(g: Geometry | null, { column, words }: LegendMoment): void {
    const grouped = g?.grouped;
    if (grouped?.areas !== this.shown) return;
    setText(this.when, words);
    for (const [i, area] of this.order.entries()) {
      const figure = this.figures[i];
      if (figure) setText(figure, bytes(grouped.bytes[column * grouped.areas.length + area] ?? 0));
    }
  }

  private chip(
    area: number,
    { colour, pattern }: { colour: string; pattern: string },
    figure: HTMLElement | undefined,
  ): HTMLElement {
    const known = this.shown[area];
    const key = known?.key ?? OTHER;
    const name = known ? areaName(known, this.by) : '';
    const swatch = element('span', { class: 'swatch' });
    swatch.style.background = pattern === 'none' ? colour : `${pattern} ${colour}`;
    return element(
      'button',
      {
        type: 'button',
        title: known ? [name, known.detail].filter((text) => text !== '').join(' · ') : '',
        attributes: { 'aria-pressed': key === this.key, 'data-key': key },
        on: {
          pointerenter: () => {
            this.events.pointed(key);
          },
          click: () => {
            this.events.picked(key === this.key ? null : key);
          },
        },
      },
      swatch,
      element('bdi', {}, shorten(name, 28)),
      figure ?? false,
    );
  }
}

function reservedChip(palette: Palette): HTMLElement {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = css(reservedColour(palette));
  return element('span', { class: 'area-legend-plain' }, swatch, t('Reserved, free'));
}

function peakOf(area: Area | undefined): number {
  return !area || area.key === OTHER ? -1 : area.peak_bytes;
}
