// What the pointer does to a flame graph.

import { openMenu } from '../widgets/menu';
import type { FlameGraph } from './graph';
import { listenToPointer } from './input';

export function listenTo({ plot, hover, selection, commands }: FlameGraph): void {
  listenToPointer(plot, hover, {
    click: (box, open) => selection.select(plot.facts(box), open ? { beside: false } : null),
    zoom: (facts) => commands.zoomTo(facts),
    menu: (box, x, y) => {
      if (box >= 0) selection.select(plot.facts(box), null);
      selection.withName((name) => {
        const open = (): void => {
          if (plot.selected) selection.fetch(plot.selected.node, { beside: false });
        };
        openMenu(commands.menu(name, open), x, y);
      });
    },
  });
}
