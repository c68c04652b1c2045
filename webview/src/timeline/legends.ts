// The legends of the timeline: its areas with their figures at one moment, and the names of categories.

import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import type { Axis } from '../base/devices';
import type { Grouping } from './grouping';
import { legendMoment } from './legend-moment';
import type { Parts } from './parts';
import type { Colours } from './scene/colours';

interface LegendOwner {
  readonly device: DeviceInfo;
  readonly axis: Axis;
  readonly colours: Colours;
  readonly grouping: Grouping;
  readonly arrangement: { readonly shown: unknown };
  /** What the legend shows as lit up is another. */
  rearranged(): void;
}

export class Legends {
  constructor(
    private readonly parts: Pick<Parts, 'plot' | 'hover' | 'legend' | 'cursors' | 'selection' | 'categories'>,
    private readonly owner: LegendOwner,
  ) {}

  /** The areas' figures are of the moment under the pointer, else of the cursor's, else of the highest in view. */
  showFigures(): void {
    const { plot, hover, legend, cursors } = this.parts;
    const { device, axis } = this.owner;
    const g = plot.geometry;
    if (!g?.grouped) return;
    const shown = legendMoment(plot, g, device, axis, { hovered: hover.column, picked: cursors.first });
    if (shown) legend.showFigures(g, shown);
  }

  showAreas(): void {
    const { plot, legend } = this.parts;
    const { colours, arrangement } = this.owner;
    const lit = plot.highlighted;
    legend.show(plot.geometry, colours.palette, lit.kind === 'area' ? lit.key : null);
    if (arrangement.shown) legend.hide();
    this.showFigures();
  }

  showCategories(): void {
    const { categories, selection } = this.parts;
    const { colours, grouping } = this.owner;
    categories.value = grouping.isByCategory
      ? {
          ...{ names: colours.categories, colours: colours.palette.categories, lit: selection.category },
          press: (category) => {
            selection.lightCategory(category);
            this.owner.rearranged();
          },
        }
      : null;
  }
}
