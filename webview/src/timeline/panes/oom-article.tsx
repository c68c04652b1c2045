// One out-of-memory event as text and tables. Everything in it can be reached by Tab and read aloud.

import type { VNode } from 'preact';
import type { Finding, FreePlace, OomAnswer, PinnedSegment } from '../../../../extension/shared/protocol.gen';
import { bytes, exactBytes, hasSource } from '../../base/format';
import { count, plural, t } from '../../base/l10n';
import { visible } from '../../base/text';
import { Phrase } from '../../widgets/phrase';
import { Said } from '../../widgets/said';
import { number } from '../../widgets/table-parts';
import { gapParts } from '../gap';
import {
  streamName,
  FrameLink,
  AllocationLink,
  LongTable,
  ShareCell,
  LineCell,
  PinningTable,
  Block,
  type Linked,
} from './oom-parts';

interface Part {
  readonly answer: OomAnswer;
  readonly linked: Linked;
}

export function OomArticle({
  answer,
  linked,
  device,
  goTo,
}: Part & { readonly device: string; readonly goTo: () => void }): VNode {
  return (
    <article>
      <h2>
        <Said text={answer.headline} />
      </h2>
      <p class="oom-head">
        <button type="button" class="button secondary" onClick={goTo}>
          {t('Go to the event')}
        </button>
        <span>{visible(t('{0}, stream {1}', device, streamName(answer.stream)))}</span>
        {answer.pool !== null && <span>{visible(t('pool {0}', answer.pool))}</span>}
        <span>
          {answer.asked_at === null ? (
            <Said text={answer.asked_by} />
          ) : (
            <Phrase
              text={t('requested at {0}')}
              parts={[<FrameLink frame={answer.asked_at} linked={linked} />]}
            />
          )}
        </span>
      </p>
      <div class="oom-columns">
        <div>
          <Findings title={t('What happened')} advice={false} answer={answer} linked={linked} />
          <Findings title={t('What would have helped')} advice={true} answer={answer} linked={linked} />
        </div>
        <div>
          <GapTable answer={answer} />
          <PlacesTable answer={answer} />
        </div>
      </div>
      <LinesTable answer={answer} linked={linked} />
      <PinningTable pinning={answer.pinning} reserved={answer.gap.reserved_bytes} linked={linked} />
      <PinnedTable answer={answer} linked={linked} />
    </article>
  );
}

function Findings({
  title,
  advice,
  answer,
  linked,
}: Part & { readonly title: string; readonly advice: boolean }): VNode | null {
  const mine = answer.findings.filter((finding) => finding.advice === advice);
  if (mine.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="oom-findings">
        {mine.map((finding, i) => (
          <FindingItem key={i} finding={finding} linked={linked} />
        ))}
      </ul>
    </>
  );
}

function FindingItem({
  finding: { text, frame, allocation, code },
  linked,
}: {
  readonly finding: Finding;
  readonly linked: Linked;
}): VNode {
  return (
    <li data-code={code}>
      <span>
        <Said text={text} />
      </span>{' '}
      {hasSource(frame) && <FrameLink frame={frame} linked={linked} />}
      {frame !== null && allocation !== null && ' '}
      {allocation !== null && (
        <AllocationLink text={t('Show the allocation')} allocation={allocation} linked={linked} />
      )}
    </li>
  );
}

function GapTable({ answer: { gap, segments_known: known } }: Pick<Part, 'answer'>): VNode {
  return (
    <LongTable
      title={
        known ? t('Reserved: {0}', bytes(gap.reserved_bytes)) : t('Active: {0}', bytes(gap.active_bytes))
      }
      columns={[t('What'), number(t('Bytes'))]}
      rows={gapParts(gap)}
      cells={({ name, bytes: size }) => (
        <>
          <td>{name}</td>
          <ShareCell size={size} of={gap.reserved_bytes} />
        </>
      )}
    />
  );
}

