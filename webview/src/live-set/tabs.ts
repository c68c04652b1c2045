// The tabs of the set's panes.

import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { MODELS, never } from '../shell/model';
import { later, type MakePane } from '../shell/pane';
import { liveSetPane } from './pane';

export const liveSetTab: MakePane = (context) => ({
  id: 'liveSet',
  title: MODELS[context.info.model].groups,
  usesSet: true,
  make: () => liveSetPane(context),
});

export const sizesTab: MakePane = later('sizes', t('Sizes'), true, hasSizes, async (context) =>
  (await import('./sizes')).sizesPane(context),
);

function hasSizes(info: SnapshotInfo): boolean {
  switch (info.model) {
    case 'timeline':
      return true;
    case 'profile':
      return info.has_sizes;
    case 'graph':
      return false;
    default:
      return never(info);
  }
}
