// The pane of a comparison, whose code is loaded when it is shown.

import { t } from '../base/l10n';
import type { PaneOf } from '../shell/pane';
import type { CompareContext } from './comparison';

export const comparePane: PaneOf<CompareContext> = {
  id: 'compare',
  of: ['timeline', 'profile'],
  place: 70,
  inMenu: true,
  title: t('Compare'),
  palette: 'Show Comparison',
  usesSet: true,
  make: async (context) => (await import('./pane')).comparePane(context),
};
