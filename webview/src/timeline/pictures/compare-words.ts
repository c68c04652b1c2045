// What two runs hold at the cursor, in words.

import { bytes } from '../../base/format';
import { t } from '../../base/l10n';
import { signed } from '../../compare/comparison';

/** "At the cursor: 652 MiB before, 894 MiB after, ▲ +242 MiB". */
export function heightsText(before: number | null, after: number | null): string {
  if (before !== null && after !== null)
    return t(
      'At the cursor: {0} before, {1} after, {2}',
      bytes(before),
      bytes(after),
      signed(after - before),
    );
  if (before !== null) return t('At the cursor: {0} before, after: not running', bytes(before));
  if (after !== null) return t('At the cursor: before: not running, {0} after', bytes(after));
  return t('At the cursor: neither is running');
}
