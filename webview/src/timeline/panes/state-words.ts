// An allocator's state, its segments and blocks in words.

import type { SegmentState, AllocatorStateAnswer } from '../../../../extension/shared/protocol.gen';
import { bytes, exactBytes, time } from '../../base/format';
import { t, count, plural } from '../../base/l10n';
import { stateOf, type Blocks } from '../scene/blocks';

export function poolName(type: SegmentState['pool_type']): string {
  switch (type) {
    case 'large':
      return t('large');
    case 'small':
      return t('small');
    case 'unknown':
      return t('unknown');
  }
}

export function since(segment: SegmentState): string {
  if (!segment.known) return t('Live allocations outside of all segments in the file');
  return segment.reserved_at_moment === null
    ? t('Reserved before the trace')
    : t('Reserved by event {0}', count(segment.reserved_at_moment));
}

export function blockWords(segment: SegmentState, blocks: Blocks, block: number): string {
  const size = blocks.size[block] ?? 0;
  const asked = blocks.requested[block] ?? 0;
  const state = stateOf(blocks, block);
  const address = `0x${(BigInt(segment.address) + BigInt(blocks.offset[block] ?? 0)).toString(16)}`;
  if (state === 0) return t('{0}: {1} free', address, bytes(size));
  const lost =
    size > asked
      ? t('{0} in a block of {1} ({2} rounding)', bytes(asked), bytes(size), exactBytes(size - asked))
      : bytes(asked);
  return state === 1
    ? t('{0}: {1}, allocated', address, lost)
    : t('{0}: {1}, waiting for its free to complete', address, lost);
}

export function eventWords({ moment, time_us: at, event }: AllocatorStateAnswer): string {
  if (!event) return t('Before the first event');
  const { action, address, stream } = event;
  const size = bytes(event.size_bytes);
  return at === null
    ? t('After event {0}: {1} {2}, {3} on stream {4}', count(moment), action, address, size, stream)
    : t(
        'After event {0} at {1}: {2} {3}, {4} on stream {5}',
        ...[count(moment), time(at), action, address, size, stream],
      );
}

export function figureWords(answer: AllocatorStateAnswer): string {
  const pending = answer.active_bytes - answer.allocated_bytes;
  const rounding = answer.allocated_bytes - answer.requested_bytes;
  const free = answer.reserved_bytes - answer.active_bytes;
  const outside = answer.outside_bytes;
  if (answer.reserved_bytes === 0 && outside > 0)
    return t('The file names no segments: {0} are live, shown by address.', bytes(outside));
  const words = [
    plural(
      answer.segment_count,
      '{1} reserved in {0} segment',
      '{1} reserved in {0} segments',
      bytes(answer.reserved_bytes),
    ),
    t(
      '{0} allocated ({1} requested, {2} rounding)',
      ...[bytes(answer.allocated_bytes), bytes(answer.requested_bytes), bytes(rounding)],
    ),
    pending > 0 && t('{0} waiting for frees to complete', bytes(pending)),
    t(
      '{0} free, {1} of it in segments that are in use',
      ...[bytes(free), bytes(answer.inactive_split_bytes)],
    ),
    outside > 0 && t('{0} live in no segment of the file', bytes(outside)),
  ];
  return words.filter((word) => word !== false).join(' · ');
}
