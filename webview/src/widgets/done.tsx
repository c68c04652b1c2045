// How much of what takes longer is done.

import type { VNode } from 'preact';

/** Its changes aren't announced, and can be asked for. */
export function Done({ text, done }: { readonly text: string; readonly done: number }): VNode {
  const percent = Math.round(done * 100);
  return (
    <span
      role="progressbar"
      class="done-share"
      aria-label={text}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >{`${percent}%`}</span>
  );
}
