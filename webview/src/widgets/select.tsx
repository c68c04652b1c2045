// One of a few, chosen from a list.

import type { VNode } from 'preact';
import { visible } from '../base/text';

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  pick(value: string): void;
}

export function Select({ label, value, options, pick }: SelectProps): VNode {
  return (
    <select
      class="dropdown"
      title={visible(label)}
      aria-label={visible(label)}
      value={value}
      onChange={({ currentTarget }) => {
        pick(currentTarget.value);
      }}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {visible(option.text)}
        </option>
      ))}
    </select>
  );
}
