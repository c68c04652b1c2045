// Which size certainly fits, by this trace alone: a part of the pane of what would have happened.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { messageOf } from '../../base/text';
import type { TimelineContext } from '../context';

const GIB = 2 ** 30;

/** `capacity`: what could be reserved, as far as the file says it. */
export function HowLarge({
  context,
  capacity,
}: {
  readonly context: TimelineContext;
  readonly capacity: number | null;
}): VNode {
  const latest = useMemo(() => new Latest(), []);
  useEffect(() => () => latest.cancel(), []);
  const answer = useSignal<readonly string[]>([]);
  const [size, memory] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const ask = (): void => {
    const fields = [size.current, memory.current];
    if (fields.some((field) => field?.reportValidity() !== true)) return;
    const gib = Number(memory.current?.value);
    answer.value = [t('Replaying…')];
    latest.ask(
      context.api.request('memlens/howLarge', {
        device: context.device.device,
        size: Number(size.current?.value),
        capacity_bytes: gib > 0 ? Math.round(gib * GIB) : null,
      }),
      ({ said: sentences }) => {
        answer.value = sentences.map(said);
      },
      (error) => {
        answer.value = [messageOf(error)];
      },
    );
  };
  const onEnter = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') ask();
  };
  return (
    <details class="what-if-sizes">
      <summary>{t('How Large May the Batch Be?')}</summary>
      {/* pages of views may not submit forms */}
      <div class="what-if-fields">
        <label>
          {t('Size in this run')}
          <input
            ref={size}
            name="size"
            type="number"
            min="1"
            max="1000000000"
            step="1"
            required
            onKeyDown={onEnter}
          />
        </label>
        <label>
          {t('Memory to reserve, in GiB')}
          <input
            ref={memory}
            name="memory"
            type="number"
            min="0"
            max="100000"
            step="any"
            required={capacity === null}
            onKeyDown={onEnter}
            placeholder={capacity === null ? '' : (capacity / GIB).toFixed(2)}
          />
        </label>
        <button type="button" class="button secondary" onClick={ask}>
          {t('Replay')}
        </button>
      </div>
      <div role="status">
        {answer.value.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
    </details>
  );
}
