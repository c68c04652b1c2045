// The allocator's state at the cursor: its figures, and each segment as a row with its blocks as a bar.

import { signal } from '@preact/signals';
import { createRef, type VNode } from 'preact';
import type { AllocatorStateAnswer, Branch } from '../../../../extension/shared/protocol.gen';
import { nameOf } from '../../base/format';
import { t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, visible } from '../../base/text';
import type { Change } from '../../shell/context';
import type { TimelineSession } from '../session';
import type { BarRoom, Pane, PaneRoom } from '../../shell/pane';
import { activeNear, blockAt, decodeBlocks, nextActive, NONE, stateOf } from '../scene/blocks';
import { areaColours } from '../scene/areas';
import { drawBar } from './state-bar';
import { PAGE, StateHead, StateView, type Order, type Row, type Segments, type Shown } from './state-view';
import { eventWords, blockWords } from './state-words';

/** A click beside a block takes one this near, in CSS pixels. */
const NEAR_PX = 3;

export function statePane(context: TimelineSession): Pane {
  return new StatePane(context);
}

class StatePane implements Pane, Segments {
  readonly root = createRef<HTMLElement>();
  readonly shown = signal<Shown | null>(null);
  /** What is said of a block. */
  readonly block = signal('');
  readonly selected = signal<number | null>(null);
  readonly event = signal('');
  readonly order = signal<Order>('size');
  private readonly latest = new Latest();
  private readonly naming = new Latest();
  private asked = '';
  /** What the blocks that are here show as highlighted. */
  private highlighted: Branch | null = null;

  constructor(readonly context: TimelineSession) {}

  readonly View = (room: PaneRoom): VNode => <StateView pane={this} room={room} />;
  readonly Bar = (room: BarRoom): VNode => <StateHead pane={this} room={room} />;

  /** Where the state is looked at: the cursor, else the peak. */
  private get moment(): number {
    return this.context.cursors.first?.moment ?? this.context.device.peak_moment;
  }

  /** Turns to the event before or after. */
  step(by: number): void {
    const { cursors } = this.context;
    if (cursors.first) cursors.step(by, false);
    else cursors.place(this.moment + by);
  }

  sort(order: Order): void {
    this.order.value = order;
    this.refresh();
  }

  /** The group that is highlighted in the view. */
  private get branch(): Branch | null {
    const { highlight } = this.context;
    return highlight.kind === 'group' ? highlight.branch : null;
  }

  /** What the blocks are asked for: another answer if it is another. */
  private get wanted(): string {
    const { device, filter, grouping } = this.context;
    return JSON.stringify([device.device, this.moment, filter, grouping]);
  }

  update(changes: ReadonlySet<Change>): void {
    if (this.wanted !== this.asked || this.branch !== this.highlighted) this.refresh();
    else if (changes.has('selection') || changes.has('theme')) this.draw();
  }

  key(event: KeyboardEvent): boolean {
    const rows = this.shown.value?.rows ?? [];
    const index = rows.findIndex((row) => row.root === document.activeElement);
    const row = rows[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        rows[index + (event.key === 'ArrowDown' ? 1 : -1)]?.root?.focus();
        return true;
      case 'ArrowLeft':
      case 'ArrowRight': {
        const next = nextActive(row.blocks, row.segment, row.at, event.key === 'ArrowRight' ? 1 : -1);
        if (next !== null) this.pick(row, next);
        return true;
      }
      default:
        return false;
    }
  }

  dispose(): void {
    this.latest.cancel();
    this.naming.cancel();
  }

  private refresh(): void {
    this.asked = this.wanted;
    this.highlighted = this.branch;
    this.fetch(0);
  }

  /** The next of the segments. */
  more(): void {
    this.fetch(this.shown.value?.rows.length ?? 0);
  }

  private fetch(offset: number): void {
    const { api, device, filter, grouping } = this.context;
    const { moment, order } = this;
    const asked = api.request('memlens/allocatorState', {
      device: device.device,
      moment,
      order: order.value,
      offset,
      limit: PAGE,
      filter,
      highlighted: this.highlighted,
      areas: grouping,
    });
    this.latest.ask(
      asked,
      (answer) => this.show(answer, offset === 0 ? [] : (this.shown.value?.rows ?? [])),
      (error) => {
        this.event.value = messageOf(error);
      },
    );
  }

  private show(answer: AllocatorStateAnswer, before: readonly Row[]): void {
    const blocks = decodeBlocks(answer);
    const rows = answer.segments.map((segment) => ({ segment, blocks, root: null, canvas: null, at: null }));
    const { events } = this.context.device;
    this.event.value = events > 0 ? visible(eventWords(answer)) : t('When the snapshot was taken');
    this.block.value = answer.truncated ? t('The first segment has more blocks than are shown.') : '';
    this.shown.value = { answer, rows: [...before, ...rows] };
  }

  /** The block under the pointer, or the one in use that is nearest. */
  blockUnder({ canvas, blocks, segment }: Row, event: MouseEvent): number | null {
    if (!canvas) return null;
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    const exact = blockAt(blocks, segment, share);
    if (exact !== null && stateOf(blocks, exact) > 0) return exact;
    return activeNear(blocks, segment, share, NEAR_PX / box.width) ?? exact;
  }

  /** Stands on a block, and selects its allocation. */
  pick(row: Row, block: number): void {
    row.at = block;
    this.showBlock(row, block);
    const allocation = row.blocks.allocation[block] ?? NONE;
    if (allocation !== NONE) this.context.select(allocation, this.shown.value?.answer.moment ?? null);
  }

  showBlock(row: Row, block: number): void {
    const { segment, blocks } = row;
    const words = blockWords(segment, blocks, block);
    const allocation = blocks.allocation[block] ?? NONE;
    const known = this.context.names.allocation(allocation);
    if (known) {
      const { title, place } = nameOf(known);
      this.block.value = visible(`${words} · ${place === null ? title : `${title}, ${place}`}`);
      return;
    }
    this.block.value = visible(words);
    this.naming.cancel();
    if (allocation === NONE) return;
    this.naming.ask(
      this.context.api.request('memlens/stack', { allocation }),
      (answer) => {
        this.context.names.learn([answer.allocation]);
        this.showBlock(row, block);
      },
      () => undefined, // what the block is was said already
    );
  }

  draw(): void {
    this.selected.value = this.context.selected;
    if (!this.root.current?.clientWidth) return;
    const { rows = [], answer } = this.shown.value ?? {};
    const { grouping, palette, highlight, selected } = this.context;
    const areas = answer?.areas ?? [];
    const look = {
      palette,
      highlight,
      selected,
      colours: areaColours({ by: grouping, areas }, palette),
      highlighted: highlight.kind === 'area' ? areas.findIndex(({ key }) => key === highlight.key) : null,
    };
    for (const { canvas, segment, blocks } of rows) if (canvas) drawBar(canvas, segment, blocks, look);
  }
}
