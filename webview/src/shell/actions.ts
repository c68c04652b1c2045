// What keys, menus and commands do in every view, whatever its model.

import type { Around } from './around';
import type { Dock } from './dock';
import type { Action } from './keys';
import type { Session } from './session';

/** Does what is the same in all views; false for an action of one model alone. */
export function runShared(
  action: Action,
  { session, dock, around }: { readonly session: Session; readonly dock: Dock; readonly around: Around },
): boolean {
  const [, pane, number] = /^pane(?:\.(\w+)|(\d+))$/.exec(action) ?? [];
  if (pane !== undefined || number !== undefined) dock.showPane(pane ?? Number(number) - 1);
  else if (action === 'togglePane') dock.toggle();
  else if (action === 'toggleTall') dock.toggleTall();
  else if (action === 'togglePanel') session.arrange({ panelOpen: !session.layout.value.panelOpen });
  else if (action === 'filter') around.filterBox.focus();
  else if (action === 'help') around.help.toggle();
  else return false;
  return true;
}
