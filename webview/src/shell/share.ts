// What every model's menu offers to take with one.

import type { Api } from '../api';
import type { MenuEntry } from './menu';

export function shareEntries(
  api: Pick<Api, 'command' | 'post'>,
  summary: () => string,
): readonly MenuEntry[] {
  return [
    null,
    {
      text: 'Copy Summary',
      key: '',
      run: () => {
        api.post({ type: 'copy', text: summary() });
      },
    },
    {
      text: 'Copy Link',
      key: '',
      run: () => {
        api.command('copyLink');
      },
    },
  ];
}
