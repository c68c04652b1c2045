// The heap as a whole in one row: how much, what no root reaches, and what it consists of.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { HeapOverviewAnswer, RealmRow, ShareRow } from '../../../extension/shared/protocol.gen';
import type { GraphSession } from './session';
import { css } from '../canvas/colour';
import { theme } from '../canvas/theme';
import { sampleColours } from '../flame/colours';
import { openMenuAt, type MenuEntry } from '../widgets/menu';
import { Phrase } from '../widgets/phrase';
import { bytes, exactBytes, share } from '../base/format';
import { said, t } from '../base/l10n';
import { exactly, visible } from '../base/text';
import { objectsText } from './words';

const MOST_PARTS = 6;

export class Overview {
  private readonly answer = signal<HeapOverviewAnswer | null>(null);

  constructor(
    private readonly context: Pick<GraphSession, 'api' | 'info' | 'list' | 'failed'>,
    /** The picture's, which stand at the end of the line. */
    private readonly Controls: () => VNode,
  ) {
    context.api.request('memlens/heapOverview', {}).answer.then(
      (found) => {
        this.answer.value = found;
      },
      (error: unknown) => context.failed(error),
    );
  }

  readonly View = (): VNode => (
    <section class="heap-overview" aria-label={t('Whole heap')}>
      <div class="heap-strip">
        <Strip
          answer={this.answer}
          choose={(filter) => this.context.list(filter)}
          native={this.context.info.native_bytes}
        />
      </div>
      <this.Controls />
    </section>
  );
}

function Strip({
  answer,
  choose,
  native,
}: {
  readonly answer: { readonly value: HeapOverviewAnswer | null };
  readonly choose: (filter: string) => void;
  /** Bytes outside of the heap. */
  readonly native: number;
}): VNode {
  const found = answer.value;
  if (!found) return <></>;
  const { shallow_bytes: whole, unreachable_bytes: lost, unreachable_objects: lostObjects } = found;
  return (
    <>
      <div class="heap-figure" title={exactBytes(whole)}>
        <Phrase
          text={t('{0} in {1}')}
          parts={[<strong>{bytes(whole)}</strong>, <span class="muted">{objectsText(found.objects)}</span>]}
        />
      </div>
      {native > 0 && (
        <button
          type="button"
          class="link heap-part"
          title={t('{0} outside of the heap: lists the objects that own them', exactBytes(native))}
          onClick={() => choose('native>0')}
        >
          {t('{0} native', bytes(native))}
        </button>
      )}
      <button
        type="button"
        class="link heap-part"
        aria-haspopup="menu"
        title={t('Filter by a kind or a state of objects')}
        onClick={({ currentTarget }) =>
          openMenuAt(currentTarget, entriesOf(found, choose), t('Parts of the heap'))
        }
      >
        {t('Filter by Part…')}
      </button>
      {lost > 0 && (
        <span
          class="heap-part"
          title={t('{0} in {1}, unreachable', exactBytes(lost), objectsText(lostObjects))}
        >
          {t('{0} unreachable', share(lost, whole))}
        </span>
      )}
      <Colours />
      <Parts label={t('Kinds')} rows={found.kinds} whole={whole} />
      {found.spaces.length > 0 && <Parts label={t('Heaps')} rows={found.spaces} whole={whole} />}
      {found.flags.map(({ name, objects, shallow_bytes: shallow }) => (
        <span
          key={name}
          class="heap-part"
          title={t('{0}, {1} shallow', objectsText(objects), exactBytes(shallow))}
        >
          {visible(`${name} ${bytes(shallow)}`)}
        </span>
      ))}
    </>
  );
}

/** Objects that a dump makes up to group its roots are of a kind of their own, and take nothing. */
function withBytes<Row extends ShareRow | RealmRow>(rows: readonly Row[]): readonly Row[] {
  return rows.filter(({ shallow_bytes: shallow }) => shallow > 0);
}

/** The kinds of objects, then their states and realms. */
function entriesOf(found: HeapOverviewAnswer, choose: (filter: string) => void): readonly MenuEntry[] {
  const entry = (name: string, shallow: number, filter: string): MenuEntry => ({
    text: t('{0}: {1}, {2}', name, share(shallow, found.shallow_bytes), bytes(shallow)),
    run: () => choose(filter),
  });
  const states = found.flags.map(({ name, shallow_bytes: shallow }) => entry(name, shallow, `is:${name}`));
  if (found.unreachable_bytes > 0)
    states.unshift(entry(t('unreachable'), found.unreachable_bytes, 'is:unreachable'));
  const realms = withBytes(found.realms).map(({ name, filter, shallow_bytes: shallow }) =>
    entry(said(name), shallow, filter),
  );
  return [
    ...withBytes(found.kinds).map(({ name, shallow_bytes: shallow }) =>
      entry(name, shallow, `kind:${exactly(name)}`),
    ),
    ...(states.length > 0 ? [null, ...states] : []),
    ...(realms.length > 0 ? [null, ...realms] : []),
  ];
}

/** What the colours of the boxes and the rings mean. */
function Colours(): VNode {
  const parts = [
    ['user', t('Program')],
    ['library', t('Platform, by package')],
  ] as const;
  return (
    <ul class="heap-colours" aria-label={t('Colours')}>
      {parts.map(([of, text]) => (
        <li key={of}>
          {sampleColours(of, theme.value).map((colour, i) => (
            <span key={i} class="swatch" aria-hidden="true" style={{ background: css(colour) }} />
          ))}
          {text}
        </li>
      ))}
    </ul>
  );
}

function Parts({
  label,
  rows,
  whole,
}: {
  readonly label: string;
  readonly rows: readonly ShareRow[];
  readonly whole: number;
}): VNode {
  const shown = withBytes(rows).slice(0, MOST_PARTS);
  // that all is of one kind says nothing
  if (shown.length < 2) return <></>;
  return (
    <ul class="heap-parts" aria-label={label}>
      {shown.map(({ name, objects, shallow_bytes: shallow }) => (
        <li
          key={name}
          class="heap-part"
          title={t('{0} shallow in {1}', exactBytes(shallow), objectsText(objects))}
        >
          {visible(`${name} ${share(shallow, whole)}`)}
        </li>
      ))}
    </ul>
  );
}
