// A pane as the panel draws it.

import { mounted } from './dom';
import type { Pane } from '../../../webview/src/shell/pane';

/** Draws a pane, and after it its row of controls. */
export function mountedPane({ id, title, View, Bar }: Pane): HTMLElement {
  return mounted(
    <>
      <View id={`pane-${id}`} role="tabpanel" aria-label={title} hidden={false} />
      {Bar && <Bar hidden={false} />}
    </>,
  );
}
