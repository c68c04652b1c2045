// The list of keys of a profile's view.

import { t } from '../base/l10n';
import { FLAME_KEYS, flamePart } from '../flame/keys';
import { HISTORY, type Part } from '../shell/help';
import { KeyTable } from '../shell/key-table';
import { PROFILE_COMMANDS } from './commands';

const KEYS = new KeyTable(PROFILE_COMMANDS);

export function profileKeys(): readonly Part[] {
  return [[t('View'), [...KEYS.listed, HISTORY]], flamePart(FLAME_KEYS)];
}
