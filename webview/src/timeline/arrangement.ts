// Which picture and which pane are shown, and the room that they have.

import type { PictureId } from '../../../extension/shared/messages';
import { EVERYTHING, type Change } from '../shell/context';
import { Panels } from '../shell/panels';
import type { Parts } from './parts';
import type { Picture } from './pictures/picture';

export interface ArrangementOwner {
  /** Updates what is shown. */
  changed(...changes: readonly Change[]): void;
  /** Another picture is shown. */
  pictureShown(): void;
  /** Shows what depends on the arrangement. */
  rearranged(): void;
}

type Arranged = Pick<Parts, 'plot' | 'pictures' | 'picture' | 'dock' | 'frame' | 'pointer'>;

export class Arrangement extends Panels {
  constructor(
    private readonly root: HTMLElement,
    protected override readonly parts: Arranged,
    private readonly owner: ArrangementOwner,
  ) {
    super(parts, () => this.focusPicture());
  }

  get picture(): PictureId {
    return this.parts.picture.peek();
  }

  /** The picture that replaces the stacked one. */
  get shown(): Picture | null {
    return this.parts.pictures.find(({ id }) => id === this.picture) ?? null;
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
