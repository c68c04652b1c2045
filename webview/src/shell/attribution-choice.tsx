// The switch between the rules by which stacks are charged to lines and functions.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { Choices } from '../widgets/choice';
import type { KeptAttribution } from './attribution';

export function AttributionChoice({ kept }: { readonly kept: KeptAttribution }): VNode {
  return (
    <Choices
      label={t('Charged to')}
      options={kept.options}
      value={kept.value}
      change={(value) => {
        kept.set(value);
      }}
    />
  );
}
