// The details at the side: open while something is selected, and what is said of it.

import { t } from '../base/l10n';
import type { DeviceInfo, LineAnswer, StackAnswer } from '../../../extension/shared/protocol.gen';
import type { Arrangement } from './arrangement';
import type { Colours } from './scene/colours';
import type { Selection } from './selection';
import { bytes, nameOf } from '../base/format';
import type { ViewFrame } from '../shell/frame';
import { partsOf } from './frames-list';
import type { Panel } from './panel';
import { sameStackSentence } from './panel-facts';

export interface PanelFed {
  readonly panel: Panel;
  readonly frame: ViewFrame;
  readonly selection: Selection;
}

export interface PanelOwner {
  readonly device: DeviceInfo;
  readonly filter: string;
  readonly arrangement: Pick<Arrangement, 'picture'>;
}

export class PanelFeed {
  constructor(
    private readonly parts: PanelFed,
    private readonly colours: Colours,
    private readonly owner: PanelOwner,
    private readonly say: (text: string) => void,
  ) {}

  waiting(sizeBytes: number | null): void {
    this.open();
    this.parts.panel.showWaiting(sizeBytes);
  }

  shown(answer: StackAnswer): void {
    const { allocation } = answer;
    this.showStack(answer);
    const { title, place } = nameOf(allocation);
    const where = place === null ? title : `${title}, ${place}`;
    const what = t('{0}, {1}.', bytes(allocation.size_bytes), where);
    if (partsOf(answer).length === 0) {
      this.say(what);
      return;
    }
    const same = sameStackSentence(answer.same_stack);
    this.say(
      this.filtered
        ? t('{0} Same stack (filtered): {1}.', what, same)
        : t('{0} Same stack: {1}.', what, same),
    );
  }

  lineShown(answer: LineAnswer): void {
    this.open();
    this.showLine(answer);
    const sums = sameStackSentence(answer.totals);
    this.say(
      this.filtered
        ? t('Line {0} (filtered): {1}.', answer.line, sums)
        : t('Line {0}: {1}.', answer.line, sums),
    );
  }

  cleared(): void {
    const { frame } = this.parts;
    if (frame.current.panelOpen) frame.set({ panelOpen: false });
    this.showDevice();
    this.say('');
  }

  /** The colours are others. */
  repaint(): void {
    const { answer, line } = this.parts.selection;
    if (answer) this.showStack(answer);
    else if (line) this.showLine(line);
    else if (this.idle) this.showDevice();
  }

  private open(): void {
    const { frame } = this.parts;
    if (!frame.current.panelOpen) frame.set({ panelOpen: true });
  }

  private get idle(): boolean {
    return this.parts.selection.current === null && !this.parts.selection.line;
  }

  private showStack(answer: StackAnswer): void {
    const { filter, arrangement } = this.owner;
    const how = { filtered: filter !== '', byAddress: arrangement.picture === 'map' };
    this.parts.panel.showStack(answer, this.colours.of(answer.allocation), how);
  }

  private showLine(answer: LineAnswer): void {
    this.parts.panel.showLine(answer, this.owner.filter !== '');
  }

  private get filtered(): boolean {
    return this.owner.filter !== '';
  }

  private showDevice(): void {
    this.parts.panel.showDevice(this.owner.device);
  }
}
