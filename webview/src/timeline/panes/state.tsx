// The allocator's state at the cursor: its figures, and each segment as a row with its blocks as a bar.

import { signal } from '@preact/signals';
import { createRef, Fragment, type VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { AllocatorStateAnswer, Branch, SegmentState } from '../../../../extension/shared/protocol.gen';
import { bytes, exactBytes, nameOf, share, time } from '../../base/format';
import { count, plural, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, visible } from '../../base/text';
import type { Change, TimelineContext } from '../../shell/context';
import { Bar } from '../../shell/bar';
import type { BarRoom, Pane, PaneRoom } from '../../shell/pane';
import { Dropdown } from '../../widgets/choice';
import { IconButton } from '../../widgets/icon-button';
import { useResized } from '../../widgets/resized';
import { number, SizeCell, TableHead } from '../../widgets/table-parts';
import { activeNear, blockAt, decodeBlocks, nextActive, NONE, stateOf, type Blocks } from '../scene/blocks';
import { areaColours } from '../scene/areas';
import { drawBar } from './state-bar';

const PAGE = 100;
/** A click beside a block takes one this near, in CSS pixels. */
const NEAR_PX = 3;
type Order = 'size' | 'free' | 'address';
const ORDERS = [
  { value: 'size', text: t('Largest first') },
  { value: 'free', text: t('Most free first') },
  { value: 'address', text: t('By address') },
] as const;

export function statePane(context: TimelineContext): Pane {
  return new StatePane(context);
}

interface Row {
  readonly segment: SegmentState;
  readonly blocks: Blocks;
  /** Its figures; the bar is a row of its own below, so that it has the whole width. */
  root: HTMLTableRowElement | null;
  canvas: HTMLCanvasElement | null;
  /** The block that the arrow keys stand on. */
  at: number | null;
}

/** What is shown: all segments that were answered so far, and the last of the answers. */
interface Shown {
  readonly answer: AllocatorStateAnswer;
  readonly rows: readonly Row[];
}

class StatePane implements Pane {
  readonly id = 'state' as const;
  readonly title = t('Segments');
  readonly usesSet = false;
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
  /** What the blocks that are here show as lit up. */
  private lit: Branch | null = null;

  constructor(readonly context: TimelineContext) {}

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

  /** The group that is lit up in the view. */
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
    if (this.wanted !== this.asked || this.branch !== this.lit) this.refresh();
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
    this.lit = this.branch;
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
      ...{ device: device.device, moment, order: order.value, offset, limit: PAGE, filter },
      ...{ lit: this.lit, areas: grouping },
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
    const rows = answer.segments.map((segment) => ({
      ...{ segment, blocks, root: null, canvas: null, at: null },
    }));
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
      colours: areaColours({ by: grouping, areas }, palette),
      lit: highlight.kind === 'area' ? areas.findIndex(({ key }) => key === highlight.key) : null,
    };
    for (const { canvas, segment, blocks } of rows)
      if (canvas) drawBar(canvas, segment, blocks, this.context, look, selected);
  }
}

function StateHead({ pane, room }: { readonly pane: StatePane; readonly room: BarRoom }): VNode {
  // without events there is one moment; an answer may be of another device
  const traced = pane.shown.value !== null && pane.context.device.events > 0;
  const step = (by: number) => (): void => pane.step(by);
  return (
    <Bar class="state-head" label={t('Segments')} hidden={room.hidden}>
      {traced && <IconButton icon="left" label={t('One event back')} keys="," press={step(-1)} />}
      {traced && <IconButton icon="right" label={t('One event forward')} keys="." press={step(1)} />}
      <span class="state-event">{pane.event}</span>
      <Dropdown<Order>
        label={t('Order of the segments')}
        options={ORDERS}
        value={pane.order.value}
        change={(order) => pane.sort(order)}
      />
    </Bar>
  );
}

function StateView({ pane, room }: { readonly pane: StatePane; readonly room: PaneRoom }): VNode {
  const shown = pane.shown.value;
  const draw = (): void => pane.draw();
  useResized(pane.root, draw);
  useLayoutEffect(draw, [shown]);
  const columns = [
    ...[t('Segment'), number(t('Size')), number(t('Used'))],
    ...[number(t('Requested')), number(t('Largest hole')), t('Pool and stream')],
  ];
  const left = shown ? shown.answer.segment_count - shown.rows.length : 0;
  return (
    <section {...room} class="state pane" ref={pane.root} data-moment={shown?.answer.moment}>
      <div class="state-facts">
        <div class="state-figures">{shown && figureWords(shown.answer)}</div>
        <Legend traced={pane.context.device.events > 0} />
      </div>
      <div class="state-scroll">
        <table>
          <TableHead columns={columns} />
          <tbody>
            {shown?.rows.map((row, index) => (
              <Fragment key={index}>
                <Segment row={row} pane={pane} first={index === 0} />
                <tr>
                  <td class="bar" colSpan={columns.length}>
                    <BlockBar row={row} pane={pane} />
                  </td>
                </tr>
              </Fragment>
            ))}
          </tbody>
        </table>
        {left > 0 && (
          <button type="button" class="button secondary table-more" onClick={() => pane.more()}>
            {plural(
              left,
              'Show {1} more of {0} segment',
              'Show {1} more of {0} segments',
              Math.min(left, PAGE),
            )}
          </button>
        )}
      </div>
      <div class="state-block" role="status">
        {pane.block}
      </div>
    </section>
  );
}

function poolName(type: SegmentState['pool_type']): string {
  switch (type) {
    case 'large':
      return t('large');
    case 'small':
      return t('small');
    case 'unknown':
      return t('unknown');
  }
}

interface RowProps {
  readonly row: Row;
  readonly pane: StatePane;
}

