// The table of segments: a row of figures for each, and below it its blocks as a bar.

import type { ReadonlySignal } from '@preact/signals';
import type { RefObject, VNode } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { Fragment } from 'preact/jsx-runtime';
import type { AllocatorStateAnswer, SegmentState } from '../../../../extension/shared/protocol.gen';
import { exactBytes, bytes, share } from '../../base/format';
import { t, plural } from '../../base/l10n';
import { visible } from '../../base/text';
import { Bar } from '../../widgets/bar';
import type { TimelineSession } from '../session';
import type { BarRoom, PaneRoom } from '../../shell/pane';
import { Dropdown } from '../../widgets/choice';
import { IconButton } from '../../widgets/icon-button';
import { useResized } from '../../widgets/resized';
import { number, TableHead, SizeCell } from '../../widgets/table-parts';
import type { Blocks } from '../scene/blocks';
import { figureWords, poolName, since } from './state-words';

/** The segments are fetched by so many. */
export const PAGE = 100;

export type Order = 'size' | 'free' | 'address';
const ORDERS = [
  { value: 'size', text: t('Largest first') },
  { value: 'free', text: t('Most free first') },
  { value: 'address', text: t('By address') },
] as const;

export interface Row {
  readonly segment: SegmentState;
  readonly blocks: Blocks;
  /** Its figures; the bar is a row of its own below, so that it has the whole width. */
  root: HTMLTableRowElement | null;
  canvas: HTMLCanvasElement | null;
  /** The block that the arrow keys stand on. */
  at: number | null;
}

/** What is shown: all segments that were answered so far, and the last of the answers. */
export interface Shown {
  readonly answer: AllocatorStateAnswer;
  readonly rows: readonly Row[];
}

/** What the table shows, and what is done in it. */
export interface Segments {
  readonly context: Pick<TimelineSession, 'device'>;
  readonly root: RefObject<HTMLElement | null>;
  readonly shown: ReadonlySignal<Shown | null>;
  /** What is said of a block. */
  readonly block: ReadonlySignal<string>;
  readonly selected: ReadonlySignal<number | null>;
  readonly event: ReadonlySignal<string>;
  readonly order: ReadonlySignal<Order>;
  step(by: number): void;
  sort(order: Order): void;
  more(): void;
  draw(): void;
  blockUnder(row: Row, event: MouseEvent): number | null;
  pick(row: Row, block: number): void;
  showBlock(row: Row, block: number): void;
}

export function StateHead({ pane, room }: { readonly pane: Segments; readonly room: BarRoom }): VNode {
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

export function StateView({ pane, room }: { readonly pane: Segments; readonly room: PaneRoom }): VNode {
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

interface RowProps {
  readonly row: Row;
  readonly pane: Segments;
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
        <span
          title={t(
            'Inferred from the allocator’s rules for rounding and splitting; blocks are at least this large',
          )}
        >
          {t('Sizes of blocks that aren’t live at the trace’s end are inferred')}
        </span>
      )}
    </div>
  );
}
