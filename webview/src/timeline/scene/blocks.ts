/* oxlint-disable typescript/no-non-null-assertion -- indices are below a length that decodeBlocks checked */
// The blocks of an allocator state as they come, and where they lie on a bar.

import { bytesOf } from '../../base/base64';
import type { AllocatorStateAnswer, SegmentState } from '../../../../extension/shared/protocol.gen';

/** No allocation. */
export const NONE = 0xffffffff;
/** Added to the state of one that the filter leaves out. */
const LEFT_OUT = 4;

export interface Blocks {
  readonly count: number;
  /** Bytes from the start of the segment. */
  readonly offset: Float64Array;
  readonly size: Float64Array;
  readonly requested: Float64Array;
  readonly allocation: Uint32Array;
  readonly stack: Uint32Array;
  readonly state: Uint8Array;
  /** Which of the answer's areas it is in. */
  readonly area: Uint8Array;
}

/** Decodes an answer's blocks. Throws when they are not as many as it says. */
export function decodeBlocks(answer: Pick<AllocatorStateAnswer, 'blocks' | 'block_count'>): Blocks {
  const count = answer.block_count;
  const buffer = bytesOf(answer.blocks);
  if (buffer.byteLength !== 34 * count) throw new Error('The blocks of the allocator’s state are not whole.');
  const data = new Uint8Array(buffer);
  return {
    count,
    offset: new Float64Array(buffer, 0, count),
    size: new Float64Array(buffer, 8 * count, count),
    requested: new Float64Array(buffer, 16 * count, count),
    allocation: new Uint32Array(buffer, 24 * count, count),
    stack: new Uint32Array(buffer, 28 * count, count),
    state: data.subarray(32 * count, 33 * count),
    area: data.subarray(33 * count),
  };
}

export function stateOf(blocks: Blocks, block: number): number {
  return blocks.state[block]! % LEFT_OUT;
}

export function isLeftOut(blocks: Blocks, block: number): boolean {
  return blocks.state[block]! >= LEFT_OUT;
}

/** A segment's block that holds a share (0 to 1) of its length; null beside it. */
export function blockAt(blocks: Blocks, segment: SegmentState, share: number): number | null {
  const at = share * segment.size_bytes;
  const first = segment.first_block;
  for (let block = first; block < first + segment.block_count; block++) {
    const from = blocks.offset[block]!;
    if (at >= from && at < from + blocks.size[block]!) return block;
  }
  return null;
}

/**
 * The active block of a segment nearest to a share of its length, for blocks too thin to be hit; null when none is
 * within `slack` (a share).
 */
export function activeNear(
  blocks: Blocks,
  segment: SegmentState,
  share: number,
  slack: number,
): number | null {
  const at = share * segment.size_bytes;
  const first = segment.first_block;
  let best: number | null = null;
  let least = slack * segment.size_bytes;
  for (let block = first; block < first + segment.block_count; block++) {
    if (stateOf(blocks, block) === 0) continue;
    const from = blocks.offset[block]!;
    const away = Math.max(from - at, at - from - blocks.size[block]!, 0);
    if (away <= least) {
      least = away;
      best = block;
    }
  }
  return best;
}

/** The next active block of a segment from one on, to the right or the left; null at the end. */
export function nextActive(
  blocks: Blocks,
  segment: SegmentState,
  from: number | null,
  by: 1 | -1,
): number | null {
  const first = segment.first_block;
  const last = first + segment.block_count - 1;
  let block = from === null ? (by > 0 ? first : last) : from + by;
  for (; block >= first && block <= last; block += by) if (stateOf(blocks, block) > 0) return block;
  return null;
}
