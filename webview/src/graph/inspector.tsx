// What is selected in a heap dump, in the details: an object with its fields and references, a type, or a group.

import { signal, useSignal, type Signal } from '@preact/signals';
import { render, type ComponentChildren, type VNode } from 'preact';
import type { HeapSelection } from '../../../extension/shared/messages';
import type {
  GroupAnswer,
  InstancesAnswer,
  ObjectAnswer,
  ObjectRow,
  ReferenceRow,
  RetainedAnswer,
} from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { Icon } from '../widgets/icon';
import { bytes, count, counted, exactBytes, share } from '../base/format';
import { shorten, visible } from '../base/text';
import type { GraphContext } from './context';
import { PlaceButton } from './place';
import { idText, objectText, ownName, shortType } from './words';
import { ObjectButton, referenceWords } from './why';

const PAGE = 100;

type Answer =
  | { readonly is: 'object'; readonly found: ObjectAnswer }
  | { readonly is: 'type'; readonly found: InstancesAnswer }
  | { readonly is: 'group'; readonly found: GroupAnswer };

export interface InspectorActions {
  readonly close: () => void;
}

export class Inspector {
  readonly root = document.createElement('aside');
  private readonly answer = signal<Answer | null>(null);
  private asking: Pending<unknown> | null = null;
  private of = '';

  constructor(
    private readonly context: GraphContext,
    actions: InspectorActions,
  ) {
    this.root.className = 'panel heap-details';
    this.root.setAttribute('aria-label', 'Details');
    render(<Details answer={this.answer} context={context} close={actions.close} />, this.root);
  }

  /** What is known of what is shown; null until it is. */
  get shown(): Answer | null {
    return this.answer.value;
  }

  show(selection: HeapSelection | null): void {
    const of = JSON.stringify([selection, this.context.filter]);
    if (of === this.of) return;
    this.of = of;
    this.asking?.cancel();
    this.asking = null;
    if (!selection) {
      this.answer.value = null;
      return;
    }
    const { api, filter } = this.context;
    switch (selection.is) {
      case 'object':
        this.ask(api.request('memlens/heapObject', { object: selection.object }), (found) => ({
          is: 'object',
          found,
        }));
        return;
      case 'type':
        this.ask(api.request('memlens/heapType', { kind: selection.kind }), (found) => ({
          is: 'type',
          found,
        }));
        return;
      case 'group':
        this.ask(api.request('memlens/heapGroup', { node: selection.group, filter }), (found) => ({
          is: 'group',
          found,
        }));
    }
  }

  dispose(): void {
    this.asking?.cancel();
    render(null, this.root);
  }

  private ask<T>(pending: Pending<T>, made: (answer: T) => Answer): void {
    this.asking = pending;
    pending.answer.then(
      (answer) => {
        if (this.asking !== pending) return;
        this.answer.value = made(answer);
        this.root.querySelector('.panel-body')?.scrollTo(0, 0);
        this.context.say(titleOf(this.answer.value));
      },
      (error: unknown) => {
        if (this.asking === pending) this.context.failed(error);
      },
    );
  }
}

function titleOf({ is, found }: Answer): string {
  if (is === 'object') {
    const { object } = found;
    return `${objectText(object)}: ${bytes(object.retained_bytes)} retained, ${bytes(object.shallow_bytes)} shallow`;
  }
  if (is === 'type') return `${found.type.type}: ${counted(found.type.count, 'instance')}`;
  const { type, objects, retained_bytes: retained } = found.node;
  return `${type}: ${counted(objects, 'object')}, ${bytes(retained)} retained`;
}

interface DetailsProps {
  readonly answer: Signal<Answer | null>;
  readonly context: GraphContext;
  readonly close: () => void;
}

