// What the tables of an out-of-memory event are made of: links to lines and allocations, shares, rows that unfold.

import { useSignal } from '@preact/signals';
import type { VNode, ComponentChildren } from 'preact';
import { useRef, useLayoutEffect } from 'preact/hooks';
import type {
  AllocationSummary,
  Frame,
  Mark,
  OomAnswer,
  PinningLine,
  Text,
} from '../../../../extension/shared/protocol.gen';
import { bytes, hasSource, nameOf, placeOf } from '../../base/format';
import { count, plural, said, t } from '../../base/l10n';
import { shortName } from '../../base/symbols';
import { shorten } from '../../base/text';
import { number, SizeCell, TableHead, type Column } from '../../widgets/table-parts';
import type { TimelineSession } from '../session';

/** What links change, and the event that they are about; null for none. */
export interface Linked {
  readonly context: Pick<TimelineSession, 'device' | 'select' | 'highlightStacks' | 'openFrame'>;
  readonly mark: Mark | null;
}

/** So many rows of a table are shown at first. */
const FEW = 8;

export function Block({
  block,
  linked,
}: {
  readonly block: AllocationSummary;
  readonly linked: Linked;
}): VNode {
  const { label } = block;
  return (
    <span class="oom-block">
      <AllocationLink
        text={bytes(block.rounded_bytes ?? block.size_bytes)}
        allocation={block.allocation}
        linked={linked}
      />{' '}
      {hasSource(label) ? (
        <FrameLink frame={label} linked={linked} />
      ) : (
        <bdi class="muted">{shortName(nameOf(block).title, 40)}</bdi>
      )}
    </span>
  );
}

interface FrameLinkProps {
  readonly frame: Frame | null;
  readonly linked: Linked;
  readonly operator?: Text | null;
  /** What is highlighted with it. */
  readonly stacks?: readonly number[];
}

export function LineCell({
  line: { frame, operator, stacks },
  linked,
}: {
  readonly line: Pick<OomAnswer['lines'][number], 'frame' | 'operator' | 'stacks'>;
  readonly linked: Linked;
}): VNode {
  return (
    <td class="wide">
      <FrameLink frame={frame} operator={operator} linked={linked} stacks={stacks} />
    </td>
  );
}

/** A link that opens a frame's line; without a line its text. */
export function FrameLink({
  frame,
  linked: { context },
  operator = null,
  stacks = [],
}: FrameLinkProps): VNode {
  if (!hasSource(frame)) {
    const text = operator ? said(operator) : (frame?.function ?? t('No stack'));
    return <bdi class={frame ? 'code' : 'muted'}>{shorten(text, 70)}</bdi>;
  }
  return (
    <button
      type="button"
      class="link"
      title={`${shorten(frame.file, 300)}:${frame.line}`}
      onClick={(event) => {
        if (stacks.length > 0) context.highlightStacks(new Set(stacks));
        context.openFrame(frame, event.ctrlKey || event.metaKey);
      }}
    >
      <bdi class="code">{shortName(frame.function, 50)}</bdi>{' '}
      <bdi class="place">{shorten(placeOf(frame), 60)}</bdi>
    </button>
  );
}

export function AllocationLink({
  text,
  allocation,
  linked: { context, mark },
}: {
  readonly text: string;
  readonly allocation: number;
  readonly linked: Linked;
}): VNode {
  return (
    <button
      type="button"
      class="link"
      title={t('Select allocation {0}', count(allocation))}
      data-allocation={allocation}
      onClick={() => {
        // selected where it was picked, if that is in the picture
        const isHere = mark?.device === context.device.device;
        context.select(allocation, isHere ? mark.moment : null);
      }}
    >
      {text}
    </button>
  );
}

/** A size with a bar for its share. */
export function ShareCell({ size, of }: { readonly size: number; readonly of: number }): VNode {
  const share = of > 0 ? Math.min(Math.max(size / of, 0), 1) : 0;
  return (
    <SizeCell size={size}>
      <span class="oom-bar" aria-hidden="true" style={{ '--share': String(share) }} />
      {bytes(size)}
    </SizeCell>
  );
}

/** A table of which the first rows are shown; a button shows the others. Nothing where there are none. */
export function LongTable<T>({
  title,
  columns,
  rows,
  cells,
}: {
  readonly title: string;
  readonly columns: readonly (Column | string)[];
  readonly rows: readonly T[];
  readonly cells: (row: T) => ComponentChildren;
}): VNode | null {
  const body = useRef<HTMLTableSectionElement>(null);
  const all = useSignal(rows.length <= FEW);
  const unfolded = useSignal(false);
  useLayoutEffect(() => {
    if (unfolded.value) body.current?.rows.item(FEW)?.querySelector<HTMLElement>('button')?.focus();
  }, [unfolded.value]);
  if (rows.length === 0) return null;
  return (
    <div>
      <table>
        <caption>{title}</caption>
        <TableHead columns={columns} />
        <tbody ref={body}>
          {(all.value ? rows : rows.slice(0, FEW)).map((row, i) => (
            <tr key={i}>{cells(row)}</tr>
          ))}
        </tbody>
      </table>
      {!all.value && (
        <button
          type="button"
          class="link"
          onClick={() => {
            all.value = true;
            unfolded.value = true;
          }}
        >
          {plural(rows.length - FEW, 'Show {0} more row', 'Show {0} more rows')}
        </button>
      )}
    </div>
  );
}

/** 0 is the default stream; others are the driver's addresses of them. */
export function streamName(stream: string): string {
  return stream === '0' ? t('0 (default)') : stream;
}

/** The lines with blocks in segments that are partly free; shares are of what is reserved. */
export function PinningTable({
  pinning,
  reserved,
  linked,
}: {
  readonly pinning: readonly PinningLine[];
  readonly reserved: number;
  readonly linked: Linked;
}): VNode {
  return (
    <LongTable
      title={t('Lines that fragment memory: their blocks hold split segments')}
      columns={[
        t('Line of code'),
        ...[t('Free beside its blocks'), t('Pinned only by this line')].map(number),
        ...[t('Its blocks'), t('Segments')].map(number),
      ]}
      rows={pinning}
      cells={(line) => (
        <>
          <LineCell line={line} linked={linked} />
          <ShareCell size={line.pinned_bytes} of={reserved} />
          <ShareCell size={line.alone_bytes} of={reserved} />
          <td class="number">
            <AllocationLink
              text={t('{0} in {1}', bytes(line.bytes), count(line.count))}
              allocation={line.largest_allocation}
              linked={linked}
            />
          </td>
          <td class="number">{count(line.segments)}</td>
        </>
      )}
    />
  );
}
