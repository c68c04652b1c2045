// What is shown instead of a picture: how far the reading is, or why there is none.

import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import type { Problem } from '../../../extension/shared/protocol.gen';
import { count, t } from '../base/l10n';
import { visible } from '../base/text';

interface ScreenProps {
  readonly role?: 'alert' | 'status';
  readonly class?: string;
  /** They stand below the product's sign, which is a few bands. */
  readonly children: ComponentChildren;
}

function Screen({ role, class: name = 'screen', children }: ScreenProps): VNode {
  const attributes: Readonly<Record<string, string>> = role ? { role } : {};
  return (
    <main class={name} {...attributes}>
      <div class="screen-box">
        <div class="screen-sign" aria-hidden="true">
          {[1, 2, 3, 4].map((n) => (
            <i key={n} class={`sign-${n}`} />
          ))}
        </div>
        {children}
      </div>
    </main>
  );
}

function Button({
  text,
  press,
  primary = false,
}: {
  readonly text: string;
  readonly press: () => void;
  readonly primary?: boolean;
}): VNode {
  return (
    <button type="button" class={primary ? 'button' : 'button secondary'} onClick={press}>
      {text}
    </button>
  );
}

/** How far the reading is. */
export interface Progress {
  readonly stage: string;
  /** From 0 to 1; null where it isn't known. */
  readonly fraction: number | null;
}

interface ProgressProps {
  readonly progress: ReadonlySignal<Progress>;
  readonly cancel: () => void;
}

export function ProgressScreen({ progress, cancel }: ProgressProps): VNode {
  return (
    <Screen>
      <ProgressLine progress={progress} />
      <div class="screen-buttons">
        <Button text={t('Cancel')} press={cancel} />
      </div>
    </Screen>
  );
}

function ProgressLine({ progress }: { readonly progress: { readonly value: Progress } }): VNode {
  const { stage, fraction } = progress.value;
  const share = fraction === null ? null : Math.min(Math.max(fraction, 0), 1);
  const percent = share === null ? null : Math.floor(share * 100);
  return (
    <>
      <div class="screen-line">
        <p class="screen-stage" aria-live="polite">
          {visible(stage)}
        </p>
        <span class="screen-percent">{percent === null ? '' : `${percent}%`}</span>
      </div>
      <div
        class={share === null ? 'progress unknown' : 'progress'}
        role="progressbar"
        aria-label={t('Reading the snapshot')}
        {...(percent === null ? {} : { 'aria-valuenow': percent })}
      >
        <div class="progress-fill" style={{ transform: share === null ? '' : `scaleX(${share})` }} />
      </div>
    </>
  );
}

/** Failures of which the log says more than the sentence. */
const HAS_LOG: ReadonlySet<string> = new Set([
  'internal',
  'ingest-died',
  'no-server',
  'no-python',
  'no-libraries',
]);
/** The server has no Python; the second is of a checkout, in which installing one is no help. */
const NO_PYTHON = 'no-python';
const NO_LIBRARIES = 'no-libraries';

/** What one of its buttons asks the host for. */
export type FailedAction = 'retry' | 'openAsText' | 'installPython' | 'openPythonSetting' | 'showLog';

interface FailedProps {
  readonly problem: Problem;
  readonly canOpenAsText: boolean;
  readonly press: (action: FailedAction) => void;
}

export function FailedScreen({ problem, canOpenAsText, press }: FailedProps): VNode {
  const { code, message, advice, offset } = problem;
  const isRetryFirst = code !== NO_PYTHON;
  return (
    <Screen role="alert" class={code === 'cancelled' ? 'screen' : 'screen failed'}>
      <p class="screen-stage">
        <bdi>{visible(message)}</bdi>
      </p>
      {advice !== '' && (
        <p class="muted">
          <bdi>{visible(advice)}</bdi>
        </p>
      )}
      {offset !== null && <p class="muted code">{t('at byte {0}', count(offset))}</p>}
      <div class="screen-buttons">
        {code === NO_PYTHON && (
          <Button text={t('Install Python')} press={() => press('installPython')} primary />
        )}
        {(code === NO_PYTHON || code === NO_LIBRARIES) && (
          <Button text={t('Open Settings')} press={() => press('openPythonSetting')} />
        )}
        {problem.retry && <Button text={t('Retry')} press={() => press('retry')} primary={isRetryFirst} />}
        {HAS_LOG.has(code) && <Button text={t('Show Log')} press={() => press('showLog')} />}
        {canOpenAsText && <Button text={t('Open as text')} press={() => press('openAsText')} />}
      </div>
    </Screen>
  );
}

/** A snapshot in which nothing was recorded, and what to do about it. */
export function EmptyScreen({ text }: { readonly text: string }): VNode {
  return (
    <Screen role="status">
      <p>
        <bdi>{visible(text)}</bdi>
      </p>
    </Screen>
  );
}
