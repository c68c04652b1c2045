// What tables are made of.

import type { ComponentChildren, VNode } from 'preact';
import { exactBytes } from '../base/format';

/** The name of a column; a class where its cells have one. */
export interface Column {
  readonly name: string;
  readonly class?: string;
}

/** A column of numbers, whose name stands above their ends. */
export const number = (name: string): Column => ({ name, class: 'number' });

export function TableHead({ columns }: { readonly columns: readonly (Column | string)[] }): VNode {
  return (
    <thead>
      <tr>
        {columns.map((column, i) => {
          const { name, class: kind = '' } = typeof column === 'string' ? { name: column } : column;
          return (
            <th key={i} scope="col" class={kind}>
              {name}
            </th>
          );
        })}
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
