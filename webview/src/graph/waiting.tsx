// What is said while an answer takes longer than a moment, and the button that gives it up.

import type { VNode } from 'preact';
import { t } from '../base/l10n';

interface WaitingProps {
  readonly text: string;
  readonly cancel: () => void;
}

/** Not to be seen before a tenth of a second is over. */
export function Waiting({ text, cancel }: WaitingProps): VNode {
  return (
    <p class="muted heap-waiting" role="status">
      {text}{' '}
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
