// What stands above and beside the picture of two runs.

import type { VNode } from 'preact';
import { bytes, time } from '../../base/format';
import { count, t } from '../../base/l10n';
import { shorten, visible } from '../../base/text';
import { direction, signed } from '../../compare/comparison';
import type { TimelineSession } from '../session';
import { SettingRow, Settings } from '../../shell/settings';
import { hasTimes } from '../../base/devices';
import { Choices } from '../../widgets/choice';
import { heightsAt, stepAt, type Curves, type Height } from './compare-scene';
import { keepTyping } from '../../shell/keyboard';

interface ControlsProps {
  readonly context: TimelineSession;
  /** What both hold at the cursor. */
  readonly readout: string;
  /** Another alignment is about to be chosen. */
  readonly chosen: () => void;
}

export function Controls({ context, readout, chosen }: ControlsProps): VNode {
  const { compare, axis, device } = context;
  const { byStep, offset, otherFirst } = compare.settings;
  const timed = hasTimes(device) && (!compare.open || hasTimes(compare.open.device));
  const { size, name } = unitOf(context);
  const { before, after } = compare.names;
  return (
    <div class="compare-controls" role="toolbar" aria-label={t('Both timelines')}>
      <Choices
        label={t('Align by')}
        value={byStep ? 'step' : axis}
        options={[
          {
            value: 'time',
            text: t('By time'),
            title: t('Both from their first event'),
            disabled: !timed,
          },
          { value: 'event', text: t('By event'), title: t('The same number of events') },
          {
            value: 'step',
            text: t('By step'),
            title: t('Each step of one against the same step of the other'),
          },
        ]}
        change={(value) => {
          chosen();
          if (value !== 'step') context.setAxis(value);
          compare.set({ byStep: value === 'step', offset: 0 });
        }}
      />
      <div class="compare-legend">
        <Sample kind={otherFirst ? 'other' : 'mine'} text={t('before: {0}', before)} />
        <Sample kind={otherFirst ? 'mine' : 'other'} text={t('after: {0}', after)} />
        <Sample kind="more" text={t('▲ more after')} />
        <Sample kind="less" text={t('▼ less after')} />
      </div>
      <div class="compare-readout" role="status">
        {readout}
      </div>
      <Settings label={t('Timeline settings')}>
        <SettingRow text={t('Offset')}>
          <label class="compare-moved">
            <input
              class="compare-offset"
              type="number"
              step="any"
              value={String(offset / size)}
              title={t('How far the other run is shifted to the right')}
              aria-label={t('Offset of the other run')}
              onChange={({ currentTarget }) => {
                const value = Number(currentTarget.value);
                if (Number.isFinite(value)) compare.set({ offset: value * size });
              }}
              onKeyDown={keepTyping}
            />{' '}
            <span class="muted">{name}</span>
          </label>
        </SettingRow>
      </Settings>
    </div>
  );
}

function Sample({ kind, text }: { readonly kind: string; readonly text: string }): VNode {
  // names are shortened where there is little room
  const named = kind === 'mine' || kind === 'other';
  return (
    <span class={named ? 'compare-sample' : 'compare-sample whole'} title={shorten(text, 2000)}>
      <span class={`compare-swatch ${kind}`} aria-hidden="true" />
      <bdi>{shorten(text, 2000)}</bdi>
    </span>
  );
}

/** What offsets are counted in, and how many of the axis' units that is. */
function unitOf({ axis, compare }: TimelineSession): { size: number; name: string } {
  if (compare.settings.byStep) return { size: 1, name: t('steps') };
  return axis === 'time' ? { size: 1000, name: 'ms' } : { size: 1, name: t('events') };
}

export interface ProblemProps {
  readonly message: string;
  readonly advice: string;
  /** Compares by event instead; null where that isn't another way. */
  readonly retry: (() => void) | null;
}

export function Problem({ message, advice, retry }: ProblemProps): VNode {
  return (
    <div
      class="compare-problem"
      role="alert"
      // what is pressed in it isn't the picture's
      onPointerDown={(event) => event.stopPropagation()}
    >
      <p>{message}</p>
      {advice !== '' && (
        <p class="muted">
          <bdi>{visible(advice)}</bdi>
        </p>
      )}
      {retry && (
        <button type="button" class="button" onClick={retry}>
          {t('Compare by event')}
        </button>
      )}
    </div>
  );
}

interface CardProps {
  readonly context: TimelineSession;
  readonly curves: Curves;
  /** The place on the axis. */
  readonly x: number;
}

/** What both hold under the pointer. */
export function Card({ context: { axis, compare }, curves, x }: CardProps): VNode {
  const { mine, other } = heightsAt(curves, x);
  const names = compare.names;
  const [before, after] = compare.settings.otherFirst ? [other, mine] : [mine, other];
  const difference = before && after ? after.most - before.most : null;
  const step = stepAt(curves, x);
  const at = axis === 'time' ? time(x) : t('event {0}', count(Math.floor(x)));
  return (
    <>
      <Held height={before} when={t('before')} name={names.before} />
      <Held height={after} when={t('after')} name={names.after} />
      {difference !== null && (
        <div class={`compare-difference ${direction(difference)}`}>{signed(difference)}</div>
      )}
      <div class="muted">{visible(step === null ? t('at {0}', at) : t('at {0}, {1}', at, step))}</div>
    </>
  );
}

interface HeldProps {
  readonly height: Height | null;
  readonly when: string;
  readonly name: string;
}

function Held({ height, when, name }: HeldProps): VNode {
  return (
    <div>
      <strong>{heightText(height)}</strong> {when} <bdi class="muted">{visible(name)}</bdi>
    </div>
  );
}

function heightText(height: Height | null): string {
  if (height === null) return t('not running');
  return height.varies ? t('up to {0}', bytes(height.most)) : bytes(height.most);
}
