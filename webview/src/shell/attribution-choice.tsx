// The switch between the rules by which stacks are charged to lines and functions, as a setting.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import type { KeptAttribution } from './attribution';
import { SettingChoice } from './settings';

export function AttributionChoice({ kept }: { readonly kept: KeptAttribution }): VNode {
  return (
    <SettingChoice
      label={t('Charged to')}
      options={kept.options}
      value={kept.value}
      change={(value) => kept.set(value)}
    />
  );
}
