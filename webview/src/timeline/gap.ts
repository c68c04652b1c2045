// What reserved memory is made of, in the words and the order that all views of it use.

import type { Gap } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { t } from '../base/l10n';

export interface GapPart {
  readonly name: string;
  readonly bytes: number;
  /** What it is and what could be done about it. */
  readonly why: string;
}

/** The parts that add up to what is reserved; those that are nothing at this moment are left out, but the first. */
export function gapParts(gap: Gap): GapPart[] {
  const parts: GapPart[] = [
    { name: t('Requested'), bytes: gap.requested_bytes, why: t('what was requested, in blocks in use') },
    {
      name: t('Rounding'),
      bytes: gap.rounding_bytes,
      why: t(
        'block size minus requested size; the file has the blocks of what is live at its end, others are inferred from the allocator’s rules and are at least that large',
      ),
    },
    {
      name: t('Pending free'),
      bytes: gap.pending_bytes,
      why: t('freed by the program, waiting for work on another stream'),
    },
    {
      name: t('Inactive in split segments'),
      bytes: gap.inactive_split_bytes,
      why: t('free, but other blocks hold the segment, so it can’t be given back'),
    },
    {
      name: t('Free in expandable segments'),
      bytes: gap.expandable_free_bytes,
      why: t('free; whole pages of it can be given back'),
    },
    {
      name: t('Wholly free segments'),
      bytes: gap.wholly_free_bytes,
      why: t('without any block: torch.cuda.empty_cache() gives back those of no private pool'),
    },
  ];
  return parts.filter((part, i) => i === 0 || part.bytes !== 0);
}

/**
 * The gap in one sentence, for the status line and screen readers. `known` is false where the file has no segments:
 * then what was reserved isn't known, and the blocks in use are all there is to name.
 */
export function gapSentence(gap: Gap, known = true): string {
  const parts = gapParts(gap)
    .map((part) => `${bytes(part.bytes)} ${part.name.toLowerCase()}`)
    .join(', ');
  return known
    ? t('Reserved {0}: {1}.', bytes(gap.reserved_bytes), parts)
    : t('Active {0}: {1}. What was reserved is not in the file.', bytes(gap.active_bytes), parts);
}
