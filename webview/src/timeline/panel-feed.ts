// The details at the side: open while something is selected, and what is said of it.

import type { DeviceInfo, LineAnswer, StackAnswer } from '../../../extension/shared/protocol.gen';
import type { Arrangement } from './arrangement';
import type { Colours } from '../canvas/palette';
import type { Selection } from './selection';
import { bytes, nameOf } from '../base/format';
import type { ViewFrame } from '../shell/frame';
import { partsOf } from '../widgets/frames-list';
import { sameStackSentence, type Panel } from './panel';

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
    const same = ` Same stack${this.filtered}: ${sameStackSentence(answer.same_stack)}.`;
    this.say(`${bytes(allocation.size_bytes)}, ${where}.${partsOf(answer).length > 0 ? same : ''}`);
  }

  lineShown(answer: LineAnswer): void {
    this.open();
    this.showLine(answer);
    this.say(`Line ${answer.line}${this.filtered}: ${sameStackSentence(answer.totals)}.`);
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

  private get filtered(): string {
    return this.owner.filter === '' ? '' : ' (filtered)';
  }

  private showDevice(): void {
    this.parts.panel.showDevice(this.owner.device);
  }
}
