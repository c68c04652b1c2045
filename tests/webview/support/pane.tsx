// A pane as the panel draws it.

import { mounted } from './dom';
import type { Pane } from '../../../webview/src/shell/pane';

/** Draws a pane, and after it its row of controls. */
export function mountedPane({ View, Bar }: Pane): HTMLElement {
  return mounted(
    <>
      <View id="pane" role="tabpanel" aria-label="Ω" tabIndex={-1} hidden={false} />
      {Bar && <Bar hidden={false} />}
    </>,
  );
}
