// What reserved memory is made of, in figures: at a moment, under the pointer, and what the colours are.

import type { VNode } from 'preact';
import type { GapAnswer } from '../../../../extension/shared/protocol.gen';
import { bytes, exactBytes } from '../../base/format';
import { t } from '../../base/l10n';
import { css } from '../../canvas/colour';
import { theme } from '../../canvas/theme';
import { gapParts } from '../gap';
import { shownKinds, type ReservedColumns } from './reserved-data';
import { coloursOf, NAMES } from './reserved-draw';

interface LegendProps {
  readonly filter: string;
  readonly known: boolean;
}

export function Legend({ filter, known }: LegendProps): VNode {
  const colours = coloursOf(theme.value);
  return (
    <div class="reserved-legend">
      {shownKinds(filter, known).map((kind) => (
        <span key={kind}>
          <span class="swatch" style={{ background: css(colours[kind]) }} />
          {NAMES[kind]}
        </span>
      ))}
      {!known && (
        <span class="muted">
          {t('The file has no segments, so what was reserved isn’t known: only blocks are.')}
        </span>
      )}
    </div>
  );
}

export interface FactsProps {
  readonly answer: GapAnswer;
  /** What moment it is. */
  readonly when: string;
  /** The most that was ever reserved, in words. */
  readonly most: string | null;
  /** Whether the file says what was reserved. */
  readonly known: boolean;
}

export function Facts({ answer: { gap, fitting_bytes: fitting }, when, most, known }: FactsProps): VNode {
  return (
    <>
      <table>
        <caption>{when}</caption>
        <tbody>
          <Fact
            name={t('Reserved')}
            size={known ? gap.reserved_bytes : null}
            why={known ? t('what the allocator held') : t('not in the file, which has no segments')}
          />
          {gapParts(gap).map((part) => (
            <Fact key={part.name} name={part.name} size={part.bytes} why={part.why} part />
          ))}
          {fitting !== null && (
            <Fact name={t('Matches the filter')} size={fitting} why={t('a part of what was requested')} />
          )}
          <Fact name={t('Allocated')} size={gap.allocated_bytes} why={t('requested and rounding')} />
          <Fact name={t('Active')} size={gap.active_bytes} why={t('allocated and pending frees')} />
          {known && gap.outside_bytes > 0 && (
            <Fact
              name={t('In no known segment')}
              size={gap.outside_bytes}
              why={t('the file doesn’t say which segments')}
              part
            />
          )}
        </tbody>
      </table>
      {most !== null && <p class="muted">{most}</p>}
    </>
  );
}

interface FactProps {
  readonly name: string;
  /** Null where it isn't known. */
  readonly size: number | null;
  readonly why: string;
  /** A part of what is reserved. */
  readonly part?: boolean;
}

function Fact({ name, size, why, part }: FactProps): VNode {
  return (
    <tr class={part ? 'part' : 'total'}>
      <th scope="row" title={why}>
        {name}
        <span class="muted reserved-why">{why}</span>
      </th>
      <td class="number" title={size === null ? t('Unknown') : exactBytes(size)}>
        {size === null ? '–' : bytes(size)}
      </td>
    </tr>
  );
}

interface CardProps {
  readonly answer: GapAnswer;
  /** The moment's name. */
  readonly at: string;
  readonly data: ReservedColumns;
  readonly column: number;
}

/** What is under the pointer. */
export function Card({ answer: { gap, fitting_bytes: fitting }, at, data, column }: CardProps): VNode {
  const [reserved] = data.kinds;
  const [low, high] = [reserved?.lowest[column] ?? 0, reserved?.highest[column] ?? 0];
  return (
    <>
      <div class="tooltip-head">
        <strong>{bytes(gap.reserved_bytes)}</strong>
        {data.known ? t('reserved') : t('active')}
      </div>
      {gapParts(gap).map((part) => (
        <div key={part.name} class="reserved-part">
          <span>{bytes(part.bytes)}</span>
          <span>
            {part.name}: <span class="muted">{part.why}</span>
          </span>
        </div>
      ))}
      {fitting !== null && (
        <div class="reserved-part">
          <span>{bytes(fitting)}</span>
          <span>{t('of it matches the filter')}</span>
        </div>
      )}
      <div class="muted">{t('at {0}', at)}</div>
      {low !== high && (
        <div class="muted">
          {data.known
            ? t('within this pixel {0} to {1} reserved', bytes(low), bytes(high))
            : t('within this pixel {0} to {1} active', bytes(low), bytes(high))}
        </div>
      )}
    </>
  );
}
