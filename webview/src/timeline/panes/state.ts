// The allocator's state at the cursor: its figures, and each segment as a row with its blocks as a bar.

import type { AllocatorStateAnswer, Branch, SegmentState } from '../../../../extension/shared/protocol.gen';
import type { Change, ViewContext } from '../../shell/context';
import { Latest } from '../../base/latest';
import {
  activeNear,
  blockAt,
  BLOCK_STATES,
  decodeBlocks,
  nextActive,
  NONE,
  stateOf,
  type Blocks,
} from '../scene/blocks';
import { Choice } from '../../widgets/choice';
import { element, iconButton, replace, setText } from '../../widgets/dom';
import { bytes, count, counted, exactBytes, nameOf, time } from '../../base/format';
import type { Pane } from '../../shell/pane';
import { drawBar } from './state-bar';

const PAGE = 100;
/** A click beside a block takes one this near, in CSS pixels. */
const NEAR_PX = 3;
const ORDERS = [
  { value: 'size', text: 'Largest first' },
  { value: 'free', text: 'Most free first' },
  { value: 'address', text: 'By address' },
] as const;
type Order = (typeof ORDERS)[number]['value'];

const COLUMNS = ['Segment', 'Size', 'Used', 'Requested', 'Largest hole', 'Pool and stream'];

export function statePane(context: ViewContext): Pane {
  return new StatePane(context);
}

interface Row {
  readonly segment: SegmentState;
  readonly blocks: Blocks;
  /** Its figures; the bar is a row of its own below, so that it has the whole width. */
  readonly root: HTMLTableRowElement;
  readonly bar: HTMLTableRowElement;
  readonly canvas: HTMLCanvasElement;
  /** The block that the arrow keys stand on. */
  at: number | null;
}

class StatePane implements Pane {
  readonly id = 'state' as const;
  readonly title = 'Segments';
  readonly usesSet = false;
  readonly root: HTMLElement;
  readonly bar: HTMLElement;
  private readonly event = element('span', { class: 'state-event' });
  private readonly figures = element('div', { class: 'state-figures' });
  private readonly blockStatus = element('div', { class: 'state-block', role: 'status' });
  private readonly body = element('tbody');
  private readonly more: HTMLButtonElement;
  private order: Order = 'size';
  private rows: Row[] = [];
  private answer: AllocatorStateAnswer | null = null;
  private readonly latest = new Latest();
  private readonly naming = new Latest();
  private asked = '';
  /** What the blocks that are here show as lit up. */
  private lit: Branch | null = null;
  private readonly resized = new ResizeObserver(() => {
    this.draw();
  });

  constructor(private readonly context: ViewContext) {
    this.more = element('button', {
      class: 'button secondary table-more',
      type: 'button',
      hidden: true,
      on: {
        click: () => {
          this.fetch(this.rows.length);
        },
      },
    });
    const step = (by: number): void => {
      const { cursors } = context;
      if (cursors.first) cursors.step(by, false);
      else cursors.place(this.moment + by);
    };
    const orders = new Choice<Order>('Order of the segments', ORDERS, (order) => {
      this.order = order;
      orders.set(order);
      this.refresh();
    });
    orders.set(this.order);
    this.bar = element(
      'div',
      { class: 'state-head' },
      iconButton(
        'left',
        'One event back',
        () => {
          step(-1);
        },
        ',',
      ),
      iconButton(
        'right',
        'One event on',
        () => {
          step(1);
        },
        '.',
      ),
      this.event,
      orders.root,
    );
    this.root = element(
      'section',
      { class: 'state' },
      element('div', { class: 'state-facts' }, this.figures, legend()),
      element(
        'div',
        { class: 'state-scroll' },
        element(
          'table',
          {},
          element(
            'thead',
            {},
            element(
              'tr',
              {},
              ...COLUMNS.map((name) => element('th', { attributes: { scope: 'col' } }, name)),
            ),
          ),
          this.body,
        ),
        this.more,
      ),
      this.blockStatus,
    );
    this.resized.observe(this.root);
  }

  /** Where the state is looked at: the cursor, else the peak. */
  private get moment(): number {
    return this.context.cursors.first?.moment ?? this.context.device.peak_moment;
  }

  /** The group that is lit up in the view. */
  private get branch(): Branch | null {
    const { highlight } = this.context;
    return highlight.kind === 'group' ? highlight.branch : null;
  }

