// What the pointer does to a flame graph.

import { openMenu } from '../widgets/menu';
import type { FlameGraph } from './graph';
import { listenToPointer } from './input';

export function listenTo(of: FlameGraph): void {
  const { plot, hover, selection } = of;
  listenToPointer(plot, {
    hovered: (box, x, y) => hover.show(box, x, y),
    left: () => hover.hide(),
    clicked: (box, open) => {
      plot.surface.focus({ preventScroll: true });
      // the details may take the place where the tooltip stands
      hover.hide();
      selection.select(plot.facts(box), open ? { beside: false } : null);
    },
    zoom: (box) => of.commands.zoomTo(plot.facts(box)),
    menu: (box, x, y) => {
      hover.hide();
      if (box >= 0) selection.select(plot.facts(box), null);
      selection.withName((name) => {
        const open = (): void => {
          if (plot.selected) selection.fetch(plot.selected.node, { beside: false });
        };
        openMenu(of.commands.menu(name, open), x, y);
      });
    },
  });
}
