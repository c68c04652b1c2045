// How large the allocations of the set are: a histogram with a bin for each power of two.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { SizeBin, SizesAnswer } from '../../../extension/shared/protocol.gen';
import { countedFigure, exactFigure, figure } from '../base/figure';
import { bytes, share } from '../base/format';
import { count, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { messageOf, visible } from '../base/text';
import type { ViewContext } from '../shell/context';
import { both } from '../shell/filter-terms';
import { Bar } from '../shell/bar';
import type { BarRoom, Pane, PaneRoom } from '../shell/pane';
import { Choices } from '../widgets/choice';
import { number, TableHead } from '../widgets/table-parts';

type By = 'bytes' | 'count';

export const sizesPane = (context: ViewContext): Pane => {
  const by = signal<By>('bytes');
  const answer = signal<SizesAnswer | null>(null);
  const summary = signal('');
  const latest = new Latest();
  const narrow = (bin: SizeBin): void => context.setFilter(both(context.filter, bin.filter));
  const Head = ({ hidden }: BarRoom): VNode => (
    <Bar class="sizes-head" label={t('Sizes')} hidden={hidden}>
      <Choices<By>
        label={t('What bars mean')}
        options={[
          { value: 'bytes', text: t('By amount') },
          { value: 'count', text: t('By count') },
        ]}
        value={by.value}
        change={(chosen) => {
          by.value = chosen;
        }}
      />
      <span class="muted" role="status">
        {summary}
      </span>
    </Bar>
  );
  return {
    Bar: Head,
    View: (room) => <Histogram {...{ by, answer, narrow, room }} />,
    update: (changes) => {
      if (!changes.has('set')) return;
      latest.ask(
        context.api.request('memlens/sizes', { of: context.set }),
        (found) => {
          answer.value = found;
          summary.value = visible(summaryOf(found, context.setName));
        },
        (error) => {
          answer.value = null;
          summary.value = messageOf(error);
        },
      );
    },
    dispose: () => latest.cancel(),
  };
};

function summaryOf({ bins, ...unknown }: SizesAnswer, setName: string): string {
  if (unknown.unknown_count === 0) return bins.length === 0 ? t('Nothing {0}', setName) : '';
  const size = figure(unknown.unknown_bytes);
  return t('{0}; {1} in {2} of unknown size', setName, size, countedFigure(unknown.unknown_count));
}

interface HistogramProps {
  readonly by: { readonly value: By };
  readonly answer: { readonly value: SizesAnswer | null };
  readonly narrow: (bin: SizeBin) => void;
  readonly room: PaneRoom;
}

function Histogram({ by: { value: by }, answer, narrow, room }: HistogramProps): VNode {
  // each says its sizes, so that one without allocations needn't be there
  const bins = (answer.value?.bins ?? []).filter((bin) => bin.bytes !== 0 || bin.count !== 0);
  const most = Math.max(1, ...bins.map((bin) => bin[by]));
  const whole = bins.reduce((sum, bin) => sum + bin[by], 0);
  return (
    <section {...room} class="sizes pane">
      <div class="sizes-body">
        <table>
          <TableHead columns={[t('Allocation size'), t('Share'), number(t('Amount')), number(t('Count'))]} />
          <tbody>
            {bins.map((bin) => (
              <tr key={bin.below_bytes}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    title={t('Filter every view to this')}
                    onClick={() => narrow(bin)}
                  >
                    {rangeOf(bin)}
                  </button>
                </th>
                <td class="sizes-cell" title={share(bin[by], whole)}>
                  <span
                    class="sizes-bar"
                    aria-hidden="true"
                    hidden={bin[by] <= 0}
                    style={{ '--share': String(Math.max(bin[by], 0) / most) }}
                  />
                </td>
                <td class="number" title={exactFigure(bin.bytes)}>
                  {figure(bin.bytes)}
                </td>
                <td class="number">{count(bin.count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function rangeOf({ least_bytes: least, below_bytes: below }: SizeBin): string {
  if (below <= 2) return bytes(Math.max(below - 1, 0));
  return t('{0} to {1}', bytes(least), bytes(below));
}
