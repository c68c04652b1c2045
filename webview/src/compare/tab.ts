// The tab of the pane of a comparison, whose code is loaded when it is shown.

import { t } from '../base/l10n';
import { always, later } from '../shell/pane';
import type { CompareContext } from './comparison';

export const compareTab = later<CompareContext>('compare', t('Compare'), true, always, async (context) =>
  (await import('./pane')).comparePane(context),
);
