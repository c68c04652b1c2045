// What every model's menu offers to take along.

import type { ViewCommand } from '../../../extension/shared/commands';
import type { Api } from '../api';
import { t } from '../base/l10n';
import type { MenuEntry, MenuItem } from '../widgets/menu';

/** `picture` is what the view's picture is called, null without one; `pictures` are further ones. */
export function shareEntries(
  api: Pick<Api, 'command' | 'post'>,
  summary: () => string,
  picture: string | null,
  pictures: readonly MenuItem[] = [],
): readonly MenuEntry[] {
  const item = (text: string, command: ViewCommand): MenuItem => ({ text, run: () => api.command(command) });
  return [
    null,
    { text: t('Copy Summary'), run: () => api.post({ type: 'copy', text: summary() }) },
    item(t('Copy Report as Markdown'), 'copyReport'),
    item(t('Copy Link'), 'copyLink'),
    null,
    ...(picture === null
      ? []
      : [
          item(t('Export {0} as SVG…', picture), 'exportSvg'),
          item(t('Export {0} as PNG…', picture), 'exportPng'),
        ]),
    ...pictures,
    item(t('Export Report…'), 'exportReport'),
  ];
}
