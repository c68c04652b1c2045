// Which size certainly fits, by this trace alone: a part of the pane of what would have happened.

import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
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
  const ask = (form: HTMLFormElement): void => {
    const fields = new FormData(form);
    const memory = Number(fields.get('memory'));
    answer.value = [t('Replaying…')];
    latest.ask(
      context.api.request('memlens/howLarge', {
        device: context.device.device,
        size: Number(fields.get('size')),
        capacity_bytes: memory > 0 ? Math.round(memory * GIB) : null,
      }),
      ({ said: sentences }) => {
        answer.value = sentences.map(said);
      },
      (error) => {
        answer.value = [messageOf(error)];
      },
    );
  };
  return (
    <details class="what-if-sizes">
      <summary>{t('How Large May the Batch Be?')}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          ask(event.currentTarget);
        }}
      >
        <label>
          {t('Size in this run')}
          <input name="size" type="number" min="1" max="1000000000" step="1" required />
        </label>
        <label>
          {t('Memory to reserve, in GiB')}
          <input
            name="memory"
            type="number"
            min="0"
            max="100000"
            step="any"
            required={capacity === null}
            placeholder={capacity === null ? '' : (capacity / GIB).toFixed(2)}
          />
        </label>
        <button type="submit" class="button secondary">
          {t('Replay')}
        </button>
      </form>
      <div role="status">
        {answer.value.map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
    </details>
  );
}
