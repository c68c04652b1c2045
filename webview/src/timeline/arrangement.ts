// Which picture and which pane are shown, and the room that they have.

import type { PaneId, PictureId } from '../../../extension/shared/messages';
import { EVERYTHING, type Change } from '../shell/context';
import type { Parts } from './parts';
import type { Picture } from './pictures/picture';

export interface ArrangementOwner {
  /** Makes what is shown show everything anew. */
  changed(...changes: readonly Change[]): void;
  /** Another picture is shown. */
  pictureShown(): void;
  /** Shows what depends on the arrangement. */
  rearranged(): void;
}

type Arranged = Pick<Parts, 'plot' | 'pictures' | 'picture' | 'dock' | 'frame' | 'pointer'>;

export class Arrangement {
  /** The pane to show when the dock is opened again. */
  private lastPane: PaneId | null = null;

  constructor(
    private readonly root: HTMLElement,
    private readonly parts: Arranged,
    private readonly owner: ArrangementOwner,
  ) {}

  get picture(): PictureId {
    return this.parts.picture.peek();
  }

  /** The picture that stands in the place of the stacked one. */
  get shown(): Picture | null {
    return this.parts.pictures.find(({ id }) => id === this.picture) ?? null;
  }

  /** The pane that is shown, which is the one to come back to. */
  notePane(): PaneId | null {
    const pane = this.parts.dock.shown;
    this.lastPane = pane ?? this.lastPane;
    return pane;
  }

  showPicture(id: PictureId): void {
    const { plot, pictures, picture, frame } = this.parts;
    const before = this.shown;
    picture.value = pictures.some((each) => each.id === id) ? id : 'stacked';
    const { shown } = this;
    if (before !== shown) before?.hide();
    plot.setHidden(shown !== null);
    if (shown) this.root.dataset['state'] = 'ready';
    if (frame.current.dockTall) frame.set({ dockTall: false });
    this.owner.changed(...EVERYTHING);
    this.owner.pictureShown();
    this.owner.rearranged();
  }

  focusPicture(): void {
    const { shown } = this;
    if (shown) shown.focus();
    else this.parts.plot.focus();
  }

  /** By its name, or by the place of its tab, from 0. */
  showPane(which: PaneId | number): void {
    const { dock } = this.parts;
    if (typeof which === 'number') dock.showNth(which);
    else dock.show(which);
  }

  togglePane(): void {
    const { dock } = this.parts;
    if (dock.shown === null) dock.show(this.lastPane ?? dock.panes[0]?.id ?? null);
    else {
      dock.show(null);
      this.focusPicture();
    }
  }

  toggleTall(): void {
    const { frame, dock } = this.parts;
    if (dock.shown === null) this.togglePane();
    frame.set({ dockTall: !frame.current.dockTall });
  }

  togglePanel(): void {
    const { frame } = this.parts;
    frame.set({ panelOpen: !frame.current.panelOpen });
  }

  toggleBoxTool(): void {
    const { plot, pointer } = this.parts;
    pointer.boxTool = !pointer.boxTool;
    plot.surface.classList.toggle('box-tool', pointer.boxTool);
    this.owner.rearranged();
  }

  /** Gives up what is smaller than the selection: a box that is drawn, then the tool. */
  giveUp(): boolean {
    const { pointer } = this.parts;
    if (pointer.giveUp()) return true;
    if (!pointer.boxTool) return false;
    this.toggleBoxTool();
    return true;
  }
}
