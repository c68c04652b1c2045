// Memory outside of the heap, in dumps that know of any.

import type { GraphInfo } from '../../../extension/shared/protocol.gen';

/** What it is at least of all memory for columns of it to stand in tables; details have it anyway. */
const LEAST_SHARE = 0.05;

/** Whether tables have columns of it: where it is more than a trifle. */
export function showsNative({
  native_bytes: native,
  shallow_bytes: heap,
}: Pick<GraphInfo, 'native_bytes' | 'shallow_bytes'>): boolean {
  return native > 0 && native >= LEAST_SHARE * (native + heap);
}
