// The pane of sizes, whose code is loaded when it is shown.

import { t } from '../base/l10n';
import type { PaneOf } from '../shell/pane';

export const sizesPane: PaneOf = {
  id: 'sizes',
  title: t('Sizes'),
  palette: 'Show Sizes of Allocations',
  usesSet: true,
  offered: ({ info }) => info.model === 'timeline' || (info.model === 'profile' && info.has_sizes),
  make: async (context) => (await import('./sizes')).sizesPane(context),
};
