// The list of keys of a trace's view, and what the mouse does.

import { t } from '../base/l10n';
import { FLAME_KEYS, flamePart } from '../flame/keys';
import { HISTORY, type Part } from '../shell/help';
import { KeyTable, type ListedKeys } from '../shell/key-table';
import { KEY_PARTS } from './commands';

const MOUSE: readonly ListedKeys[] = [
  [[t('Wheel')], t('Zoom about the cursor; with Shift the height, with Ctrl or Cmd both')],
  [[t('Drag')], t('Move; with Alt, zoom to a box')],
  [
    [t('Click')],
    t('Select: show its stack, highlight every allocation of that stack, and move the cursor there'),
  ],
  [[t('Shift click or drag')], t('Second cursor: what was allocated, freed or live in between')],
  [[t('Double-click')], t('Zoom to an allocation')],
  [[t('Ctrl or Cmd click')], t('Open the line that allocated it')],
  HISTORY,
];

export function timelineKeys(): readonly Part[] {
  return [
    ...KEY_PARTS.map(([title, rows]): Part => [title, new KeyTable(rows).listed]),
    flamePart(FLAME_KEYS),
    [t('Mouse and history'), MOUSE],
  ];
}
