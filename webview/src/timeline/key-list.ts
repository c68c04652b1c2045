// The list of keys of a trace's view, and what the mouse does.

import { t } from '../base/l10n';
import { FLAME_KEYS, flamePart } from '../flame/keys';
import { HISTORY, type Part } from '../shell/help';
import { KeyTable, type ListedKeys } from '../shell/key-table';
import type { KeyGroup } from '../shell/command';
import { TIMELINE_COMMANDS } from './commands';

const KEYS = new KeyTable(TIMELINE_COMMANDS);

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

const GROUPS: readonly (readonly [group: KeyGroup, title: string])[] = [
  ['look', t('Move and zoom')],
  ['allocations', t('Allocations')],
  ['cursors', t('Cursors')],
  ['view', t('View')],
];

export function timelineKeys(): readonly Part[] {
  return [
    ...GROUPS.map(([group, title]): Part => [title, KEYS.listed((row) => row.group === group)]),
    flamePart(FLAME_KEYS),
    [t('Mouse and history'), MOUSE],
  ];
}
