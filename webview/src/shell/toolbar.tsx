// The one row of controls above the picture: what is always needed; the rest is in its menu.

import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType, VNode } from 'preact';
import type { Api } from '../api';
import { Dropdown, type ChoiceOption } from '../widgets/choice';
import { Icon } from '../widgets/icon';
import { openMenuAt, type MenuEntry } from '../widgets/menu';
import { Bar } from '../widgets/bar';
import { t } from '../base/l10n';
import { visible } from '../base/text';

/** A drop-down list of the toolbar. */
export interface Picker {
  readonly label: string;
  /** The key that chooses the next one; empty for none. */
  readonly key: string;
  readonly value: string;
  readonly options: readonly ChoiceOption<string>[];
  pick(value: string): void;
}

export interface ToolbarProps {
  readonly label: string;
  readonly pickers: ReadonlySignal<readonly Picker[]>;
  readonly Filter: ComponentType;
  /** The name of what it is compared with; null for nothing. */
  readonly comparedWith: ReadonlySignal<string | null>;
  /** Lets the user choose what to compare with. */
  compare(): void;
  /** What can be done while something is compared. */
  compared(): readonly MenuEntry[];
  more(): readonly MenuEntry[];
  /** Null where there is no list of keys. */
  readonly help: (() => void) | null;
}

/** What the button for comparisons does, whatever is compared; `show` shows the comparison. */
export function comparing(
  api: Pick<Api, 'post'>,
  show: () => void,
): Pick<ToolbarProps, 'compare' | 'compared'> {
  const choose = (): void => api.post({ type: 'chooseOther' });
  const stop = (): void => api.post({ type: 'closeOther' });
  return {
    compare: choose,
    compared: () => [
      { text: t('Show Comparison'), run: show },
      { text: t('Compare with Another…'), run: choose },
      { text: t('Stop Comparing'), run: stop },
    ],
  };
}

export function Toolbar(props: ToolbarProps): VNode {
  const other = props.comparedWith.value;
  return (
    <Bar class="toolbar" label={props.label}>
      {props.pickers.value.map((picker) => (
        <Dropdown
          key={picker.label}
          label={picker.label}
          shortcut={picker.key}
          value={picker.value}
          options={picker.options}
          change={(value) => picker.pick(value)}
        />
      ))}
      <div class="filter-slot">
        <props.Filter />
      </div>
      <div class="toolbar-gap" />
      <button
        type="button"
        class={other === null ? 'text-button' : 'text-button on'}
        title={other === null ? t('Compare with another file') : visible(t('Compared with {0}', other))}
        aria-haspopup={other === null ? 'dialog' : 'menu'}
        onClick={({ currentTarget }) => {
          if (other === null) props.compare();
          else openMenuAt(currentTarget, props.compared(), t('Compare'));
        }}
      >
        {t('Compare…')}
      </button>
      <button
        type="button"
        class="icon-button"
        title={t('More')}
        aria-label={t('More')}
        aria-haspopup="menu"
        onClick={({ currentTarget }) => {
          const keys = props.help && { text: t('Keys'), key: '?', run: props.help };
          openMenuAt(currentTarget, [...props.more(), ...(keys ? [null, keys] : [])], t('More'));
        }}
      >
        <Icon name="more" />
      </button>
    </Bar>
  );
}
