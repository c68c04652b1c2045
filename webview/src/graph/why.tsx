// Why something is alive: an object's shortest paths to roots; of a type or group the paths to all of them, merged.

import { signal, useSignal, type Signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { GraphState, HeapSelection } from '../../../extension/shared/messages';
import type {
  CutAnswer,
  Path,
  PathNode,
  PathNodesAnswer,
  PathsAnswer,
  PathStep,
} from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import { bytes, exactBytes } from '../base/format';
import { plural, t } from '../base/l10n';
import { isCancelled, Latest, turned } from '../base/latest';
import { shorten, visible } from '../base/text';
import type { Pane } from '../shell/pane';
import { element } from '../widgets/dom';
import { IconButton } from '../widgets/icon-button';
import {
  figureColumn,
  gridColumns,
  nameColumn,
  retainedCells,
  retainedTitle,
  type HeapColumn,
} from './columns';
import type { GraphContext } from './context';
import { selectionMenu } from './menu';
import { PlaceButton } from './place';
import { HeapTree, heapBar } from './tree';
import {
  Badge,
  bytesCell,
  countCell,
  objectsText,
  objectText,
  referencesText,
  shortType,
  textCell,
  TypeName,
} from './words';

const MOST_PATHS = 5;

type Strength = GraphState['through'][number];

function columnsOf(): readonly HeapColumn<never>[] {
  return [
    nameColumn(t('From the roots'), t('References, and the types they lead to'), 170),
    figureColumn(t('Objects'), t('Objects explained whose paths lead through here'), 92),
    figureColumn(t('Retained'), t('{0}, of the objects explained', retainedTitle())),
    figureColumn(t('Share'), t('Of what all of them retain'), 112),
    figureColumn(
      t('Cut frees'),
      t('What would be freed without these references; – where that isn’t known'),
      92,
    ),
  ];
}

const STRENGTHS: readonly { readonly value: Strength; readonly text: string; readonly title: string }[] = [
  { value: 'weak', text: t('Weak'), title: t('Follow weak references, too') },
  { value: 'soft', text: t('Soft'), title: t('Follow soft references, too') },
  { value: 'phantom', text: t('Phantom'), title: t('Follow phantom references, too') },
  { value: 'finalizer', text: t('Finalizer'), title: t('Follow finalizer references, too') },
  { value: 'ephemeron', text: t('Ephemeron'), title: t('Follow ephemeron references, too') },
];

/** What is explained: the latest object, type or group; that is all there is when the pane is shown. */
export function whyPane(context: GraphContext): Pane {
  const title = t('Why alive');
  const root = element('section', { class: 'heap-why' });
  const bar = heapBar(t('Paths'));
  const explained = signal<HeapSelection | null>(null);
  const answer = signal<PathsAnswer | null>(null);
  const merged = signal<PathNodesAnswer | null>(null);
  const through = signal(context.state.through);
  const offered = signal<readonly Strength[]>([]);
  const asking = new Latest();
  let shown = '';
  const tree = mergedTree(context, merged);
  const show = (): void => {
    const { selection } = context.state;
    through.value = context.state.through;
    const key = JSON.stringify([selection, through.value, selection?.is === 'object' ? '' : context.filter]);
    if (key === shown) return;
    shown = key;
    asking.cancel();
    answer.value = null;
    merged.value = null;
    explained.value = selection;
    if (selection === null) return;
    if (selection.is !== 'object') {
      tree.show(t('Paths from roots, merged'), gridColumns(columnsOf(), null));
      return;
    }
    asking.ask(
      context.api.request('memlens/heapPaths', {
        ...{ object: selection.object, through: [...through.value], most: MOST_PATHS },
      }),
      (found) => {
        answer.value = found;
      },
      (error) => {
        context.failed(error);
      },
    );
  };
  const Content = (): VNode => {
    const is = explained.value?.is ?? null;
    const words =
      is === null
        ? t('Select an object, a type or a box to see what keeps it alive.')
        : merged.value && mergedWords(merged.value);
    return (
      <>
        <p class="heap-note muted" role="status" hidden={words === null}>
          {words}
        </p>
        <div class="heap-paths" hidden={is !== 'object'}>
          {answer.value && <Paths found={answer.value} context={context} />}
        </div>
        <tree.View hidden={is === 'object' || is === null} />
      </>
    );
  };
  const Switches = (): VNode => (
    <>
      {STRENGTHS.filter(({ value }) => explained.value !== null && offered.value.includes(value)).map(
        ({ value, text, title: titled }) => (
          <label key={value} class="heap-switch" title={titled}>
            <input
              type="checkbox"
              checked={through.value.includes(value)}
              onChange={({ currentTarget }) => {
                const others = context.state.through.filter((each) => each !== value);
                context.keep({ through: currentTarget.checked ? [...others, value] : others });
                show();
              }}
            />
            {text}
          </label>
        ),
      )}
    </>
  );
  render(<Content />, root);
  render(<Switches />, bar);
  context.api.request('memlens/heapOverview', {}).answer.then(
    ({ strengths }) => {
      offered.value = STRENGTHS.map(({ value }) => value).filter((value) => strengths.includes(value));
    },
    (error: unknown) => {
      context.failed(error);
    },
  );
  return {
    ...{ id: 'why', title, usesSet: false, root, bar },
    update: show,
    dispose: () => {
      asking.cancel();
      tree.dispose();
      render(null, root);
      render(null, bar);
    },
  };
}

/** The paths to all objects of a type or group, merged; what is known of them goes into `merged`. */
function mergedTree(context: GraphContext, merged: Signal<PathNodesAnswer | null>): HeapTree<PathNode> {
  return new HeapTree<PathNode>(t('Merged paths'), context, {
    ask: (node, offset, limit) =>
      turned(
        context.api.request('memlens/heapMergedPaths', {
          ...ofSelection(context.state.selection),
          ...{ filter: context.filter, through: [...context.state.through] },
          ...{ node: node?.node ?? 0, offset, limit },
        }),
        (found) => {
          merged.value = found;
          return found;
        },
      ),
    hasChildren: ({ children }) => children > 0,
    id: ({ node }) => String(node),
    cells: (row) => [
      {
        parts: [
          <>
            <bdi class="heap-reference">{shorten(row.name, 80)}</bdi>{' '}
            <TypeName type={row.type} text={shortType(row.type)} />
            {row.ends > 0 && row.children > 0 && <Badge text={plural(row.ends, '{0} ends', '{0} end')} />}
          </>,
        ],
        copied: visible(`${row.name} ${row.type}`),
      },
      countCell(row.objects),
      ...retainedCells(row.bytes, merged.value?.bytes ?? 0),
      row.freed_bytes === null ? textCell('–') : bytesCell(row.freed_bytes),
    ],
    isSelected: () => false,
    pick: ({ example }, opened, beside) => {
      if (opened) context.openSource({ is: 'object', object: example.object }, beside);
      else context.say(t('One of them: {0}', objectText(example)));
    },
    menu: ({ example }) => selectionMenu(context, { is: 'object', object: example.object }),
    copied: ({ example }) => ({ name: objectText(example), place: null }),
    empty: () => t('No root reaches any of them.'),
  });
}

function ofSelection(selection: HeapSelection | null): { kind: number | null; group: number | null } {
  return {
    kind: selection?.is === 'type' ? selection.kind : null,
    group: selection?.is === 'group' ? selection.group : null,
  };
}

function mergedWords({ explained, left_out: left, unreachable }: PathNodesAnswer): string {
  const objects = objectsText(explained);
  return [
    left > 0
      ? plural(
          left,
          'Shortest paths to {1}, the largest; {0} other left out.',
          'Shortest paths to {1}, the largest; {0} others left out.',
          objects,
        )
      : t('Shortest paths to {0}.', objects),
    ...(unreachable > 0
      ? [plural(unreachable, 'No root reaches {0} object.', 'No root reaches {0} objects.')]
      : []),
  ].join(' ');
}

function Paths({
  found: { paths, complete, object },
  context,
}: {
  readonly found: PathsAnswer;
  readonly context: GraphContext;
}): VNode {
  if (paths.length === 0) return <p class="heap-note">{t('No root reaches {0}.', objectText(object))}</p>;
  return (
    <>
      {paths.map((path, index) => (
        <section key={index} aria-label={t('Path {0}', index + 1)}>
          <h3>
            {index === 0
              ? t('Shortest path: {0}', referencesText(path.length))
              : t('From another root: {0}', referencesText(path.length))}{' '}
            <IconButton
              icon="copy"
              label={t('Copy Path')}
              press={() => {
                context.copy(pathText(path));
              }}
            />
          </h3>
          <ol class="heap-chain">
            <li>
              <span class="heap-reference">{rootWords(path)}</span>{' '}
              <ObjectButton row={path.root} context={context} />
            </li>
            {path.steps.map((step, at) => (
              <Step
                key={at}
                step={step}
                above={(path.steps[at - 1]?.object ?? path.root).object}
                gap={path.left_out > 0 && at === path.steps.length / 2 ? path.left_out : 0}
                context={context}
              />
            ))}
          </ol>
        </section>
      ))}
      {!complete && <p class="heap-note muted">{t('There are paths from other roots, too.')}</p>}
    </>
  );
}

function Step({
  step,
  above,
  gap,
  context,
}: {
  readonly step: PathStep;
  /** The object that has the reference, unless steps are left out before this one. */
  readonly above: number;
  readonly gap: number;
  readonly context: GraphContext;
}): VNode {
  return (
    <>
      {gap > 0 && <li class="muted">… {referencesText(gap)} …</li>}
      <li>
        <bdi class="heap-reference">{referenceWords(step)}</bdi>{' '}
        <ObjectButton row={step.object} context={context} />
        <span class="heap-figures" title={t('Retained: {0}', exactBytes(step.object.retained_bytes))}>
          {bytes(step.object.retained_bytes)}
        </span>
        {(step.freed_bytes !== null || gap === 0) && <Cut step={step} above={above} context={context} />}
      </li>
    </>
  );
}

/** What cutting a reference frees; a button asks for it where that takes a walk through much of the heap. */
function Cut({
  step,
  above,
  context,
}: {
  readonly step: PathStep;
  readonly above: number;
  readonly context: GraphContext;
}): VNode {
  const found = useSignal(step.freed_bytes);
  const pending = useSignal<Pending<CutAnswer> | null>(null);
  useEffect(() => () => pending.peek()?.cancel(), [pending]);
  const freed = found.value;
  const title = t('What would be freed without this reference');
  if (freed !== null)
    return (
      <span class={freed > 0 ? 'heap-cut' : 'heap-cut muted'} title={title}>
        {freed > 0 ? t('cut frees {0}', bytes(freed)) : t('cut frees nothing')}
      </span>
    );
  return (
    <button
      type="button"
      class="link heap-cut"
      title={title}
      onClick={() => {
        if (pending.value) {
          pending.value.cancel();
          pending.value = null;
          return;
        }
        const asked = context.api.request('memlens/heapCut', { source: above, target: step.object.object });
        pending.value = asked;
        asked.answer.then(
          ({ freed_bytes: bytesFreed }) => {
            found.value = bytesFreed;
          },
          (error: unknown) => {
            if (pending.value === asked) pending.value = null;
            if (!isCancelled(error)) context.failed(error);
          },
        );
      }}
    >
      {pending.value ? t('Cancel') : t('cut frees…')}
    </button>
  );
}

export function ObjectButton({
  row,
  context,
}: {
  readonly row: PathStep['object'];
  readonly context: GraphContext;
}): VNode {
  const { file, line } = row;
  return (
    <>
      <button
        type="button"
        class="link code"
        title={visible(row.type)}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey) context.openSource({ is: 'object', object: row.object }, false);
          else context.select({ is: 'object', object: row.object });
        }}
      >
        <bdi>{objectText(row)}</bdi>
      </button>
      {file !== null && line !== null && <PlaceButton file={file} line={line} context={context} />}
    </>
  );
}

/** "cache →", "[3] → (weak)". */
export function referenceWords({
  name,
  kind,
  strength,
}: Pick<PathStep, 'name' | 'kind' | 'strength'>): string {
  const text = name === '' ? `(${kind})` : shorten(name, 80);
  return visible(strength === 'strong' ? `${text} →` : `${text} → (${strength})`);
}

function rootWords({ roots }: Path): string {
  const kinds = [...new Set(roots.map(({ kind, detail }) => (detail === '' ? kind : `${kind} ${detail}`)))];
  return visible(shorten(kinds.join(', ') || t('root'), 200));
}

function pathText(path: Path): string {
  const first = `${rootWords(path)}: ${objectText(path.root)}`;
  const steps = path.steps.map((step) => `  ${referenceWords(step)} ${objectText(step.object)}`);
  return [first, ...steps].join('\n');
}
