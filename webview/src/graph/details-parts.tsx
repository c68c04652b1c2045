// What the details of a heap dump are made of.

import { useSignal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { ObjectRow } from '../../../extension/shared/protocol.gen';
import type { Pending } from '../base/request';
import { bytes, count, exactBytes } from '../base/format';
import { t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import type { GraphSession } from './session';
import { canExplain } from './menu';
import { PlaceButton } from './place';

export function Actions({
  selection,
  context,
  place,
  hasSource,
  isReachable = true,
}: {
  readonly selection: HeapSelection;
  readonly context: GraphSession;
  readonly place: Pick<ObjectRow, 'file' | 'line'> | null;
  readonly hasSource: boolean;
  readonly isReachable?: boolean;
}): VNode {
  return (
    <div class="heap-actions">
      {isReachable && canExplain(selection) && (
        <button type="button" class="button" onClick={() => context.explain(selection)}>
          {t('Why Alive')}
        </button>
      )}
      {hasSource && (
        <button type="button" class="button secondary" onClick={() => context.openSource(selection, false)}>
          {t('Open Source')}
        </button>
      )}
      {place?.file && place.line !== null && (
        <PlaceButton file={place.file} line={place.line} context={context} />
      )}
    </div>
  );
}

export function Name({
  type,
  children,
}: {
  readonly type: string;
  readonly children?: ComponentChildren;
}): VNode {
  return (
    <p class="panel-name">
      <bdi class="code">{visible(shorten(type, 400))}</bdi>
      {children}
    </p>
  );
}

/** Memory outside of the heap, where there is any. */
export function nativeFigures(
  {
    native_bytes: own,
    native_retained_bytes: retained,
  }: Pick<ObjectRow, 'native_bytes' | 'native_retained_bytes'>,
  term = t('Native retained'),
): readonly FigureRow[] {
  const row = (of: string, value: number | null): readonly FigureRow[] =>
    value === null || value === 0 ? [] : [[of, bytes(value), exactBytes(value)]];
  return [...row(t('Native'), own), ...row(term, retained)];
}

type FigureRow = readonly [term: string, text: string, title: string];

export function Figures({ rows }: { readonly rows: readonly FigureRow[] }): VNode {
  return (
    <dl class="heap-facts">
      {rows.map(([term, text, title]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd {...(title === '' ? {} : { title })}>{visible(text)}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Section({
  title,
  children,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
}): VNode {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

export function MoreButton({ left, press }: { readonly left: number; readonly press: () => void }): VNode {
  if (left <= 0) return <></>;
  return (
    <button type="button" class="link" onClick={press}>
      {t('{0} more…', count(left))}
    </button>
  );
}

interface Pages<T> {
  readonly rows: readonly T[];
  readonly next: () => void;
}

/** Rows that are there, and what fetches the next page of them. */
export function usePages<T>(
  first: readonly T[],
  total: number,
  context: GraphSession,
  ask: (offset: number) => Pending<{ readonly rows: readonly T[] }>,
): Pages<T> {
  const further = useSignal<readonly T[]>([]);
  const rows = [...first, ...further.value];
  return {
    rows,
    next: () => {
      const offset = rows.length;
      if (offset >= total) return;
      ask(offset).answer.then(
        (answer) => {
          if (first.length + further.value.length === offset)
            further.value = [...further.value, ...answer.rows];
        },
        (error: unknown) => context.failed(error),
      );
    },
  };
}