  update(changes: ReadonlySet<Change>): void {
    const { device, filter } = this.context;
    if (`${device.device} ${this.moment} ${filter}` !== this.asked || this.branch !== this.lit)
      this.refresh();
    else if (changes.has('selection') || changes.has('theme')) this.draw();
  }

  key(event: KeyboardEvent): boolean {
    const index = this.rows.findIndex((row) => row.root === document.activeElement);
    const row = this.rows[index];
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return false;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        this.rows[index + (event.key === 'ArrowDown' ? 1 : -1)]?.root.focus();
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
    this.resized.disconnect();
  }

  private refresh(): void {
    const { device, filter } = this.context;
    this.asked = `${device.device} ${this.moment} ${filter}`;
    this.lit = this.branch;
    this.fetch(0);
  }

  private fetch(offset: number): void {
    const { api, device, filter } = this.context;
    const { moment, order } = this;
    const asked = api.request('memlens/allocatorState', {
      device: device.device,
      moment,
      order,
      offset,
      limit: PAGE,
      filter,
      lit: this.lit,
    });
    this.latest.ask(
      asked,
      (answer) => {
        if (offset === 0) this.rows = [];
        this.show(answer);
      },
      (error) => {
        setText(this.event, error instanceof Error ? error.message : String(error));
      },
    );
  }

  private show(answer: AllocatorStateAnswer): void {
    this.answer = answer;
    const blocks = decodeBlocks(answer);
    this.rows.push(...answer.segments.map((segment) => this.row(segment, blocks)));
    replace(this.body, ...this.rows.flatMap(({ root, bar }) => [root, bar]));
    for (const [index, row] of this.rows.entries()) row.root.tabIndex = index === 0 ? 0 : -1;
    const left = answer.segment_count - this.rows.length;
    this.more.hidden = left <= 0;
    setText(this.more, `Show ${count(Math.min(left, PAGE))} more of ${counted(left, 'segment')}`);
    setText(this.event, eventWords(answer));
    setText(this.figures, figureWords(answer));
    setText(this.blockStatus, answer.truncated ? 'The first segment has more blocks than are shown.' : '');
    this.root.dataset['moment'] = String(answer.moment);
    this.draw();
  }

  private row(segment: SegmentState, blocks: Blocks): Row {
    const canvas = element('canvas', { attributes: { 'aria-hidden': 'true' } });
    const used = segment.size_bytes > 0 ? (100 * segment.active_bytes) / segment.size_bytes : 0;
    const pending = segment.active_bytes - segment.allocated_bytes;
    const cell = (text: string, title: string, kind = 'number'): HTMLElement =>
      element('td', { class: kind, title }, text);
    const kinds = [
      segment.known ? segment.pool_type : 'unknown',
      segment.expandable && 'expandable',
      segment.pool !== null && `private pool (${segment.pool})`,
      `stream ${segment.stream}`,
    ];
    const root = element(
      'tr',
      { class: 'segment', attributes: { 'data-address': segment.address } },
      cell(segment.known ? segment.address : `no segment, from ${segment.address}`, since(segment), 'code'),
      cell(bytes(segment.size_bytes), exactBytes(segment.size_bytes)),
      cell(
        `${used.toFixed(used < 10 ? 1 : 0)} %`,
        `${exactBytes(segment.allocated_bytes)} allocated` +
          (pending > 0 ? `, ${exactBytes(pending)} waiting for frees to complete` : ''),
      ),
      cell(bytes(segment.requested_bytes), exactBytes(segment.requested_bytes)),
      cell(segment.known ? bytes(segment.largest_free_bytes) : '–', exactBytes(segment.largest_free_bytes)),
      cell(kinds.filter((kind) => kind !== false).join(', '), '', ''),
    );
    const bar = element(
      'tr',
      {},
      element('td', { class: 'bar', attributes: { colspan: COLUMNS.length } }, canvas),
    );
    const row: Row = { segment, blocks, root, bar, canvas, at: null };
    const found = (event: MouseEvent): number | null => {
      const box = canvas.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      const exact = blockAt(blocks, segment, share);
      if (exact !== null && stateOf(blocks, exact) > 0) return exact;
      return activeNear(blocks, segment, share, NEAR_PX / box.width) ?? exact;
    };
    canvas.addEventListener('pointermove', (event) => {
      const block = found(event);
      if (block !== null) this.showBlock(row, block);
    });
    canvas.addEventListener('click', (event) => {
      const block = found(event);
      if (block !== null) this.pick(row, block);
      root.focus();
    });
    return row;
  }

