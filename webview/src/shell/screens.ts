// What is shown instead of a picture: how far the reading is, or why there is none.

import { t } from '../base/l10n';
import type { Problem } from '../../../extension/shared/protocol.gen';
import { element, setText } from '../widgets/dom';
import { visible } from '../base/text';

export class ProgressScreen {
  readonly root: HTMLElement;
  private readonly stage = element(
    'p',
    { class: 'screen-stage', attributes: { 'aria-live': 'polite' } },
    t('Opening…'),
  );
  private readonly percent = element('span', { class: 'screen-percent' });
  private readonly fill = element('div', { class: 'progress-fill' });
  private readonly bar: HTMLElement;

  constructor(cancel: () => void) {
    this.bar = element(
      'div',
      {
        class: 'progress unknown',
        role: 'progressbar',
        attributes: { 'aria-label': t('Reading the snapshot') },
      },
      this.fill,
    );
    this.root = element(
      'main',
      { class: 'screen' },
      element(
        'div',
        { class: 'screen-box' },
        bands(),
        element('div', { class: 'screen-line' }, this.stage, this.percent),
        this.bar,
        element(
          'div',
          { class: 'screen-buttons' },
          element(
            'button',
            { class: 'button secondary', type: 'button', on: { click: cancel } },
            t('Cancel'),
          ),
        ),
      ),
    );
  }

  update(stage: string, fraction: number | null): void {
    if (stage) setText(this.stage, visible(stage));
    this.bar.classList.toggle('unknown', fraction === null);
    if (fraction === null) {
      this.percent.textContent = '';
      this.bar.removeAttribute('aria-valuenow');
      this.fill.style.transform = '';
      return;
    }
    const share = Math.min(Math.max(fraction, 0), 1);
    const percent = Math.floor(share * 100);
    setText(this.percent, `${percent} %`);
    this.bar.setAttribute('aria-valuenow', String(percent));
    this.fill.style.transform = `scaleX(${share})`;
  }
}

/** Failures of which the log says more than the sentence. */
const HAS_LOG: ReadonlySet<string> = new Set(['internal', 'ingest-died']);

export interface FailedActions {
  readonly retry: () => void;
  readonly openAsText: () => void;
  readonly showLog: () => void;
}

export function failedScreen(problem: Problem, canOpenAsText: boolean, actions: FailedActions): HTMLElement {
  const cancelled = problem.code === 'cancelled';
  return element(
    'main',
    { class: cancelled ? 'screen' : 'screen failed', role: 'alert' },
    element(
      'div',
      { class: 'screen-box' },
      bands(),
      element('p', { class: 'screen-stage' }, element('bdi', {}, visible(problem.message))),
      problem.advice !== '' && element('p', { class: 'muted' }, element('bdi', {}, visible(problem.advice))),
      problem.offset !== null &&
        element('p', { class: 'muted code' }, t('at byte {0}', problem.offset.toLocaleString('en-US'))),
      element(
        'div',
        { class: 'screen-buttons' },
        problem.retry &&
          element('button', { class: 'button', type: 'button', on: { click: actions.retry } }, t('Retry')),
        HAS_LOG.has(problem.code) &&
          element(
            'button',
            { class: 'button secondary', type: 'button', on: { click: actions.showLog } },
            t('Show Log'),
          ),
        canOpenAsText &&
          element(
            'button',
            { class: 'button secondary', type: 'button', on: { click: actions.openAsText } },
            t('Open as text'),
          ),
      ),
    ),
  );
}

/** A snapshot in which nothing was recorded, and what to do about it. */
export function emptyScreen(text: string): HTMLElement {
  return element(
    'main',
    { class: 'screen', role: 'status' },
    element('div', { class: 'screen-box' }, bands(), element('p', {}, element('bdi', {}, visible(text)))),
  );
}

/** A few bands, the product's sign. */
function bands(): HTMLElement {
  return element(
    'div',
    { class: 'screen-sign', attributes: { 'aria-hidden': 'true' } },
    ...[1, 2, 3, 4].map((n) => element('i', { class: `sign-${n}` })),
  );
}
