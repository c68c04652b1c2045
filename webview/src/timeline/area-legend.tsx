// The areas of the picture by name, with what they come to at the moment that is looked at.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Geometry } from '../../../extension/shared/geometry';
import type { Area } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { shortName } from '../base/symbols';
import { visible } from '../base/text';
import { css, inkOn } from '../canvas/colour';
import type { LegendMoment } from './legend-moment';
import type { Plot } from './plot';
import { swatchPattern } from './render/area-patterns';
import { areaColours, areaName, OTHER } from './scene/areas';
import { patternOf, reservedColour } from './scene/paint';
import { Bar } from '../widgets/bar';
import type { Palette } from '../canvas/palette';

/** An area as the legend has it. */
interface Chip {
  readonly key: number;
  readonly name: string;
  readonly detail: string;
  /** As CSS has it, with the pattern of high contrast. */
  readonly background: string;
  /** Its place among the areas of the picture. */
  readonly area: number;
}

interface Shown {
  readonly chips: readonly Chip[];
  readonly picked: number | null;
  /** The colour of reserved memory that is free; null where the picture hasn't it. */
  readonly reserved: string | null;
}

/** What the areas come to, by their place in the picture, and when. */
interface Figures {
  readonly words: string;
  readonly bytes: readonly number[];
}

export class AreaLegend {
  private readonly shown = signal<Shown | null>(null);
  private readonly figures = signal<Figures>({ words: '', bytes: [] });
  private areas: readonly Area[] = [];

  constructor(
    private readonly plot: Pick<Plot, 'setHint'>,
    /** An area is picked, or given up if it was. */
    private readonly picked: (key: number | null) => void,
    /** Whether reserved memory is in the picture as well. */
    private readonly withReserved = false,
  ) {}

  readonly View = (): VNode => (
    <Legend
      shown={this.shown}
      figures={this.figures}
      pointed={(key) => this.plot.setHint(key === null ? null : { kind: 'area', key })}
      picked={this.picked}
    />
  );

  hide(): void {
    this.shown.value = null;
  }

  /** Another picture, or other colours; `picked` is the area that is highlighted. */
  show(g: Geometry | null, palette: Palette, picked: number | null): void {
    const grouped = g?.grouped ?? null;
    if (!grouped) {
      this.hide();
      return;
    }
    const { areas, by } = grouped;
    if (areas !== this.areas) this.figures.value = { ...this.figures.value, bytes: [] };
    this.areas = areas;
    const colours = areaColours(grouped, palette);
    const names = areas.map((area) => areaName(area, by.by));
    const chips = areas.map((known, area): Chip => {
      const colour = colours[area] ?? palette.none;
      const pattern = palette.patterns ? swatchPattern(patternOf(area), inkOn(colour)) : 'none';
      // areas of one name, those without a stack for instance, differ in their details
      const [name = '', detail] = [names[area], said(known.detail)];
      const alike = names.filter((each) => each === name).length > 1 && detail !== '';
      return {
        key: known.key,
        name: alike ? `${name} (${detail})` : name,
        detail: alike ? '' : detail,
        area,
        background: pattern === 'none' ? css(colour) : `${pattern} ${css(colour)}`,
      };
    });
    // the largest at the peak first, as in the tables; what has no area of its own last
    chips.sort((a, b) => peakOf(areas[b.area]) - peakOf(areas[a.area]));
    const reserved = this.withReserved ? css(reservedColour(palette)) : null;
    this.shown.value = { chips, picked, reserved };
  }

  /** What the areas come to at a moment. */
  showFigures(g: Geometry | null, { column, words }: LegendMoment): void {
    const grouped = g?.grouped;
    if (grouped?.areas !== this.areas) return;
    const from = column * this.areas.length;
    this.figures.value = { words, bytes: Array.from(grouped.bytes.subarray(from, from + this.areas.length)) };
  }
}

/** Nothing until it is known. */
function sizeText(size: number | undefined): string {
  return size === undefined ? '' : bytes(size);
}

function peakOf(area: Area | undefined): number {
  return !area || area.key === OTHER ? -1 : area.peak_bytes;
}

interface LegendProps {
  readonly shown: ReadonlySignal<Shown | null>;
  readonly figures: ReadonlySignal<Figures>;
  /** An area is pointed at; null for none any more. */
  readonly pointed: (key: number | null) => void;
  readonly picked: (key: number | null) => void;
}

function Legend({
  shown: { value: shown },
  figures: { value: figures },
  pointed,
  picked,
}: LegendProps): VNode {
  const reserved = shown?.reserved ?? null;
  return (
    <div class="area-legend" hidden={!shown} onPointerLeave={() => pointed(null)}>
      <span class="muted area-legend-when">{visible(figures.words)}</span>
      <Bar class="area-legend-chips" label={t('Areas')}>
        {reserved !== null && (
          <span class="area-legend-plain">
            <span class="swatch" style={{ background: reserved }} />
            {t('Reserved, free')}
          </span>
        )}
        {shown?.chips.map((chip) => (
          <button
            key={chip.key}
            type="button"
            title={visible([chip.name, chip.detail].filter((text) => text !== '').join(' · '))}
            aria-pressed={chip.key === shown.picked}
            data-key={chip.key}
            onPointerEnter={() => pointed(chip.key)}
            onClick={() => picked(chip.key === shown.picked ? null : chip.key)}
          >
            <span class="swatch" style={{ background: chip.background }} />
            <bdi>{shortName(chip.name, 40)}</bdi>
            <span class="area-legend-bytes">{sizeText(figures.bytes[chip.area])}</span>
          </button>
        ))}
      </Bar>
    </div>
  );
}
