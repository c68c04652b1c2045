// The list of keys of a heap dump's view.

import { t } from '../base/l10n';
import { BOX_KEYS, flamePart, STACK_KEYS } from '../flame/keys';
import { HISTORY, type Part } from '../shell/help';
import { KeyTable } from '../shell/key-table';
import { GRAPH_COMMANDS } from './commands';

const KEYS = new KeyTable(GRAPH_COMMANDS);

/** With `stacks` it is known where objects were allocated. */
export function graphKeys(stacks: boolean): readonly Part[] {
  return [
    [t('View'), [...KEYS.listed, HISTORY]],
    [t('In the picture'), BOX_KEYS.listed],
    ...(stacks ? [flamePart(STACK_KEYS)] : []),
  ];
}
