// What every model's menu offers to take along.

import type { ViewCommand } from '../../../extension/shared/messages';
import type { Api } from '../api';
import type { MenuEntry, MenuItem } from '../widgets/menu';

/** `picture` is what the view's picture is called; null without one. */
export function shareEntries(
  api: Pick<Api, 'command' | 'post'>,
  summary: () => string,
  picture: string | null,
): readonly MenuEntry[] {
  const item = (text: string, command: ViewCommand): MenuItem => ({
    ...{ text, key: '' },
    run: () => {
      api.command(command);
    },
  });
  return [
    null,
    {
      ...{ text: 'Copy Summary', key: '' },
      run: () => {
        api.post({ type: 'copy', text: summary() });
      },
    },
    item('Copy Report as Markdown', 'copyReport'),
    item('Copy Link', 'copyLink'),
    null,
    ...(picture === null
      ? []
      : [item(`Export ${picture} as SVG…`, 'exportSvg'), item(`Export ${picture} as PNG…`, 'exportPng')]),
    item('Export Report…', 'exportReport'),
  ];
}
