// The legends of the timeline: its areas with their figures at one moment, and the names of categories.

import { computed, type ReadonlySignal } from '@preact/signals';
import { using } from '../base/follow';
import type { AreaLegend } from './area-legend';
import type { Hover } from './hover';
import { legendMoment } from './legend-moment';
import type { TimelineSession } from './session';
import type { LegendProps } from '../widgets/legend';

/** Shows the areas of the picture that is shown, and which of them is highlighted. */
export function followAreas(legend: AreaLegend, session: TimelineSession): void {
  session.whileShown(
    using(
      () => ({
        isShown: session.picture.value === 'stacked',
        geometry: session.plot.drawn.value,
        palette: session.palette,
        highlighted: session.highlight,
      }),
      ({ isShown, geometry, palette, highlighted }) => {
        if (isShown) legend.show(geometry, palette, highlighted.kind === 'area' ? highlighted.key : null);
        else legend.hide();
      },
    ),
  );
}

/** The areas' figures are of the moment under the pointer, else of the cursor's, else of the highest in view. */
export function showFigures(legend: AreaLegend, hover: Hover, session: TimelineSession): void {
  const { plot, device, axis, cursors } = session;
  const g = session.plot.drawn.value;
  if (!g?.grouped) return;
  const shown = legendMoment(plot, g, device, axis, { hovered: hover.pointedAt, picked: cursors.first });
  if (shown) legend.showFigures(g, shown);
}

/** The categories' names beside their colours; null where those are of something else. */
export function categoriesOf(session: TimelineSession): ReadonlySignal<LegendProps | null> {
  const { areas, colours, selection } = session;
  return computed(() => {
    void selection.shown.value; // the category changes with it
    if (!areas.isByCategory) return null;
    return {
      names: colours.categories,
      colours: colours.palette.categories,
      highlighted: selection.category,
      press: (category) => selection.highlightCategory(category),
    };
  });
}
