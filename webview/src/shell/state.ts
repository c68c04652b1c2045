// What was kept of a view, as far as it is still of use.

import type { ViewState } from '../../../extension/shared/messages';
import type { Layout, SavedState } from '../base/saved';

const FIRST_LAYOUT: Layout = {
  panelWidth: 340,
  panelOpen: false,
  dockHeight: 300,
  dockTall: false,
};

/** What was kept of a view of a model: by the host, which knows of other windows, else by the page. */
export function keptState<M extends ViewState['model']>(
  model: M,
  byHost: ViewState | null,
  byPage: SavedState | undefined,
): Extract<ViewState, { model: M }> | null {
  const kept = byHost ?? byPage?.view ?? null;
  return isOf(model, kept) ? kept : null;
}

/** Whether a state is one of a model's views: another version may have kept another kind of state. */
export function isOf<M extends ViewState['model']>(
  model: M,
  state: ViewState | null,
): state is Extract<ViewState, { model: M }> {
  return state?.model === model;
}

export function restoreLayout(saved: Layout | undefined): Layout {
  const layout = { ...FIRST_LAYOUT, ...saved };
  return {
    panelWidth: bounded(layout.panelWidth, 220, 900),
    panelOpen: layout.panelOpen,
    dockHeight: bounded(layout.dockHeight, 120, 1200),
    dockTall: layout.dockTall,
  };
}

function bounded(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, least), most) : least;
}
