// What is shown instead of a picture: how far the reading is, or why there is none.

import { signal } from '@preact/signals';
import { render, type ComponentChildren, type VNode } from 'preact';
import type { Problem } from '../../../extension/shared/protocol.gen';
import { count, t } from '../base/l10n';
import { visible } from '../base/text';
import { element } from '../widgets/dom';

/** `children` stand below the product's sign, which is a few bands. */
function screen(role: 'alert' | 'status' | null, names: string, children: ComponentChildren): HTMLElement {
  const root = element('main', { class: names, ...(role === null ? {} : { role }) });
  render(
    <div class="screen-box">
      <div class="screen-sign" aria-hidden="true">
        {[1, 2, 3, 4].map((n) => (
          <i key={n} class={`sign-${n}`} />
        ))}
      </div>
      {children}
    </div>,
    root,
  );
  return root;
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

interface Progress {
  readonly stage: string;
  /** From 0 to 1; null where it isn't known. */
  readonly fraction: number | null;
}

export class ProgressScreen {
  readonly root: HTMLElement;
  private readonly progress = signal<Progress>({ stage: t('Opening…'), fraction: null });

  constructor(cancel: () => void) {
    this.root = screen(
      null,
      'screen',
      <>
        <ProgressLine progress={this.progress} />
        <div class="screen-buttons">
          <Button text={t('Cancel')} press={cancel} />
        </div>
      </>,
    );
  }

  /** An empty stage is the one before. */
  update(stage: string, fraction: number | null): void {
    this.progress.value = { stage: stage || this.progress.value.stage, fraction };
  }
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
        <span class="screen-percent">{percent === null ? '' : `${percent} %`}</span>
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
const HAS_LOG: ReadonlySet<string> = new Set(['internal', 'ingest-died']);

export interface FailedActions {
  readonly retry: () => void;
  readonly openAsText: () => void;
  readonly showLog: () => void;
}

export function failedScreen(problem: Problem, canOpenAsText: boolean, actions: FailedActions): HTMLElement {
  const { code, message, advice, offset } = problem;
  return screen(
    'alert',
    code === 'cancelled' ? 'screen' : 'screen failed',
    <>
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
        {problem.retry && <Button text={t('Retry')} press={actions.retry} primary />}
        {HAS_LOG.has(code) && <Button text={t('Show Log')} press={actions.showLog} />}
        {canOpenAsText && <Button text={t('Open as text')} press={actions.openAsText} />}
      </div>
    </>,
  );
}

/** A snapshot in which nothing was recorded, and what to do about it. */
export function emptyScreen(text: string): HTMLElement {
  return screen(
    'status',
    'screen',
    <p>
      <bdi>{visible(text)}</bdi>
    </p>,
  );
}