function Segment({ row, pane, first }: RowProps & { readonly first: boolean }): VNode {
  const { segment, blocks } = row;
  const selected = pane.selected.value;
  const { first_block: from, block_count: many } = segment;
  const holds = selected !== null && blocks.allocation.subarray(from, from + many).includes(selected);
  const pending = segment.active_bytes - segment.allocated_bytes;
  const allocated = t('{0} allocated', exactBytes(segment.allocated_bytes));
  const kinds = [
    segment.known ? poolName(segment.pool_type) : t('unknown'),
    segment.expandable ? t('expandable') : '',
    segment.pool === null ? '' : t('private pool ({0})', segment.pool),
    t('stream {0}', segment.stream),
  ];
  const known = segment.known ? segment.address : t('no segment, from {0}', segment.address);
  return (
    <tr
      class="segment"
      data-address={segment.address}
      tabIndex={first ? 0 : -1}
      ref={(root) => {
        row.root = root;
      }}
      {...(holds ? { 'aria-current': 'true' } : {})}
    >
      <td class="code" title={since(segment)}>
        {visible(known)}
      </td>
      <SizeCell size={segment.size_bytes}>{bytes(segment.size_bytes)}</SizeCell>
      <td
        class="number"
        title={
          pending > 0
            ? t('{0}, {1} waiting for frees to complete', allocated, exactBytes(pending))
            : allocated
        }
      >
        {share(segment.active_bytes, segment.size_bytes)}
      </td>
      <SizeCell size={segment.requested_bytes}>{bytes(segment.requested_bytes)}</SizeCell>
      <SizeCell size={segment.largest_free_bytes}>
        {segment.known ? bytes(segment.largest_free_bytes) : '–'}
      </SizeCell>
      <td>{visible(kinds.filter((kind) => kind !== '').join(', '))}</td>
    </tr>
  );
}

function BlockBar({ row, pane }: RowProps): VNode {
  return (
    <canvas
      aria-hidden="true"
      ref={(canvas) => {
        row.canvas = canvas;
      }}
      onPointerMove={(event) => {
        const block = pane.blockUnder(row, event);
        if (block !== null) pane.showBlock(row, block);
      }}
      onClick={(event) => {
        const block = pane.blockUnder(row, event);
        if (block !== null) pane.pick(row, block);
        row.root?.focus();
      }}
    />
  );
}

function Legend({ traced }: { readonly traced: boolean }): VNode {
  const key = (kind: string, text: string): VNode => (
    <span class="state-key">
      <span class={`swatch ${kind}`} />
      {text}
    </span>
  );
  return (
    <div class="state-legend muted">
      {traced && key('pending', t('waiting for its free to complete'))}
      {key('rounding', t('lost to rounding'))}
      {key('free', t('free'))}
      {traced && (
        <span title={t('By the allocator’s rules of rounding and splitting; blocks are at least that large')}>
          {t('Sizes of blocks that aren’t live at the trace’s end are inferred')}
        </span>
      )}
    </div>
  );
}

function since(segment: SegmentState): string {
  if (!segment.known) return t('Live allocations that lie in no segment which the file names');
  return segment.reserved_at_moment === null
    ? t('Reserved before the trace')
    : t('Reserved by event {0}', count(segment.reserved_at_moment));
}

function blockWords(segment: SegmentState, blocks: Blocks, block: number): string {
  const size = blocks.size[block] ?? 0;
  const asked = blocks.requested[block] ?? 0;
  const state = stateOf(blocks, block);
  const address = `0x${(BigInt(segment.address) + BigInt(blocks.offset[block] ?? 0)).toString(16)}`;
  if (state === 0) return t('{0}: {1} free', address, bytes(size));
  const lost =
    size > asked
      ? t('{0} in a block of {1} ({2} rounding)', bytes(asked), bytes(size), exactBytes(size - asked))
      : bytes(asked);
  return state === 1
    ? t('{0}: {1}, allocated', address, lost)
    : t('{0}: {1}, waiting for its free to complete', address, lost);
}

function eventWords({ moment, time_us: at, event }: AllocatorStateAnswer): string {
  if (!event) return t('Before the first event');
  const { action, address, stream } = event;
  const size = bytes(event.size_bytes);
  return at === null
    ? t('After event {0}: {1} {2}, {3} on stream {4}', count(moment), action, address, size, stream)
    : t(
        'After event {0} at {1}: {2} {3}, {4} on stream {5}',
        ...[count(moment), time(at), action, address, size, stream],
      );
}

function figureWords(answer: AllocatorStateAnswer): string {
  const pending = answer.active_bytes - answer.allocated_bytes;
  const rounding = answer.allocated_bytes - answer.requested_bytes;
  const free = answer.reserved_bytes - answer.active_bytes;
  const outside = answer.outside_bytes;
  if (answer.reserved_bytes === 0 && outside > 0)
    return t('The file names no segments: {0} are live, shown by address.', bytes(outside));
  const words = [
    plural(
      answer.segment_count,
      '{1} reserved in {0} segment',
      '{1} reserved in {0} segments',
      bytes(answer.reserved_bytes),
    ),
    t(
      '{0} allocated ({1} requested, {2} rounding)',
      ...[bytes(answer.allocated_bytes), bytes(answer.requested_bytes), bytes(rounding)],
    ),
    pending > 0 && t('{0} waiting for frees to complete', bytes(pending)),
    t(
      '{0} free, {1} of it in segments that are in use',
      ...[bytes(free), bytes(answer.inactive_split_bytes)],
    ),
    outside > 0 && t('{0} live in no segment that the file names', bytes(outside)),
  ];
  return words.filter((word) => word !== false).join(' · ');
}
