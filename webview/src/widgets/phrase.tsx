// A sentence that has elements in it.

import type { ComponentChildren, VNode } from 'preact';

/** A text of `t` that was given no values: its `{0}`, `{1}`, … are the parts. */
export function Phrase({
  text,
  parts,
}: {
  readonly text: string;
  readonly parts: readonly ComponentChildren[];
}): VNode {
  return <>{text.split(/\{(\d+)\}/).map((piece, i) => (i % 2 === 0 ? piece : parts[Number(piece)]))}</>;
}
