// What is compared with what: names, devices, swapping, choosing another; and the same while there is none.

import type { VNode } from 'preact';
import type { OrderedBy, OtherSnapshot } from '../../../extension/shared/messages';
import type { Api } from '../api';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { shorten } from '../base/text';
import { MODELS, type Model } from '../shell/model';
import { Dropdown } from '../widgets/choice';
import { IconButton } from '../widgets/icon-button';
import type { Compare } from './comparison';
import { keepTyping } from '../shell/keyboard';

/** A view that is compared with another. */
export interface ComparedView {
  readonly api: Pick<Api, 'post'>;
  readonly compare: Compare;
  readonly info: { readonly model: Model };
}

export interface BannerText {
  readonly text: string;
  readonly buttons: readonly {
    readonly text: string;
    readonly press: () => void;
    readonly second?: boolean;
  }[];
}

export function Banner({ text, buttons }: BannerText): VNode {
  return (
    <div class="compare-banner" role="status">
      <p>
        <bdi>{text}</bdi>
      </p>
      <div class="compare-buttons">
        {buttons.map((button) => (
          <button
            key={button.text}
            type="button"
            class={button.second ? 'button secondary' : 'button'}
            onClick={button.press}
          >
            {button.text}
          </button>
        ))}
      </div>
    </div>
  );
}

/** What is being opened, what went wrong, or how to begin; null when there is something to compare. */
export function bannerOf(context: ComparedView): BannerText | null {
  const { other, unlike } = context.compare;
  const post = (type: 'chooseOther' | 'closeOther' | 'retryOther') => (): void => context.api.post({ type });
  if (other === null)
    return {
      text: MODELS[context.info.model].compared,
      buttons: [{ text: t('Compare with Another Snapshot…'), press: post('chooseOther') }],
    };
  const name = shorten(other.name, 60);
  if (other.is === 'opening')
    return {
      text: openingText(name, other),
      buttons: [{ text: t('Cancel'), press: post('closeOther'), second: true }],
    };
  if (other.is === 'failed')
    return {
      text: shorten(`${name}: ${other.problem.message}. ${other.problem.advice}`, 2000),
      buttons: [
        { text: t('Try Again'), press: post('retryOther') },
        { text: t('Choose Another…'), press: post('chooseOther'), second: true },
      ],
    };
  return unlike === null
    ? null
    : {
        text: shorten(unlike, 2000),
        buttons: [{ text: t('Choose Another…'), press: post('chooseOther') }],
      };
}

function openingText(name: string, { stage, fraction }: OtherSnapshot & { is: 'opening' }): string {
  const doing = stage || t('starting');
  return fraction === null
    ? t('Opening {0}: {1}', name, doing)
    : t('Opening {0}: {1} {2}%', name, doing, Math.round(fraction * 100));
}

function orderWords(by: OrderedBy): string {
  switch (by) {
    case 'recorded':
      return t('The snapshot recorded earlier counts as “before”');
    case 'chosen':
      return t(
        'The files don’t say when they were recorded: the one that was selected first counts as “before”',
      );
    case 'named':
      return t(
        'The files don’t say when they were recorded: the one whose name says that it is earlier counts as “before”',
      );
    case 'modified':
      return t('The files don’t say when they were recorded: the one written earlier counts as “before”');
    case 'name':
      return t('Both files have the same time: the first by name counts as “before”');
  }
}

/** An order that the snapshots themselves don't give isn't taken silently. */
function orderNote(by: OrderedBy): VNode | null {
  switch (by) {
    case 'recorded':
    case 'chosen':
      return null;
    case 'named':
      return <Note by={by} text={t('by the files’ names')} />;
    case 'modified':
      return <Note by={by} text={t('by the files’ times')} />;
    case 'name':
      return <Note by={by} text={t('same time, by name')} />;
  }
}

function Note({ by, text }: { readonly by: OrderedBy; readonly text: string }): VNode {
  return (
    <span class="muted compare-order" title={orderWords(by)}>
      {text}
    </span>
  );
}

/** Words that leave only the rows which have them. */
export function SearchBox(props: {
  readonly placeholder: string;
  readonly hidden: boolean;
  readonly search: (words: string) => void;
}): VNode {
  return (
    <input
      class="compare-search"
      type="search"
      hidden={props.hidden}
      placeholder={props.placeholder}
      aria-label={t('Only rows with these words')}
      spellcheck={false}
      onInput={({ currentTarget }) => props.search(currentTarget.value)}
      onKeyDown={keepTyping}
    />
  );
}

/** The two names, in the order before, after. */
export function Sides({ context }: { readonly context: ComparedView }): VNode | null {
  const { other } = context.compare;
  if (other?.is !== 'open') return null;
  const { compare } = context;
  const { settings } = compare;
  const mine = <Side name={compare.ownName} />;
  const theirs = (
    <Side name={other.name}>
      <Devices compare={compare} />
    </Side>
  );
  // A snapshot beside itself has no order in time, and one that was swapped has the user's.
  const byTime = !other.itself && settings.otherFirst === other.older;
  return (
    <>
      <span class="muted" {...(byTime && { title: orderWords(other.orderedBy) })}>
        {t('before')}
      </span>
      {settings.otherFirst ? theirs : mine}
      <button
        type="button"
        class="text-button"
        title={t('Swap before and after')}
        aria-label={t('Swap before and after')}
        onClick={() => compare.set({ otherFirst: !settings.otherFirst })}
      >
        {t('⇄ Swap')}
      </button>
      <span class="muted">{t('after')}</span>
      {settings.otherFirst ? mine : theirs}
      {byTime && orderNote(other.orderedBy)}
      <IconButton
        icon="close"
        label={t('Stop comparing')}
        press={() => context.api.post({ type: 'closeOther' })}
      />
    </>
  );
}

function Side({ name, children }: { readonly name: string; readonly children?: VNode }): VNode {
  return (
    <span class="compare-side" title={shorten(name, 300)}>
      <bdi>{shorten(name, 36)}</bdi>
      {children}
    </span>
  );
}

function Devices({ compare }: { readonly compare: Compare }): VNode | null {
  const { open } = compare;
  if (!open || open.devices.length < 2) return null;
  return (
    <Dropdown
      label={t('Device of {0}', shorten(open.name, 60))}
      value={String(open.device.device)}
      options={open.devices.map(({ device, name, peak_bytes: peak }) => ({
        value: String(device),
        text: t('{0} · peak {1}', said(name), bytes(peak)),
      }))}
      change={(device) => compare.set({ device: Number(device) })}
    />
  );
}
