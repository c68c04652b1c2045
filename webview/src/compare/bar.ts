// What is compared with what: names, devices, swapping, choosing another; and the same while there is none.

import type { Api } from '../api';
import type { Compare } from './comparison';
import { MODELS, type Model } from '../shell/model';
import { element, iconButton, replace } from '../widgets/dom';
import { bytes } from '../base/format';
import { shorten } from '../base/text';

/** A view that is compared with another. */
export interface ComparedView {
  readonly api: Pick<Api, 'post'>;
  readonly compare: Compare;
  readonly info: { readonly model: Model };
}

/** Says in place what is being opened, what went wrong, or how to begin; null when there is something to compare. */
export function compareNotice(context: ComparedView): HTMLElement | null {
  const { other } = context.compare;
  const button = (text: string, press: () => void, secondary = false): HTMLElement =>
    element(
      'button',
      { class: secondary ? 'button secondary' : 'button', type: 'button', on: { click: press } },
      text,
    );
  const choose = (): void => {
    context.api.post({ type: 'chooseOther' });
  };
  const stop = (): void => {
    context.api.post({ type: 'closeOther' });
  };
  if (other === null)
    return notice(
      `Two ${MODELS[context.info.model].plural} side by side: what grew, what shrank, and ${MODELS[context.info.model].where}.`,
      button('Compare with an Earlier One…', choose),
    );
  const name = shorten(other.name, 60);
  if (other.is === 'opening') {
    const share = other.fraction === null ? '' : ` ${Math.round(other.fraction * 100)}%`;
    return notice(`Opening ${name}: ${other.stage || 'starting'}${share}`, button('Cancel', stop, true));
  }
  if (other.is === 'failed') {
    const retry = (): void => {
      context.api.post({ type: 'retryOther' });
    };
    return notice(
      `${name}: ${other.problem.message}. ${other.problem.advice}`,
      button('Try again', retry),
      button('Choose another…', choose, true),
    );
  }
  const { unlike } = context.compare;
  return unlike === null ? null : notice(`${name} ${unlike}`, button('Choose another…', choose));
}

function notice(text: string, ...buttons: HTMLElement[]): HTMLElement {
  return element(
    'div',
    { class: 'compare-notice', role: 'status' },
    element('p', {}, element('bdi', {}, text)),
    element('div', { class: 'compare-buttons' }, ...buttons),
  );
}

/** The two names, in the order before, after. */
export class CompareSides {
  readonly root = element('div', { class: 'compare-sides' });

  constructor(private readonly context: ComparedView) {}

  update(): void {
    const { context } = this;
    const { compare } = context;
    const { other, settings } = compare;
    if (other?.is !== 'open') {
      replace(this.root);
      return;
    }
    const mine = this.side(compare.ownName, null);
    const theirs = this.side(other.name, this.devices(compare));
    const [first, second] = settings.otherFirst ? [theirs, mine] : [mine, theirs];
    replace(
      this.root,
      element('span', { class: 'muted' }, 'before'),
      first,
      element(
        'button',
        {
          ...{ type: 'button', class: 'text-button', title: 'Swap before and after' },
          attributes: { 'aria-label': 'Swap before and after' },
          on: {
            click: () => {
              compare.set({ otherFirst: !settings.otherFirst });
            },
          },
        },
        '⇄ Swap',
      ),
      element('span', { class: 'muted' }, 'after'),
      second,
      iconButton('close', 'Stop comparing', () => {
        context.api.post({ type: 'closeOther' });
      }),
    );
  }

  private side(name: string, devices: HTMLElement | null): HTMLElement {
    return element(
      'span',
      { class: 'compare-side', title: shorten(name, 300) },
      element('bdi', {}, shorten(name, 36)),
      devices,
    );
  }

  private devices(compare: Compare): HTMLElement | null {
    const { open } = compare;
    if (!open || open.devices.length < 2) return null;
    const select = element('select', {
      class: 'dropdown',
      attributes: { 'aria-label': `Device of ${shorten(open.name, 60)}` },
      on: {
        change: () => {
          compare.set({ device: Number(select.value) });
        },
      },
    });
    for (const { device, peak_bytes: peak } of open.devices)
      select.append(
        element('option', { attributes: { value: device } }, `Device ${device} · peak ${bytes(peak)}`),
      );
    select.value = String(open.device.device);
    return select;
  }
}