function placeName(why: FreePlace['why']): string {
  switch (why) {
    case 'usable':
      return t('For this request');
    case 'rest':
      return t('Slivers of at most 1 MiB, which aren’t split off');
    case 'other_size_class':
      return t('Segments of the other size class');
    case 'other_pool':
      return t('Private pools that are not the request’s');
    case 'other_stream':
      return t('Segments of other streams');
  }
}

function PlacesTable({ answer }: Pick<Part, 'answer'>): VNode | null {
  return (
    <LongTable
      title={t('Free within segments')}
      columns={[t('Where'), ...[t('Bytes'), t('Pieces'), t('Largest')].map(number)]}
      rows={answer.places}
      cells={(place) => (
        <>
          <td>{placeName(place.why)}</td>
          <ShareCell size={place.bytes} of={answer.gap.reserved_bytes} />
          <td class="number">{count(place.pieces)}</td>
          <td
            class="number"
            title={visible(t('at {0}, {1}', place.largest_address, exactBytes(place.largest_bytes)))}
          >
            {bytes(place.largest_bytes)}
          </td>
        </>
      )}
    />
  );
}

function LinesTable({ answer, linked }: Part): VNode {
  const all = answer.lines.reduce((sum, line) => sum + line.bytes, 0);
  return (
    <LongTable
      title={t('Live at that moment, by line')}
      columns={[t('Line of code'), ...[t('Bytes'), t('Allocations'), t('Largest')].map(number)]}
      rows={answer.lines}
      cells={(line) => (
        <>
          <LineCell line={line} linked={linked} />
          <ShareCell size={line.bytes} of={all} />
          <td class="number">{count(line.count)}</td>
          <td class="number">
            <AllocationLink
              text={bytes(line.largest_bytes)}
              allocation={line.largest_allocation}
              linked={linked}
            />
          </td>
        </>
      )}
    />
  );
}

function PinnedTable({ answer, linked }: Part): VNode {
  const { pinned, pinned_count: all } = answer;
  const more = all - pinned.length;
  // those that are large enough come first
  const useful = pinned[0]?.large_enough === true;
  return (
    <>
      <LongTable
        title={
          useful
            ? plural(
                all,
                'Segments that the request could have used but for the blocks in them: {0} segment',
                'Segments that the request could have used but for the blocks in them: {0} segments',
              )
            : plural(
                all,
                'Split segments with free pieces of the request’s kind: {0} segment, which would be too small even if it were empty',
                'Split segments with free pieces of the request’s kind: {0} segments, each of which would be too small even if it were empty',
              )
        }
        columns={[
          t('Segment'),
          ...[t('Size'), t('Free'), t('Largest piece')].map(number),
          ...(useful ? [t('If it were empty')] : []),
          t('Blocks in it'),
        ]}
        rows={pinned}
        cells={(segment) => <PinnedCells segment={segment} useful={useful} linked={linked} />}
      />
      {more > 0 && (
        <p class="muted">
          {plural(more, '{0} more segment with less to gain.', '{0} more segments with less to gain.')}
        </p>
      )}
    </>
  );
}

function PinnedCells({
  segment,
  useful,
  linked,
}: {
  readonly segment: PinnedSegment;
  /** Whether any of the table's segments would be large enough for the request. */
  readonly useful: boolean;
  readonly linked: Linked;
}): VNode {
  const more = segment.block_count - segment.blocks.length;
  return (
    <>
      <td>
        <bdi class="code">{visible(segment.address)}</bdi>
        {segment.expandable && <span class="muted"> {t('expandable')}</span>}
      </td>
      <td class="number">{bytes(segment.size_bytes)}</td>
      <ShareCell size={segment.free_bytes} of={segment.size_bytes} />
      <td class="number">{bytes(segment.largest_free_bytes)}</td>
      {useful && <td>{segment.large_enough ? t('large enough') : t('too small')}</td>}
      <td class="oom-blocks">
        {segment.blocks.map((block) => (
          <Block key={block.allocation} block={block} linked={linked} />
        ))}
        {more > 0 && <span class="muted">{plural(more, 'and {0} more block', 'and {0} more blocks')}</span>}
      </td>
    </>
  );
}
