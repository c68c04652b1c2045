// What is said while an answer takes longer than a moment, and the button that gives it up.

import type { VNode } from 'preact';
import { t } from '../base/l10n';
import { Done } from '../widgets/done';

interface WaitingProps {
  readonly text: string;
  /** How much of it is done, 0 to 1, where that is known. */
  readonly done: number | null;
  readonly cancel: () => void;
}

/** Not to be seen before a tenth of a second is over. */
export function Waiting({ text, done, cancel }: WaitingProps): VNode {
  return (
    <p class="muted heap-waiting">
      <span role="status">{text}</span> {done !== null && <Done text={text} done={done} />}{' '}
      <button type="button" class="link" onClick={cancel}>
        {t('Cancel')}
      </button>
    </p>
  );
}

/** An answer was given up: it can be asked for again. */
export function GivenUp({ again }: { readonly again: () => void }): VNode {
  return (
    <p class="muted heap-none" role="status">
      {t('Cancelled.')}{' '}
      <button type="button" class="link" onClick={again}>
        {t('Try Again')}
      </button>
    </p>
  );
}
