import type { HeapFormat } from '../../../extension/shared/protocol.gen';

/** A format of dumps like Java's, whose ids are addresses. */
export const ADDRESSES: HeapFormat = {
  ...{ label: 'HPROF', has_values: true, has_lasting_ids: false, has_static_fields: true },
  ...{ source_kinds: [], classes: ['java.lang.Class'], named_types: ['java.lang.Class', 'Function'] },
  ...{ all_roots: [], common_flags: ['old', 'uncollectible'] },
};

/** A format of dumps like V8's, whose ids are numbers. */
export const NUMBERS: HeapFormat = {
  ...{ ...ADDRESSES, label: 'V8', has_lasting_ids: true, has_static_fields: false },
  ...{ source_kinds: ['object', 'closure'], classes: [], all_roots: ['(synthetic)'] },
};
