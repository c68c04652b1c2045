// What the menu of a timeline's toolbar offers: whatever is not needed always. Most of it has a key as well.

import { AREA_KINDS, type TimelineState } from '../../../extension/shared/messages';
import { t } from '../base/l10n';
import type { Action } from '../shell/keys';
import type { MenuEntry, MenuItem } from '../widgets/menu';

export interface TimelineMenu {
  readonly axis: TimelineState['axis'];
  readonly hasTimes: boolean;
  /** Without a trace there is one moment, which needs no bookmark. */
  readonly hasEvents: boolean;
  readonly colour: TimelineState['colour'];
  /** By what the timeline's areas are; null for single allocations in the order of PyTorch's viewer. */
  readonly areas: TimelineState['areas'];
  readonly hasCategories: boolean;
  readonly boxTool: boolean;
  readonly panel: boolean;
  readonly details: boolean;
  run(action: Action): void;
  /** What can be copied and exported. */
  readonly share: readonly MenuEntry[];
}

export function timelineMenu(state: TimelineMenu): readonly MenuEntry[] {
  const item = (text: string, key: string, action: Action): MenuItem => ({
    ...{ text, key },
    run: () => state.run(action),
  });
  const check = (text: string, key: string, action: Action, checked: boolean): MenuItem => ({
    ...item(text, key, action),
    checked,
  });
  /** Pressing the one that holds changes nothing. */
  const radio = (text: string, key: string, action: Action, checked: boolean): MenuItem => ({
    ...{ text, key, checked, radio: true },
    run: () => {
      if (!checked) state.run(action);
    },
  });
  const { axis, colour, areas } = state;
  return [
    item(t('Zoom In'), '+', 'zoomIn'),
    item(t('Zoom Out'), '-', 'zoomOut'),
    check(t('Zoom to a Box'), 'B', 'boxTool', state.boxTool),
    item(t('Reset Zoom'), '0', 'fit'),
    item(t('Go to the Peak'), 'P', 'peak'),
    ...(state.hasEvents ? [item(t('Add Bookmark…'), 'K', 'addBookmark')] : []),
    ...(state.hasTimes
      ? [
          null,
          radio(t('Axis: Time'), 'A', 'toggleAxis', axis === 'time'),
          radio(t('Axis: Events'), 'A', 'toggleAxis', axis === 'event'),
        ]
      : []),
    null,
    ...AREA_KINDS.filter((kind) => kind !== 'category' || state.hasCategories).map((kind) =>
      radio(groupTitle(kind), 'G', `group.${kind}`, areas === kind),
    ),
    radio(t('PyTorch order'), 'G', 'group.none', areas === null),
    ...(state.hasCategories && areas === null
      ? [
          null,
          radio(t('Colours: Stack'), 'C', 'toggleColour', colour === 'stack'),
          radio(t('Colours: Category'), 'C', 'toggleColour', colour === 'category'),
        ]
      : []),
    null,
    check(t('Panel'), 'T', 'togglePane', state.panel),
    item(t('Maximize Panel'), 'Shift+T', 'toggleTall'),
    check(t('Details'), 'S', 'togglePanel', state.details),
    ...state.share,
  ];
}

function groupTitle(kind: NonNullable<TimelineState['areas']>): string {
  switch (kind) {
    case 'line':
      return t('Group by line');
    case 'function':
      return t('Group by function');
    case 'module':
      return t('Group by module');
    case 'category':
      return t('Group by category');
    case 'file':
      return t('Group by file');
    case 'size':
      return t('Group by size');
  }
}