function Details({ answer, context, close }: DetailsProps): VNode {
  const shown = answer.value;
  const title =
    shown === null ? 'Details' : shown.is === 'object' ? 'Object' : shown.is === 'type' ? 'Type' : 'Group';
  return (
    <>
      <header>
        <h2>{title}</h2>
        <div class="panel-buttons">
          {shown && (
            <IconButton
              name="copy"
              label="Copy as Markdown"
              press={() => {
                context.copy(markdownOf(shown));
              }}
            />
          )}
          <IconButton name="close" label="Close" press={close} />
        </div>
      </header>
      <div class="panel-body">
        {shown === null ? (
          <p class="hint">Select a box, a type or an object.</p>
        ) : shown.is === 'object' ? (
          <ObjectDetails key={shown.found.object.object} found={shown.found} context={context} />
        ) : shown.is === 'type' ? (
          <TypeDetails key={shown.found.type.number} found={shown.found} context={context} />
        ) : (
          <GroupDetails key={shown.found.node.node} found={shown.found} context={context} />
        )}
      </div>
    </>
  );
}

function ObjectDetails({
  found,
  context,
}: {
  readonly found: ObjectAnswer;
  readonly context: GraphContext;
}): VNode {
  const { object: row, roots, fields, dominator, allocated } = found;
  const name = ownName(row);
  const selection: HeapSelection = { is: 'object', object: row.object };
  return (
    <>
      <Name type={row.type}>
        <span class="muted"> {idText(row)}</span>
      </Name>
      {name !== '' && <pre class="heap-text">{visible(shorten(row.name, 1000))}</pre>}
      <Actions selection={selection} context={context} place={row} />
      <Figures
        rows={[
          ['Retained', bytes(row.retained_bytes), exactBytes(row.retained_bytes)],
          ['Shallow', bytes(row.shallow_bytes), exactBytes(row.shallow_bytes)],
          ['Of the dump', share(row.retained_bytes, context.info.shallow_bytes), 'Retained, of all bytes'],
          ['From a root', row.distance === null ? 'not reachable' : counted(row.distance, 'reference'), ''],
          ...(row.space === null ? [] : ([['Heap', row.space, '']] as const)),
          ...(row.flags.length === 0 ? [] : ([['Flags', row.flags.join(', '), '']] as const)),
        ]}
      />
      {roots.length > 0 && (
        <Section title="Root">
          <ul>
            {roots.map(({ kind, detail, file, line }, index) => (
              <li key={index}>
                <bdi>{visible(detail === '' ? kind : `${kind}: ${shorten(detail, 200)}`)}</bdi>{' '}
                {file !== null && line !== null && <PlaceButton file={file} line={line} context={context} />}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Dominator">
        {dominator ? (
          <ObjectButton row={dominator} context={context} />
        ) : (
          <span class="muted">No single object</span>
        )}
      </Section>
      {fields.length > 0 && (
        <Section title={`Values (${count(fields.length)})`}>
          <dl class="heap-fields">
            {fields.map(({ name: field, kind, value }, index) => (
              <>
                <dt key={`t${index}`} title={kind}>
                  <bdi class="heap-reference">{visible(shorten(field, 80))}</bdi>
                </dt>
                <dd key={`d${index}`}>
                  <bdi class="code">{visible(shorten(value, 300))}</bdi>
                </dd>
              </>
            ))}
          </dl>
        </Section>
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
        <Section title="Allocated by">
          <ol class="heap-list">
            {allocated.map((frame, index) => (
              <li key={index}>
                <bdi class="code">{visible(shorten(frame.function, 120))}</bdi>{' '}
                {frame.line > 0 && <PlaceButton file={frame.file} line={frame.line} context={context} />}
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

interface ReferencesProps {
  readonly of: ObjectRow;
  readonly direction: 'outgoing' | 'incoming';
  readonly first: readonly ReferenceRow[];
  readonly total: number;
  readonly context: GraphContext;
}

/** A page of what it refers to or what refers to it, and the next ones when they are asked for. */
function References({ of, direction, first, total, context }: ReferencesProps): VNode {
  const more = usePages<ReferenceRow>(first, total, context, (offset) =>
    context.api.request('memlens/heapReferences', { object: of.object, direction, offset, limit: PAGE }),
  );
  const title = direction === 'outgoing' ? 'Refers to' : 'Referred to by';
  return (
    <Section title={`${title} (${count(total)})`}>
      <ul class="heap-list">
        {more.rows.map((row, index) => (
          <li key={index}>
            <bdi class="heap-reference" title={row.kind}>
              {direction === 'outgoing' ? referenceWords(row) : referenceWords(row).replace(' →', '')}
            </bdi>{' '}
            <ObjectButton row={row.object} context={context} />
            {row.object.object === of.object && <span class="badge">itself</span>}
            <span class="heap-figures">{bytes(row.object.retained_bytes)}</span>
          </li>
        ))}
      </ul>
      <MoreButton left={total - more.rows.length} press={more.next} />
    </Section>
  );
}

interface DominatedProps {
  readonly of: ObjectRow;
  readonly first: readonly ObjectRow[];
  readonly total: number;
  readonly context: GraphContext;
}

function Dominated({ of, first, total, context }: DominatedProps): VNode {
  const more = usePages<ObjectRow>(first, total, context, (offset) =>
    context.api.request('memlens/heapDominated', { object: of.object, offset, limit: PAGE }),
  );
  return (
    <Section title={`Dominates (${count(total)})`}>
      <ul class="heap-list">
        {more.rows.map((row) => (
          <li key={row.object}>
            <ObjectButton row={row} context={context} />
            <span class="heap-figures">{bytes(row.retained_bytes)}</span>
          </li>
        ))}
      </ul>
      <MoreButton left={total - more.rows.length} press={more.next} />
    </Section>
  );
}

function TypeDetails({
  found,
  context,
}: {
  readonly found: InstancesAnswer;
  readonly context: GraphContext;
}): VNode {
  const { type, instances } = found;
  const place = instances.find(({ file }) => file !== null) ?? null;
  return (
    <>
      <Name type={type.type} />
      <Actions selection={{ is: 'type', kind: type.number }} context={context} place={place} />
      <Figures
        rows={[
          ['Instances', count(type.count), ''],
          ['Retained', bytes(type.retained_bytes), exactBytes(type.retained_bytes)],
          ['Shallow', bytes(type.shallow_bytes), exactBytes(type.shallow_bytes)],
          ['Kind', type.kind, ''],
        ]}
      />
      <Together kind={type.number} group={null} context={context} />
      <Largest rows={instances} context={context} />
    </>
  );
}

function GroupDetails({
  found,
  context,
}: {
  readonly found: GroupAnswer;
  readonly context: GraphContext;
}): VNode {
  const { node, path, largest, fitting } = found;
  const place = largest.find(({ file }) => file !== null) ?? null;
  return (
    <>
      <Name type={node.type} />
      <Actions selection={{ is: 'group', group: node.node }} context={context} place={place} />
      <Figures
        rows={[
          ['Objects', count(node.objects), ''],
          ['Retained', bytes(node.retained_bytes), exactBytes(node.retained_bytes)],
          ['Shallow', bytes(node.shallow_bytes), exactBytes(node.shallow_bytes)],
          ['Of the dump', share(node.retained_bytes, context.info.shallow_bytes), 'Retained, of all bytes'],
          ...(fitting === null ? [] : ([['Fit the filter', count(fitting), '']] as const)),
        ]}
      />
      {path.length > 1 && (
        <Section title="Held by">
          <ol class="heap-list">
            {path
              .slice(0, -1)
              .reverse()
              .map((each) => (
                <li key={each.node}>
                  <button
                    type="button"
                    class="link code"
                    title={visible(each.type)}
                    onClick={() => {
                      context.select({ is: 'group', group: each.node });
                    }}
                  >
                    <bdi>{visible(shortType(each.type))}</bdi>
                  </button>
                  <span class="heap-figures">{bytes(each.retained_bytes)}</span>
                </li>
              ))}
          </ol>
        </Section>
      )}
      <Largest rows={largest} context={context} />
    </>
  );
}

function Largest({
  rows,
  context,
}: {
  readonly rows: readonly ObjectRow[];
  readonly context: GraphContext;
}): VNode {
  return (
    <Section title="Largest objects">
      <ul class="heap-list">
        {rows.map((row) => (
          <li key={row.object}>
            <ObjectButton row={row} context={context} />
            <span class="heap-figures">{bytes(row.retained_bytes)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** What all instances retain together, which takes a walk over the whole heap. */
function Together({
  kind,
  group,
  context,
}: {
  readonly kind: number | null;
  readonly group: number | null;
  readonly context: GraphContext;
}): VNode {
  const answer = useSignal<RetainedAnswer | null>(null);
  const found = answer.value;
  if (found)
    return (
      <p class="hint" role="status">
        Without all of them {bytes(found.retained_bytes)} in {counted(found.objects, 'object')} would be
        freed.
      </p>
    );
  return (
    <p class="hint">
      <button
        type="button"
        class="link"
        onClick={() => {
          context.api.request('memlens/heapRetained', { kind, group, filter: context.filter }).answer.then(
            (retained) => {
              answer.value = retained;
            },
            (error: unknown) => {
              context.failed(error);
            },
          );
        }}
      >
        What would be freed without all of them?
      </button>
    </p>
  );
}

function Actions({
  selection,
  context,
  place,
}: {
  readonly selection: HeapSelection;
  readonly context: GraphContext;
  readonly place: Pick<ObjectRow, 'file' | 'line'> | null;
}): VNode {
  return (
    <div class="heap-actions">
      <button
        type="button"
        class="button"
        onClick={() => {
          context.explain(selection);
        }}
      >
        Why Alive
      </button>
      <button
        type="button"
        class="button"
        onClick={() => {
          context.openSource(selection, false);
        }}
      >
        Open Source
      </button>
      {place?.file && place.line !== null && (
        <PlaceButton file={place.file} line={place.line} context={context} />
      )}
    </div>
  );
}

function Name({ type, children }: { readonly type: string; readonly children?: ComponentChildren }): VNode {
  return (
    <p class="panel-name">
      <bdi class="code">{visible(shorten(type, 400))}</bdi>
      {children}
    </p>
  );
}

type FigureRow = readonly [term: string, text: string, title: string];

function Figures({ rows }: { readonly rows: readonly FigureRow[] }): VNode {
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

function Section({
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

function MoreButton({ left, press }: { readonly left: number; readonly press: () => void }): VNode {
  if (left <= 0) return <></>;
  return (
    <button type="button" class="link" onClick={press}>
      {count(left)} more…
    </button>
  );
}

function IconButton({
  name,
  label,
  press,
}: {
  readonly name: 'copy' | 'close';
  readonly label: string;
  readonly press: () => void;
}): VNode {
  return (
    <button type="button" class="icon-button" title={label} aria-label={label} onClick={press}>
      <Icon name={name} />
    </button>
  );
}

interface Pages<T> {
  readonly rows: readonly T[];
  readonly next: () => void;
}

/** Rows that are there, and what fetches the next page of them. */
function usePages<T>(
  first: readonly T[],
  total: number,
  context: GraphContext,
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
        (error: unknown) => {
          context.failed(error);
        },
      );
    },
  };
}

/** What is shown as Markdown. */
function markdownOf(shown: Answer): string {
  const row = (...cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  if (shown.is !== 'object') {
    const rows = shown.is === 'type' ? shown.found.instances : shown.found.largest;
    const head = [titleOf(shown), '', row('Object', 'Retained'), row('---', '---:')];
    return [...head, ...rows.map((each) => row(objectText(each), bytes(each.retained_bytes)))].join('\n');
  }
  const { object, references, referrers } = shown.found;
  const place = object.file === null ? [] : [`Defined at ${object.file}:${object.line ?? 0}`];
  const table = (title: string, of: readonly ReferenceRow[]): string[] => [
    '',
    `${title}:`,
    '',
    row('Name', 'Object', 'Retained'),
    row('---', '---', '---:'),
    ...of.map((each) => row(each.name, objectText(each.object), bytes(each.object.retained_bytes))),
  ];
  return [
    titleOf(shown),
    ...place.map((text) => `${text}  (${idText(object)})`),
    ...table('Refers to', references),
    ...table('Referred to by', referrers),
  ].join('\n');
}
