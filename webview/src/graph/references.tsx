// What an object refers to, what refers to it, or what it contains as a collection, by name: in pages, and each can be
// opened in turn.

import type { VNode } from 'preact';
import type { ObjectRow, ReferenceRow } from '../../../extension/shared/protocol.gen';
import { bytes, count } from '../base/format';
import { t } from '../base/l10n';
import { Icon } from '../widgets/icon';
import { useAsked } from './asked';
import type { GraphSession } from './session';
import { MoreButton, Section, usePages } from './details-parts';
import { ObjectButton } from './object-button';
import { objectText, referenceWords } from './words';

const PAGE = 100;
const FIRST = 20;

type Direction = 'outgoing' | 'incoming' | 'contents';

/** What an element refers to is listed below it. */
function below(direction: Direction): Exclude<Direction, 'contents'> {
  return direction === 'contents' ? 'outgoing' : direction;
}

function titleOf(direction: Direction, total: number): string {
  switch (direction) {
    case 'outgoing':
      return t('Refers to ({0})', count(total));
    case 'incoming':
      return t('Referred to by ({0})', count(total));
    case 'contents':
      return t('Contains ({0})', count(total));
  }
}

interface Listed {
  readonly rows: readonly ReferenceRow[];
  readonly total: number;
}

interface ReferencesProps {
  readonly of: ObjectRow;
  readonly direction: Direction;
  readonly first: readonly ReferenceRow[];
  readonly total: number;
  readonly context: GraphSession;
}

export function References({ of, direction, first, total, context }: ReferencesProps): VNode {
  return (
    <Section title={titleOf(direction, total)}>
      <List
        of={{ rows: first, total }}
        chain={[of.object]}
        object={of.object}
        direction={direction}
        context={context}
      />
    </Section>
  );
}

interface ListProps {
  /** The object whose references these are. */
  readonly object: number;
  readonly of: Listed;
  readonly direction: Direction;
  /** The objects from the one that is inspected to that, which a reference may lead back to. */
  readonly chain: readonly number[];
  readonly context: GraphSession;
}

function List({ object, of: { rows: first, total }, direction, chain, context }: ListProps): VNode {
  const more = usePages<ReferenceRow>(first, total, context, (offset) =>
    context.api.request('memlens/heapReferences', { object, direction, offset, limit: PAGE }),
  );
  return (
    <>
      <ul class="heap-list heap-references">
        {more.rows.map((row, index) => (
          <Item key={index} row={row} direction={direction} chain={chain} context={context} />
        ))}
      </ul>
      <MoreButton left={total - more.rows.length} press={more.next} />
    </>
  );
}

interface ItemProps {
  readonly row: ReferenceRow;
  readonly direction: Direction;
  readonly chain: readonly number[];
  readonly context: GraphSession;
}

function Item({ row, direction, chain, context }: ItemProps): VNode {
  const { object } = row.object;
  const behind = useAsked(context, () =>
    context.api.request('memlens/heapReferences', {
      object,
      direction: below(direction),
      offset: 0,
      limit: FIRST,
    }),
  );
  const place = chain.indexOf(object);
  const text = referenceWords(row);
  return (
    <li>
      <div class="heap-reference-row">
        <button
          type="button"
          class="link heap-opener"
          disabled={place >= 0}
          aria-expanded={behind.found !== null}
          aria-label={
            direction === 'incoming'
              ? t('What refers to {0}', objectText(row.object))
              : t('What {0} refers to', objectText(row.object))
          }
          onClick={behind.found || behind.isPending ? behind.drop : behind.ask}
        >
          <Icon name="chevron" />
        </button>
        <bdi class="heap-reference" title={row.kind}>
          {direction === 'incoming' ? text.replace(/ ?→/, '') : text}
        </bdi>{' '}
        <ObjectButton row={row.object} context={context} />
        {row.is_unread && (
          <span class="badge" title={t('No code that can still run reads this variable')}>
            {t('nothing reads it')}
          </span>
        )}
        {place >= 0 && (
          <span class="badge" title={t('The references lead back to an object that is listed above')}>
            {place === chain.length - 1 ? t('itself') : t('cycle')}
          </span>
        )}
        <span class="heap-figures">{bytes(row.object.retained_bytes)}</span>
      </div>
      {behind.found?.total === 0 && <p class="muted heap-behind">{t('None')}</p>}
      {behind.found && behind.found.total > 0 && (
        <div class="heap-behind">
          <List
            of={behind.found}
            chain={[...chain, object]}
            direction={below(direction)}
            object={object}
            context={context}
          />
        </div>
      )}
    </li>
  );
}
