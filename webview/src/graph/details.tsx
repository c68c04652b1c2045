// What is known of an object, a type or a group.

import { Fragment, type VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { HeapSelection } from '../../../extension/shared/messages';
import type {
  ClassRow,
  GroupAnswer,
  InstancesAnswer,
  ObjectAnswer,
  ObjectRow,
  RetainedAnswer,
} from '../../../extension/shared/protocol.gen';
import { bytes, count, exactBytes, share } from '../base/format';
import { plural, said, t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import { useAsked } from './asked';
import { totalTitle } from './columns';
import type { GraphSession } from './session';
import { located } from './groups';
import { Actions, Figures, MoreButton, Name, nativeFigures, Section, usePages } from './details-parts';
import { hasImages, mayBeDefined, mayHaveSource, ofType } from './menu';
import { ObjectButton } from './object-button';
import { Picture } from './picture';
import { PlaceButton } from './place';
import { References } from './references';
import { Waiting } from './waiting';
import { Waste } from './waste';
import { bytesAndNative, idText, objectsText, ownName, referencesText, rootText, shortType } from './words';

/** A value that isn't broken between lines. */
const NUMBER = /^-?[\d.]+(e[+-]?\d+)?$/i;
const PAGE = 100;

export function ObjectDetails({
  found,
  context,
}: {
  readonly found: ObjectAnswer;
  readonly context: GraphSession;
}): VNode {
  const { object: row, roots, fields, dominator, allocated, image } = found;
  const name = ownName(row);
  const selection: HeapSelection = { is: 'object', object: row.object };
  return (
    <>
      <Name type={row.type}>
        <span class="muted"> {idText(row)}</span>
      </Name>
      {name !== '' && !image && <pre class="heap-text">{visible(shorten(row.name, 1000))}</pre>}
      <Actions selection={selection} context={context} place={row} hasSource={mayHaveSource(context, row)} />
      <Figures
        rows={[
          [t('Retained'), bytes(row.retained_bytes), exactBytes(row.retained_bytes)],
          [t('Shallow'), bytes(row.shallow_bytes), exactBytes(row.shallow_bytes)],
          ...nativeFigures(row),
          [
            t('Share of the dump'),
            share(row.retained_bytes, context.info.shallow_bytes),
            t('Retained, of all bytes'),
          ],
          [t('From a root'), row.distance === null ? t('not reachable') : referencesText(row.distance), ''],
          ...(row.space === null ? [] : ([[t('Heap'), row.space, '']] as const)),
          ...(row.flags.length === 0 ? [] : ([[t('Flags'), row.flags.join(', '), '']] as const)),
        ]}
      />
      <Extends rows={found.extends} context={context} />
      {image && <Picture key={row.object} object={row.object} image={image} context={context} />}
      <EqualImages found={found} context={context} />
      {row.distance !== null && <Waste selection={selection} context={context} />}
      {roots.length > 0 && (
        <Section title={t('Root')}>
          <ul class="heap-list heap-roots">
            {roots.map(({ file, line, ...root }, index) => (
              <li key={index}>
                <bdi>{rootText(root)}</bdi>{' '}
                {file !== null && line !== null && <PlaceButton file={file} line={line} context={context} />}
              </li>
            ))}
          </ul>
          <Rest count={found.roots_total - roots.length} />
        </Section>
      )}
      <Section title={t('Dominator')}>
        {dominator ? (
          <ul class="heap-list">
            <li>
              <ObjectButton row={dominator} context={context} />
            </li>
          </ul>
        ) : (
          <span class="muted">{t('No single object')}</span>
        )}
      </Section>
      {fields.length > 0 && (
        <Section title={t('Values ({0})', count(found.fields_total))}>
          <dl class="heap-fields">
            {fields.map(({ name: field, kind, value }, index) => (
              <Fragment key={index}>
                <dt title={kind}>
                  <bdi class="heap-reference">{visible(shorten(field, 80))}</bdi>
                </dt>
                <dd class={NUMBER.test(value) ? 'number' : ''}>
                  <bdi class="code">{visible(shorten(value, 300))}</bdi>
                </dd>
              </Fragment>
            ))}
          </dl>
          <Rest count={found.fields_total - fields.length} />
        </Section>
      )}
      {found.contents_total > 0 && (
        <References
          of={row}
          direction="contents"
          first={found.contents}
          total={found.contents_total}
          context={context}
        />
      )}
      <References
        of={row}
        direction="outgoing"
        first={found.references}
        total={found.references_total}
        context={context}
      />
      <References
        of={row}
        direction="incoming"
        first={found.referrers}
        total={found.referrers_total}
        context={context}
      />
      <Dominated of={row} first={found.dominated} total={found.dominated_total} context={context} />
      {allocated.length > 0 && (
        <Section title={t('Allocated by')}>
          <ol class="heap-list">
            {allocated.map((frame, index) => (
              <li key={index}>
                <button
                  type="button"
                  class="link code"
                  title={t('Show in Allocation Stacks')}
                  onClick={() => context.showStacks(frame.function)}
                >
                  <bdi>{visible(shorten(frame.function, 120))}</bdi>
                </button>{' '}
                {frame.line > 0 && <PlaceButton file={frame.file} line={frame.line} context={context} />}
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

/** The classes above a class, the nearest first; one without objects of its own has no type to open, but its object. */
function Extends({
  rows,
  context,
}: {
  readonly rows: readonly ClassRow[];
  readonly context: GraphSession;
}): VNode | null {
  if (rows.length === 0) return null;
  return (
    <Section title={t('Extends')}>
      <ol class="heap-list">
        {rows.map(({ type, object, name }) => (
          <li key={object}>
            <button
              type="button"
              class="link code"
              title={visible(name)}
              onClick={() =>
                context.select(type === null ? { is: 'object', object } : { is: 'type', kind: type })
              }
            >
              <bdi>{visible(shorten(shortType(name), 120))}</bdi>
            </button>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** What isn't listed of more than anyone reads. */
function Rest({ count: left }: { readonly count: number }): VNode | null {
  return left > 0 ? <p class="muted">{t('and {0} more', count(left))}</p> : null;
}

function EqualImages({
  found,
  context,
}: {
  readonly found: ObjectAnswer;
  readonly context: GraphSession;
}): VNode {
  const { rows, total } = found.equal_images;
  if (total === 0) return <></>;
  return (
    <Section title={t('With the same pixels ({0})', count(total))}>
      <ObjectList rows={rows} context={context} />
      {total > rows.length && (
        <button type="button" class="link" onClick={() => context.showImages('')}>
          {t('Show Images')}
        </button>
      )}
    </Section>
  );
}

interface DominatedProps {
  readonly of: ObjectRow;
  readonly first: readonly ObjectRow[];
  readonly total: number;
  readonly context: GraphSession;
}

function Dominated({ of, first, total, context }: DominatedProps): VNode {
  const more = usePages<ObjectRow>(first, total, context, (offset) =>
    context.api.request('memlens/heapDominated', { object: of.object, filter: '', offset, limit: PAGE }),
  );
  return (
    <Section title={t('Dominates ({0})', count(total))}>
      <ObjectList rows={more.rows} context={context} />
      <MoreButton left={total - more.rows.length} press={more.next} />
    </Section>
  );
}

export function TypeDetails({
  found,
  context,
}: {
  readonly found: InstancesAnswer;
  readonly context: GraphSession;
}): VNode {
  const { type, instances } = found;
  const place = instances.find(({ file }) => file !== null) ?? null;
  return (
    <>
      <Name type={type.type} />
      <Actions
        context={context}
        place={place}
        selection={{ is: 'type', kind: type.number }}
        hasSource={place !== null || mayBeDefined(context, type)}
      />
      <Figures
        rows={[
          [t('Instances'), count(type.count), ''],
          [t('Retained'), bytes(type.retained_bytes), exactBytes(type.retained_bytes)],
          [t('Shallow'), bytes(type.shallow_bytes), exactBytes(type.shallow_bytes)],
          ...(type.unreachable_count === 0
            ? []
            : ([
                [
                  t('Unreachable'),
                  plural(type.unreachable_count, '{0} instance', '{0} instances'),
                  exactBytes(type.unreachable_bytes),
                ],
              ] as const)),
          ...nativeFigures(type),
          [t('Kind'), type.kind, ''],
        ]}
      />
      <Extends rows={found.extends} context={context} />
      {hasImages(context, type.number) && (
        <button type="button" class="link" onClick={() => context.showImages(ofType(type.type))}>
          {t('Show Images')}
        </button>
      )}
      <Together kind={type.number} context={context} />
      <Waste selection={{ is: 'type', kind: type.number }} context={context} />
      <Largest rows={instances} context={context} />
    </>
  );
}

export function GroupDetails({
  found,
  context,
}: {
  readonly found: GroupAnswer;
  readonly context: GraphSession;
}): VNode {
  const { node, name, path, largest, fitting } = found;
  const declared = name !== null && name.file !== '' && name.line > 0 ? name : null;
  const place = largest.find(({ file }) => file !== null) ?? declared;
  const { by, tree } = located(node.node);
  const [isOfTypes, isOfPaths] = [by === 'type', tree === 'paths'];
  return (
    <>
      <Name type={said(node.type)} />
      <Actions
        context={context}
        place={place}
        selection={{ is: 'group', group: node.node }}
        hasSource={largest.some((each) => mayHaveSource(context, each))}
        // the group of all that is unreachable has no objects of its own
        isReachable={node.objects > 0}
      />
      <Figures
        rows={[
          // the roots together, and all that is unreachable, are no objects
          ...(node.objects === 0 ? [] : ([[t('Objects'), count(node.objects), '']] as const)),
          isOfPaths
            ? [t('Total'), bytes(node.total_bytes), totalTitle()]
            : [t('Retained'), bytes(node.total_bytes), exactBytes(node.total_bytes)],
          ...(node.objects === 0
            ? []
            : ([[t('Shallow'), bytes(node.shallow_bytes), exactBytes(node.shallow_bytes)]] as const)),
          ...nativeFigures(
            { ...node, native_retained_bytes: node.native_total_bytes },
            isOfPaths ? t('Native in total') : undefined,
          ),
          [
            t('Share of the dump'),
            share(node.total_bytes, context.info.shallow_bytes),
            isOfPaths ? t('Total, of all bytes') : t('Retained, of all bytes'),
          ],
          ...(fitting === null ? [] : ([[t('Fit the filter'), count(fitting), '']] as const)),
        ]}
      />
      {node.objects > 0 && <Waste selection={{ is: 'group', group: node.node }} context={context} />}
      {path.length > 1 && (
        <Section title={isOfPaths ? t('Reached through') : t('Held by')}>
          <ol class="heap-list">
            {path
              .slice(0, -1)
              .reverse()
              .map((each) => (
                <li key={each.node}>
                  <button
                    type="button"
                    class="link code"
                    title={visible(said(each.type))}
                    onClick={() => context.select({ is: 'group', group: each.node })}
                  >
                    <bdi>{visible(isOfTypes ? shortType(said(each.type)) : said(each.type))}</bdi>
                  </button>
                  <span class="heap-figures">
                    {bytesAndNative(each.total_bytes, each.native_total_bytes)}
                  </span>
                </li>
              ))}
          </ol>
        </Section>
      )}
      {largest.length > 0 && <Largest rows={largest} context={context} />}
    </>
  );
}

function Largest({
  rows,
  context,
}: {
  readonly rows: readonly ObjectRow[];
  readonly context: GraphSession;
}): VNode {
  return (
    <Section title={t('Largest objects')}>
      <ObjectList rows={rows} context={context} />
    </Section>
  );
}

function ObjectList({
  rows,
  context,
}: {
  readonly rows: readonly ObjectRow[];
  readonly context: GraphSession;
}): VNode {
  return (
    <ul class="heap-list">
      {rows.map((row) => (
        <li key={row.object}>
          <ObjectButton row={row} context={context} />
          <span class="heap-figures">{bytes(row.retained_bytes)}</span>
        </li>
      ))}
    </ul>
  );
}

function withoutThem(found: RetainedAnswer): string {
  if (found.objects === 0) return t('No root holds any of them: they may be freed anyway.');
  const freed = bytesAndNative(found.retained_bytes, found.native_retained_bytes);
  return t('Without all of them, {0} in {1} would be freed.', freed, objectsText(found.objects));
}

/**
 * What all instances retain together. That of a type is asked for at once, as it is known or soon worked out; with a filter
 * it may take a walk over the whole heap.
 */
function Together({ kind, context }: { readonly kind: number; readonly context: GraphSession }): VNode {
  const { found, isPending, done, ask, drop } = useAsked(context, () =>
    context.api.request('memlens/heapRetained', { kind, group: null, filter: context.filter }),
  );
  useEffect(() => {
    if (context.filter.trim() === '') ask();
  }, []);
  if (isPending)
    return <Waiting text={t('Looking for what only these objects keep alive…')} done={done} cancel={drop} />;
  return (
    <p class="hint" role="status">
      {found ? (
        withoutThem(found)
      ) : (
        <button type="button" class="link" onClick={ask}>
          {t('What would be freed without all of them?')}
        </button>
      )}
    </p>
  );
}
