// What is under the pointer, in VS Code's hover look.

import { count, plural, t } from '../base/l10n';
import type { VNode } from 'preact';
import type { AllocationSummary } from '../../../extension/shared/protocol.gen';
import { css, type Rgb } from '../canvas/colour';
import { bytes, categoryName, codeClass, nameOf, stateName, time } from '../base/format';
import { shorten, visible } from '../base/text';

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

/** What is under the pointer in a picture of allocations. */
export function TooltipCard({ band, merged, area, place, column }: TooltipModel): VNode {
  return (
    <>
      {band && <Band band={band} traced={column.traced} />}
      {merged && !area && <Merged merged={merged} />}
      {area &&
        (band ? (
          <div class="muted">
            {visible(t('of {0}: {1}', area.name, areaFigures(area, column.totalBytes)))}
          </div>
        ) : (
          <AreaPart area={area} totalBytes={column.totalBytes} there={merged?.there ?? null} />
        ))}
      {place.map((text, i) => (
        <div key={i} class="tooltip-place">
          {visible(text)}
        </div>
      ))}
      <Column column={column} ruled={band !== null || merged !== null || place.length > 0} />
    </>
  );
}

function Swatch({ colour }: { readonly colour: Rgb }): VNode {
  return <span class="swatch" style={{ background: css(colour) }} />;
}

function Band({
  band: { sizeBytes, category, colour, details },
  traced,
}: {
  readonly band: NonNullable<TooltipModel['band']>;
  readonly traced: boolean;
}): VNode {
  return (
    <div class="tooltip-band">
      <div class="tooltip-head">
        <Swatch colour={colour} />
        <strong>{bytes(sizeBytes)}</strong>
        {category !== null && <span class="badge">{shorten(categoryName(category), 40)}</span>}
      </div>
      {details ? <NameLine of={details} /> : <div class="name-line muted">…</div>}
      {traced && <div class="muted">{details ? lifeText(details) : '…'}</div>}
    </div>
  );
}

function Merged({ merged }: { readonly merged: NonNullable<TooltipModel['merged']> }): VNode {
  return (
    <div class="tooltip-band">
      <div class="tooltip-head">
        <span class="swatch merged" />
        <strong>{plural(merged.count, '{0} allocation', '{0} allocations')}</strong>
        <span>{t('about {0}', bytes(merged.bytes))}</span>
      </div>
      <div class="muted">
        {merged.count === 1
          ? t('Smaller than a pixel here: zoom in to see it')
          : t('Each smaller than a pixel here: zoom in to see them')}
      </div>
      {merged.there && <There of={merged.there} />}
    </div>
  );
}

/** Which of those that are merged lies under the pointer. */
function There({ of }: { readonly of: AllocationSummary }): VNode {
  return (
    <div class="tooltip-there">
      <span class="muted">{t('Here:')} </span>
      {bytes(of.size_bytes)} <NameLine of={of} />
    </div>
  );
}

function AreaPart({
  area,
  totalBytes,
  there,
}: {
  readonly area: NonNullable<TooltipModel['area']>;
  readonly totalBytes: number;
  readonly there: AllocationSummary | null;
}): VNode {
  return (
    <div class="tooltip-band tooltip-area">
      <div class="tooltip-head">
        <Swatch colour={area.colour} />
        <strong>
          <bdi>{shorten(area.name, 60)}</bdi>
        </strong>
      </div>
      {area.detail !== '' && (
        <div class="muted">
          <bdi>{shorten(area.detail, 60)}</bdi>
        </div>
      )}
      <div>{areaFigures(area, totalBytes)}</div>
      {there && <There of={there} />}
    </div>
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

function Column({
  column,
  ruled,
}: {
  readonly column: TooltipModel['column'];
  readonly ruled: boolean;
}): VNode {
  return (
    <div class={ruled ? 'tooltip-column ruled' : 'tooltip-column'}>
      <div>
        {plural(
          column.live,
          '{1} live in {0} allocation',
          '{1} live in {0} allocations',
          bytes(column.totalBytes),
        )}
      </div>
      <div class="muted">{column.traced ? t('at {0}', column.at) : column.at}</div>
      {column.passed > 0 && (
        <div class="muted">{t('{0} more came and went within this pixel', count(column.passed))}</div>
      )}
    </div>
  );
}

/** The function in code type and its file and line. */
function NameLine({ of }: { readonly of: AllocationSummary }): VNode {
  const { title, place } = nameOf(of);
  return (
    <span class="name-line">
      <bdi class={codeClass(of)}>{shorten(title, 60)}</bdi>
      {place !== null && <bdi class="place">{shorten(place, 48)}</bdi>}
    </span>
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
