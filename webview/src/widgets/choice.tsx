// One of a few: states side by side, or a list that drops down; and a button that is pressed or not.

import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { visible } from '../base/text';

export interface ChoiceOption<T extends string> {
  readonly value: T;
  readonly text: string;
  readonly title?: string;
  readonly disabled?: boolean;
}

export interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly ChoiceOption<T>[];
  /** Null where none of them holds. */
  readonly value: T | null;
  /** Called when another one is chosen. */
  readonly change: (value: T) => void;
}

/** A few states side by side, one of which holds. */
export function Choices<T extends string>({ label, options, value, change }: ChoiceProps<T>): VNode {
  return (
    <div class="choice" role="group" title={label} aria-label={label}>
      {options.map((each) => (
        <button
          key={each.value}
          type="button"
          title={visible(each.title ?? '')}
          disabled={each.disabled ?? false}
          aria-pressed={each.value === value}
          onClick={() => {
            if (each.value !== value) change(each.value);
          }}
        >
          {visible(each.text)}
        </button>
      ))}
    </div>
  );
}

interface DropdownProps<T extends string> extends ChoiceProps<T> {
  /** The key that chooses the next one; empty for none. */
  readonly shortcut?: string;
}

/** A list that drops down. */
export function Dropdown<T extends string>({
  label,
  shortcut = '',
  options,
  value,
  change,
}: DropdownProps<T>): VNode {
  const root = useRef<HTMLSelectElement>(null);
  useLayoutEffect(() => {
    // an owner that refuses a change draws the same again
    if (root.current && value !== null) root.current.value = value;
  });
  return (
    <select
      ref={root}
      class="dropdown"
      title={shortcut === '' ? label : `${label} (${shortcut})`}
      aria-label={label}
      {...(shortcut === '' ? {} : { 'aria-keyshortcuts': shortcut })}
      value={value ?? ''}
      onChange={({ currentTarget }) => {
        const chosen = options.find((each) => each.value === currentTarget.value);
        if (chosen) change(chosen.value);
      }}
    >
      {options.map((each) => (
        <option
          key={each.value}
          value={each.value}
          title={visible(each.title ?? '')}
          disabled={each.disabled ?? false}
        >
          {visible(each.text)}
        </option>
      ))}
    </select>
  );
}

interface ToggleProps {
  readonly text: string;
  readonly title: string;
  readonly on: boolean;
  readonly change: (on: boolean) => void;
}

export function Toggle({ text, title, on, change }: ToggleProps): VNode {
  return (
    <button type="button" class="toggle" title={title} aria-pressed={on} onClick={() => change(!on)}>
      {text}
    </button>
  );
}
