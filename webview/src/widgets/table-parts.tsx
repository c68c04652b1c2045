// What tables are made of.

import type { ComponentChildren, VNode } from 'preact';
import { exactBytes } from '../base/format';

export function TableHead({ names }: { readonly names: readonly string[] }): VNode {
  return (
    <thead>
      <tr>
        {names.map((name, i) => (
          <th key={i} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A size as it is shown, with its bytes as the tooltip. */
export function SizeCell({
  size,
  children,
}: {
  readonly size: number;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <td class="number" title={exactBytes(size)}>
      {children}
    </td>
  );
}