  /** Stands on a block, and selects its allocation. */
  private pick(row: Row, block: number): void {
    row.at = block;
    this.showBlock(row, block);
    const allocation = row.blocks.allocation[block] ?? NONE;
    if (allocation !== NONE) this.context.select(allocation, this.answer?.moment ?? null);
  }

  private showBlock(row: Row, block: number): void {
    const { segment, blocks } = row;
    const words = blockWords(segment, blocks, block);
    const allocation = blocks.allocation[block] ?? NONE;
    const known = this.context.names.allocation(allocation);
    if (known) {
      const { title, place } = nameOf(known);
      setText(this.blockStatus, `${words} · ${place === null ? title : `${title}, ${place}`}`);
      return;
    }
    setText(this.blockStatus, words);
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

  private draw(): void {
    if (this.root.clientWidth === 0) return;
    const { selected } = this.context;
    for (const row of this.rows) {
      drawBar(row.canvas, row.segment, row.blocks, this.context, selected);
      const holds =
        selected !== null &&
        row.blocks.allocation
          .subarray(row.segment.first_block, row.segment.first_block + row.segment.block_count)
          .includes(selected);
      if (holds) row.root.setAttribute('aria-current', 'true');
      else row.root.removeAttribute('aria-current');
    }
  }
}

function legend(): HTMLElement {
  const key = (kind: string, text: string): HTMLElement =>
    element('span', { class: 'state-key' }, element('span', { class: `swatch ${kind}` }), text);
  return element(
    'div',
    { class: 'state-legend muted' },
    key('pending', 'waiting for its free to complete'),
    key('rounding', 'lost to rounding'),
    key('free', 'free'),
    element(
      'span',
      { title: 'By the allocator’s rules of rounding and splitting; blocks are at least that large' },
      'Sizes of blocks that aren’t live at the trace’s end are inferred',
    ),
  );
}

function since(segment: SegmentState): string {
  if (!segment.known) return 'Live allocations that lie in no segment which the file names';
  return segment.reserved_at_moment === null
    ? 'Reserved before the trace'
    : `Reserved by event ${count(segment.reserved_at_moment)}`;
}

function blockWords(segment: SegmentState, blocks: Blocks, block: number): string {
  const size = blocks.size[block] ?? 0;
  const asked = blocks.requested[block] ?? 0;
  const state = stateOf(blocks, block);
  const address = `0x${(BigInt(segment.address) + BigInt(blocks.offset[block] ?? 0)).toString(16)}`;
  if (state === 0) return `${address}: ${bytes(size)} free`;
  const lost = size > asked ? ` in a block of ${bytes(size)} (${exactBytes(size - asked)} rounding)` : '';
  return `${address}: ${bytes(asked)}${lost}, ${BLOCK_STATES[state] ?? ''}`;
}

function eventWords({ moment, time_us: at, event }: AllocatorStateAnswer): string {
  if (!event) return 'Before the first event';
  const when = at === null ? '' : ` at ${time(at)}`;
  return (
    `After event ${count(moment)}${when}: ${event.action} ` +
    `${event.address}, ${bytes(event.size_bytes)} on stream ${event.stream}`
  );
}

function figureWords(answer: AllocatorStateAnswer): string {
  const pending = answer.active_bytes - answer.allocated_bytes;
  const rounding = answer.allocated_bytes - answer.requested_bytes;
  const free = answer.reserved_bytes - answer.active_bytes;
  const outside = answer.outside_bytes;
  const words = [
    `${bytes(answer.reserved_bytes)} reserved in ${counted(answer.segment_count, 'segment')}`,
    `${bytes(answer.allocated_bytes)} allocated (${bytes(answer.requested_bytes)} requested, ${bytes(rounding)} rounding)`,
    pending > 0 && `${bytes(pending)} waiting for frees to complete`,
    `${bytes(free)} free, ${bytes(answer.inactive_split_bytes)} of it in segments that are in use`,
    outside > 0 && `${bytes(outside)} live in no segment that the file names`,
  ];
  if (answer.reserved_bytes === 0 && outside > 0)
    return `The file names no segments: ${bytes(outside)} are live, shown by address.`;
  return words.filter((word) => word !== false).join(' · ');
}
