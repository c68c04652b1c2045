// Which size fits: by this trace alone, or beside one of another size, which shows what grows. A part of the pane of what
// would have happened.

import { useSignal } from '@preact/signals';
import type { Ref, VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { GrowingLine, HowLarge as Found } from '../../../../extension/shared/protocol.gen';
import { bytes } from '../../base/format';
import { count, said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf, shorten, visible } from '../../base/text';
import { number, SizeCell, TableHead } from '../../widgets/table-parts';
import type { TimelineSession } from '../session';

const GIB = 2 ** 30;

interface Answer {
  readonly sentences: readonly string[];
  /** What grows, and the two sizes; null by one trace alone. */
  readonly growing: { readonly lines: Found['lines']; readonly sizes: readonly [number, number] } | null;
}

/** `capacity`: what could be reserved, as far as the file says it. */
export function HowLarge({
  context,
  capacity,
}: {
  readonly context: TimelineSession;
  readonly capacity: number | null;
}): VNode {
  const latest = useMemo(() => new Latest(), []);
  useEffect(() => () => latest.cancel(), []);
  const answer = useSignal<Answer>({ sentences: [], growing: null });
  const size = useRef<HTMLInputElement>(null);
  const otherSize = useRef<HTMLInputElement>(null);
  const memory = useRef<HTMLInputElement>(null);
  const { api, compare, device, whatIf } = context;
  const other = compare.other?.is === 'open' && compare.other.info.model === 'timeline' ? compare.open : null;
  const name = other ? shorten(other.name, 60) : '';
  const ask = (): void => {
    const fields = [size, ...(other ? [otherSize] : []), memory].map(({ current }) => current);
    if (fields.some((field) => field?.reportValidity() !== true)) return;
    const gib = Number(memory.current?.value);
    const asked = {
      device: device.device,
      size: Number(size.current?.value),
      capacity_bytes: gib > 0 ? Math.round(gib * GIB) : capacity,
    };
    const show = (sentences: readonly string[], growing: Answer['growing'] = null): void => {
      answer.value = { sentences, growing };
    };
    const failed = (error: unknown): void => show([messageOf(error)]);
    show([t('Replaying…')]);
    if (!other) {
      latest.ask(
        api.request('memlens/howLarge', asked),
        ({ said: sentences }) => show(sentences.map(said)),
        failed,
      );
      return;
    }
    const sizes = [Number(otherSize.current?.value), asked.size].sort((a, b) => a - b);
    const [small = 0, large = 0] = sizes;
    const beside = {
      ...asked,
      other_device: other.device.device,
      other_size: Number(otherSize.current?.value),
    };
    latest.ask(
      api.request('memlens/compareSizes', beside),
      ({ found, said: sentences }) =>
        show(sentences.map(said), { lines: found.lines, sizes: [small, large] }),
      failed,
    );
  };
  return (
    <details class="what-if-sizes" open={whatIf.sizesShown.value}>
      <summary>{t('How Large May the Batch Be?')}</summary>
      {/* pages of views may not submit forms */}
      <div class="what-if-fields">
        <SizeField field={size} name="size" label={t('Size in this run')} ask={ask} />
        {other && <SizeField field={otherSize} name="other" label={t('Size in {0}', name)} ask={ask} />}
        <label>
          {t('Memory to reserve, in GiB')}
          <input
            ref={memory}
            name="memory"
            type="number"
            min="0"
            max="100000"
            step="any"
            required={capacity === null && !other}
            onKeyDown={onEnter(ask)}
            placeholder={capacity === null ? '' : (capacity / GIB).toFixed(2)}
          />
        </label>
        <button type="button" class="button secondary what-if-ask" onClick={ask}>
          {t('Replay')}
        </button>
      </div>
      {!other && (
        <p class="muted">
          {t('Beside a run of another batch, sequence or model it is known what grows, and how.')}{' '}
          <button type="button" class="link" onClick={() => api.post({ type: 'chooseOther' })}>
            {t('Compare with Another Snapshot…')}
          </button>
        </p>
      )}
      <div role="status">
        {answer.value.sentences.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
      {answer.value.growing && <Growing {...answer.value.growing} />}
    </details>
  );
}

const onEnter =
  (ask: () => void) =>
  (event: KeyboardEvent): void => {
    if (event.key === 'Enter') ask();
  };

function SizeField(props: {
  readonly field: Ref<HTMLInputElement>;
  readonly name: string;
  readonly label: string;
  readonly ask: () => void;
}): VNode {
  return (
    <label>
      <bdi>{props.label}</bdi>
      <input
        ref={props.field}
        name={props.name}
        type="number"
        min="1"
        max="1000000000"
        step="1"
        required
        onKeyDown={onEnter(props.ask)}
      />
    </label>
  );
}

/** The lines at the larger run's peak, and how each grows. */
function Growing({ lines, sizes: [small, large] }: NonNullable<Answer['growing']>): VNode {
  return (
    <table class="what-if-growing">
      <TableHead
        columns={[
          t('Line'),
          number(t('At size {0}', count(small))),
          number(t('At size {0}', count(large))),
          t('It grows'),
        ]}
      />
      <tbody>
        {lines.map((line) => (
          <tr key={said(line.name)}>
            <th scope="row">{visible(shorten(said(line.name), 200))}</th>
            <SizeCell size={line.smaller_bytes}>{bytes(line.smaller_bytes)}</SizeCell>
            <SizeCell size={line.bytes}>{bytes(line.bytes)}</SizeCell>
            <td>{growthOf(line)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function growthOf({ growth }: GrowingLine): string {
  switch (growth) {
    case 'constant':
      return t('not at all');
    case 'linear':
      return t('in proportion');
    case 'quadratic':
      return t('with the square');
    case 'otherwise':
      return t('unknown');
  }
}
