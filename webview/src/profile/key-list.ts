// The list of keys of a profile's view.

import { t } from '../base/l10n';
import { FLAME_KEYS, flamePart } from '../flame/keys';
import { HISTORY, type Part } from '../shell/help';
import { KEYS } from '../shell/keys';

export function profileKeys(): readonly Part[] {
  return [[t('View'), [...KEYS.profile.listed(), HISTORY]], flamePart(FLAME_KEYS)];
}
