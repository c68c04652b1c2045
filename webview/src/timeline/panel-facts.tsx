// The figures of a device, of some allocations, or of one, as the details list them.

import { Fragment, type VNode } from 'preact';
import type { AllocationSummary, DeviceInfo, Totals } from '../../../extension/shared/protocol.gen';
import { bytes, categoryName, exactBytes, peakText, stateName, time } from '../base/format';
import { count, plural, t } from '../base/l10n';
import { shorten, visible } from '../base/text';

/** "128 allocations, 1.2 GiB allocated in total, 300 MiB live at the peak" */
export function sameStackSentence(totals: Totals): string {
  return plural(
    totals.count,
    '{0} allocation, {1} allocated in total, {2} live at the peak',
    '{0} allocations, {1} allocated in total, {2} live at the peak',
    bytes(totals.total_bytes),
    bytes(totals.live_at_peak_bytes),
  );
}

type Fact = readonly [name: string, value: string, title?: string] | null;

function Facts({ rows }: { readonly rows: readonly Fact[] }): VNode {
  return (
    <dl class="facts">
      {rows.map((row) => {
        if (!row) return null;
        const [name, value, title] = row;
        return (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd {...(title === undefined ? {} : { title })}>
              <bdi>{visible(value)}</bdi>
            </dd>
          </Fragment>
        );
      })}
    </dl>
  );
}

function momentText(moment: number, at: number | null): string {
  return at === null ? t('event {0}', count(moment)) : t('{0} (event {1})', time(at), count(moment));
}

/** "1.2 GiB in 34 allocations" */
function inAllocations(size: number, many: number): string {
  return plural(many, '{1} in {0} allocation', '{1} in {0} allocations', bytes(size));
}

export function DeviceFacts({ device: d }: { readonly device: DeviceInfo }): VNode {
  const live = inAllocations(d.live_at_end_bytes, d.live_at_end_count);
  const held = d.reserved_at_end_bytes;
  const reserved: Fact = held === null ? null : [t('Reserved at the end'), bytes(held), exactBytes(held)];
  if (d.events === 0) return <Facts rows={[[t('Live'), live, exactBytes(d.live_at_end_bytes)], reserved]} />;
  const rows: Fact[] = [
    [t('Peak'), peakText(d), exactBytes(d.peak_bytes)],
    [t('Live at the start'), bytes(d.live_at_start_bytes), exactBytes(d.live_at_start_bytes)],
    [t('Live at the end'), live, exactBytes(d.live_at_end_bytes)],
    // Other recorders than the CUDA allocator's know of nothing that is reserved.
    held === 0 ? null : reserved,
    [t('Allocations'), count(d.allocations)],
    [t('Events'), count(d.events)],
    d.ooms > 0 ? [t('Out of memory'), plural(d.ooms, '{0} time', '{0} times')] : null,
  ];
  return <Facts rows={rows} />;
}

export function TotalFacts({ totals }: { readonly totals: Totals }): VNode {
  const rows: Fact[] = [
    [t('Total allocated'), bytes(totals.total_bytes), exactBytes(totals.total_bytes)],
    [t('Allocations'), count(totals.count)],
    [
      t('Live at the peak'),
      t('{0} in {1}', bytes(totals.live_at_peak_bytes), count(totals.live_at_peak_count)),
      exactBytes(totals.live_at_peak_bytes),
    ],
    [t('Live at the end'), bytes(totals.live_at_end_bytes), exactBytes(totals.live_at_end_bytes)],
    [t('Largest'), bytes(totals.largest_bytes), exactBytes(totals.largest_bytes)],
  ];
  return <Facts rows={rows} />;
}

export function AllocationFacts({
  allocation: a,
  inferredModule,
  inferredBlockBytes,
}: {
  readonly allocation: AllocationSummary;
  readonly inferredModule: string | null;
  readonly inferredBlockBytes: number | null;
}): VNode {
  const start = a.before_trace
    ? t('allocated before recording')
    : momentText(a.start_moment, a.start_time_us);
  const end = a.end_moment === null ? t('never freed in the trace') : momentText(a.end_moment, a.end_time_us);
  const rows: Fact[] = [
    [t('Requested'), `${bytes(a.size_bytes)} (${exactBytes(a.size_bytes)})`],
    a.rounded_bytes === null
      ? inferredBlockBytes === null
        ? null
        : [
            t('Rounded'),
            t('{0} (inferred)', `${bytes(inferredBlockBytes)} (${exactBytes(inferredBlockBytes)})`),
          ]
      : [t('Rounded'), `${bytes(a.rounded_bytes)} (${exactBytes(a.rounded_bytes)})`],
    [t('Start'), start],
    [t('End'), end],
    a.lifetime_us === null ? null : [t('Lifetime'), time(a.lifetime_us)],
    [t('State'), stateName(a.state)],
    a.category === null ? null : [t('Category'), shorten(categoryName(a.category), 60)],
    inferredModule === null ? null : [t('Module'), t('{0} (inferred)', shorten(inferredModule, 200))],
    a.operator === null ? null : [t('Operator'), shorten(a.operator, 80)],
    [t('Address'), shorten(a.address, 40)],
    [t('Stream'), shorten(a.stream, 40)],
    [t('Number'), count(a.allocation)],
  ];
  return <Facts rows={rows} />;
}
