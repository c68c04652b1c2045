// What the menu of a timeline's toolbar offers: whatever is not needed always. Most of it has a key as well.

import type { Action } from '../../../extension/shared/commands';
import { t } from '../base/l10n';
import { hasTimes } from '../base/devices';
import type { TimelineSession } from './session';
import type { MenuEntry, MenuItem } from '../widgets/menu';

/** What of a view the menu shows. */
type MenuSession = Pick<TimelineSession, 'device' | 'axis' | 'pane' | 'layout'> & {
  readonly colours: Pick<TimelineSession['colours'], 'by' | 'categories'>;
  readonly areas: Pick<TimelineSession['areas'], 'kind'>;
};

/** `run` does what is chosen, `share` is what can be copied and exported. */
export function timelineMenu(
  session: MenuSession,
  hasBoxTool: boolean,
  run: (action: Action) => void,
  share: readonly MenuEntry[],
): readonly MenuEntry[] {
  const item = (text: string, key: string, action: Action): MenuItem => ({
    text,
    key,
    run: () => run(action),
  });
  const check = (text: string, key: string, action: Action, checked: boolean): MenuItem => ({
    ...item(text, key, action),
    checked,
  });
  /** Pressing the one that holds changes nothing. */
  const radio = (text: string, key: string, action: Action, checked: boolean): MenuItem => ({
    text,
    key,
    checked,
    radio: true,
    run: () => {
      if (!checked) run(action);
    },
  });
  const { device, axis } = session;
  const { by: colour, categories } = session.colours;
  const { kind: areas } = session.areas;
  return [
    item(t('Zoom In'), '+', 'zoomIn'),
    item(t('Zoom Out'), '-', 'zoomOut'),
    check(t('Zoom to a Box'), 'B', 'boxTool', hasBoxTool),
    item(t('Reset Zoom'), '0', 'fit'),
    item(t('Go to the Peak'), 'P', 'peak'),
    ...(device.events > 0 ? [item(t('Add Bookmark…'), 'K', 'addBookmark')] : []),
    ...(hasTimes(device)
      ? [
          null,
          radio(t('Axis: Time'), 'A', 'toggleAxis', axis === 'time'),
          radio(t('Axis: Events'), 'A', 'toggleAxis', axis === 'event'),
        ]
      : []),
    ...(categories.length > 0 && areas === null
      ? [
          null,
          radio(t('Colours: Stack'), 'C', 'toggleColour', colour === 'stack'),
          radio(t('Colours: Category'), 'C', 'toggleColour', colour === 'category'),
        ]
      : []),
    null,
    check(t('Panel'), 'T', 'togglePane', session.pane.value !== null),
    item(t('Maximize Panel'), 'Shift+T', 'toggleTall'),
    check(t('Details'), 'S', 'togglePanel', session.layout.value.panelOpen),
    ...share,
  ];
}
