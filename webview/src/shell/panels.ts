// Which pane is shown, and whether the panel below and the details at the side are open: of every model's view.

import type { PaneId, ViewCommand } from '../../../extension/shared/messages';
import type { Dock } from './dock';
import type { ViewFrame } from './frame';

interface PanelParts {
  readonly dock: Dock;
  readonly frame: ViewFrame;
}

export class Panels {
  /** The pane to show when the panel is opened again. */
  private lastPane: PaneId | null = null;

  constructor(
    protected readonly parts: PanelParts,
    /** Gives the picture the focus. */
    private readonly leave: () => void,
  ) {}

  /** Gives the parts their room, and notes the pane that is shown as the one to come back to. */
  arrange(): void {
    const { dock, frame } = this.parts;
    this.lastPane = dock.shown ?? this.lastPane;
    frame.apply(dock.shown !== null);
  }

  /** By its name, or by the place of its tab, from 0. The flame graph may be the picture. */
  showPane(which: string | number): void {
    const { dock } = this.parts;
    const pane = dock.panes.find(({ id }) => id === which);
    if (typeof which === 'number') dock.showNth(which);
    else if (pane) dock.show(pane.id);
    else if (which === 'flame') this.leave();
    else dock.show(dock.panes[0]?.id ?? null);
  }

  /** As a state says that was kept: another file may have other panes. */
  restorePane(id: PaneId | null): void {
    const { dock } = this.parts;
    dock.show(dock.panes.find((pane) => pane.id === id)?.id ?? null);
  }

  /** Does what a command says about panes. */
  run(command: ViewCommand): void {
    if (command === 'togglePane') this.togglePane();
    else if (command.startsWith('pane.')) this.showPane(command.slice('pane.'.length));
  }

  togglePane(): void {
    const { dock } = this.parts;
    if (dock.shown === null) dock.show(this.lastPane ?? dock.panes[0]?.id ?? null);
    else {
      dock.show(null);
      this.leave();
    }
  }

  toggleTall(): void {
    const { dock, frame } = this.parts;
    if (dock.shown === null) this.togglePane();
    frame.set({ dockTall: !frame.current.dockTall });
  }

  toggleDetails(): void {
    const { frame } = this.parts;
    frame.set({ panelOpen: !frame.current.panelOpen });
  }
}
