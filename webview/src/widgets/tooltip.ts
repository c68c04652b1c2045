// What is under the pointer, in VS Code's hover look.

import { count, plural, t } from '../base/l10n';
import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../canvas/colour';
import { element, replace } from './dom';
import { bytes, categoryName, codeClass, nameOf, stateName, time } from '../base/format';
import { shorten } from '../base/text';

export interface TooltipModel {
  /** Null above the stack. */
  readonly band: {
    readonly sizeBytes: number;
    readonly category: string | null;
    readonly colour: Rgb;
    /** Null until the server has answered. */
    readonly details: AllocationSummary | null;
  } | null;
  readonly merged: {
    readonly count: number;
    readonly bytes: number;
    readonly there: AllocationSummary | null;
  } | null;
  /** In a picture by group: what of its area is live at the column's moment. */
  readonly area: {
    readonly name: string;
    readonly detail: string;
    readonly colour: Rgb;
    readonly bytes: number;
    readonly count: number;
  } | null;
  /** What else there is to say of the place, a line each. */
  readonly place: readonly string[];
  readonly column: {
    readonly at: string;
    /** False when the file only has what was live at its end. */
    readonly traced: boolean;
    readonly totalBytes: number;
    readonly live: number;
    readonly passed: number;
  };
}

export class Tooltip {
  readonly root = element('div', { class: 'tooltip', role: 'tooltip', hidden: true });

  show(model: TooltipModel, x: number, y: number, within: { width: number; height: number }): void {
    replace(
      this.root,
      model.band && bandPart(model.band, model.column.traced),
      model.merged && !model.area && mergedPart(model.merged),
      model.area &&
        (model.band
          ? element(
              'div',
              { class: 'muted' },
              t('of {0}: {1}', model.area.name, areaFigures(model.area, model.column.totalBytes)),
            )
          : areaPart(model.area, model.column.totalBytes, model.merged?.there ?? null)),
      ...model.place.map((text) => element('div', { class: 'tooltip-place' }, text)),
      columnPart(model.column, model.band !== null || model.merged !== null || model.place.length > 0),
    );
    this.root.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.root;
    // Beside the pointer, on the side that has room.
    const left = x + 16 + width > within.width ? x - 14 - width : x + 16;
    const top = Math.min(y + 14, within.height - height - 4);
    this.root.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  hide(): void {
    this.root.hidden = true;
  }
}

function bandPart(band: NonNullable<TooltipModel['band']>, traced: boolean): HTMLElement {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = css(band.colour);
  return element(
    'div',
    { class: 'tooltip-band' },
    element(
      'div',
      { class: 'tooltip-head' },
      swatch,
      element('strong', {}, bytes(band.sizeBytes)),
      band.category !== null && element('span', { class: 'badge' }, shorten(categoryName(band.category), 40)),
    ),
    band.details ? nameLine(band.details) : element('div', { class: 'name-line muted' }, '…'),
    traced && element('div', { class: 'muted' }, band.details ? lifeText(band.details) : '…'),
  );
}

function mergedPart(merged: NonNullable<TooltipModel['merged']>): HTMLElement {
  return element(
    'div',
    { class: 'tooltip-band' },
    element(
      'div',
      { class: 'tooltip-head' },
      element('span', { class: 'swatch merged' }),
      element('strong', {}, plural(merged.count, '{0} allocation', '{0} allocations')),
      element('span', {}, t('about {0}', bytes(merged.bytes))),
    ),
    element(
      'div',
      { class: 'muted' },
      merged.count === 1
        ? t('Under a pixel here: zoom in to see it')
        : t('Each under a pixel here: zoom in to see them'),
    ),
    merged.there &&
      element(
        'div',
        { class: 'tooltip-there' },
        element('span', { class: 'muted' }, t('Here: ')),
        `${bytes(merged.there.size_bytes)} `,
        nameLine(merged.there),
      ),
  );
}

function areaPart(
  area: NonNullable<TooltipModel['area']>,
  totalBytes: number,
  there: AllocationSummary | null,
): HTMLElement {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = css(area.colour);
  return element(
    'div',
    { class: 'tooltip-band tooltip-area' },
    element(
      'div',
      { class: 'tooltip-head' },
      swatch,
      element('strong', {}, element('bdi', {}, shorten(area.name, 60))),
    ),
    area.detail !== '' && element('div', { class: 'muted' }, element('bdi', {}, shorten(area.detail, 60))),
    element('div', {}, areaFigures(area, totalBytes)),
    there &&
      element(
        'div',
        { class: 'tooltip-there' },
        element('span', { class: 'muted' }, t('Here: ')),
        `${bytes(there.size_bytes)} `,
        nameLine(there),
      ),
  );
}

function areaFigures(area: NonNullable<TooltipModel['area']>, totalBytes: number): string {
  const share = totalBytes > 0 ? ` (${Math.round((100 * area.bytes) / totalBytes)}%)` : '';
  return plural(
    area.count,
    '{1} in {0} allocation',
    '{1} in {0} allocations',
    `${bytes(area.bytes)}${share}`,
  );
}

function columnPart(column: TooltipModel['column'], ruled: boolean): HTMLElement {
  return element(
    'div',
    { class: ruled ? 'tooltip-column ruled' : 'tooltip-column' },
    element(
      'div',
      {},
      plural(
        column.live,
        '{1} live in {0} allocation',
        '{1} live in {0} allocations',
        bytes(column.totalBytes),
      ),
    ),
    element('div', { class: 'muted' }, column.traced ? t('at {0}', column.at) : column.at),
    column.passed > 0 &&
      element('div', { class: 'muted' }, t('{0} more came and went within this pixel', count(column.passed))),
  );
}

/** The function in code type and its file and line. */
function nameLine(allocation: AllocationSummary): HTMLElement {
  const { title, place } = nameOf(allocation);
  return element(
    'span',
    { class: 'name-line' },
    element('bdi', { class: codeClass(allocation) }, shorten(title, 60)),
    place !== null && element('bdi', { class: 'place' }, shorten(place, 48)),
  );
}

function lifeText(allocation: AllocationSummary): string {
  const parts: string[] = [];
  if (allocation.lifetime_us !== null) parts.push(t('lived {0}', time(allocation.lifetime_us)));
  else if (allocation.end_moment !== null && !allocation.before_trace) {
    const events = allocation.end_moment - allocation.start_moment;
    parts.push(plural(events, 'lived for {0} event', 'lived for {0} events'));
  }
  // of what has no name that is the title already
  if (allocation.before_trace && codeClass(allocation) !== 'muted')
    parts.push(t('allocated before recording'));
  if (allocation.state !== 'freed') parts.push(stateName(allocation.state));
  return parts.join(' · ') || stateName(allocation.state);
}
