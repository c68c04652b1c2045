// Why something is alive: an object's shortest paths to roots; of a type or group the paths to all of them, merged.

import { signal } from '@preact/signals';
import { render, type VNode } from 'preact';
import type { GraphState, HeapSelection } from '../../../extension/shared/messages';
import type {
  Path,
  PathNode,
  PathNodesAnswer,
  PathsAnswer,
  PathStep,
} from '../../../extension/shared/protocol.gen';
import type { Pending } from '../api';
import type { Pane } from '../shell/pane';
import { Icon } from '../widgets/icon';
import { element } from '../widgets/dom';
import { bytes, counted, exactBytes } from '../base/format';
import { shorten, visible } from '../base/text';
import { gridColumns, RETAINED_TITLE, retainedCells, type HeapColumn } from './columns';
import { mapped, type GraphContext } from './context';
import { PlaceButton } from './place';
import { HeapTree } from './tree';
import { bytesCell, countCell, objectText, shortType } from './words';

const MOST_PATHS = 5;

const COLUMNS: readonly HeapColumn<'objects'>[] = [
  {
    name: 'From the roots',
    title: 'References, and the types they lead to',
    width: 'minmax(170px, 1fr)',
    order: null,
    number: false,
  },
  {
    name: 'Objects',
    title: 'Objects explained whose paths lead through here',
    width: '92px',
    order: null,
    number: true,
  },
  {
    name: 'Retained',
    title: `${RETAINED_TITLE}, of the objects explained`,
    width: '88px',
    order: null,
    number: true,
  },
  { name: 'Share', title: 'Of what all of them retain', width: '112px', order: null, number: true },
  {
    name: 'Cut frees',
    title: 'What would be freed without these references; – where that isn’t known',
    width: '92px',
    order: null,
    number: true,
  },
];

const STRENGTHS: readonly { readonly value: GraphState['through'][number]; readonly text: string }[] = [
  { value: 'weak', text: 'Weak' },
  { value: 'soft', text: 'Soft' },
  { value: 'phantom', text: 'Phantom' },
  { value: 'finalizer', text: 'Finalizer' },
  { value: 'ephemeron', text: 'Ephemeron' },
];

/** What is explained: the latest object, type or group; that is all there is when the pane is shown. */
export function whyPane(context: GraphContext): Pane {
  const answer = signal<PathsAnswer | null>(null);
  const words = signal('');
  let asking: Pending<PathsAnswer> | null = null;
  let shown = '';
  let merged: PathNodesAnswer | null = null;
  const tree = new HeapTree<PathNode>('Merged paths', {
    ask: (node, offset, limit) =>
      mapped(
        context.api.request('memlens/heapMergedPaths', {
          ...ofSelection(context.state.selection),
          ...{ filter: context.filter, through: [...context.state.through] },
          ...{ node: node?.node ?? 0, offset, limit },
        }),
        (found) => {
          merged = found;
          words.value = mergedWords(found);
          return found;
        },
      ),
    hasChildren: ({ children }) => children > 0,
    id: ({ node }) => String(node),
    cells: (row) => [
      [
        element('bdi', { class: 'heap-reference' }, shorten(row.name, 80)),
        ' ',
        element('bdi', { class: 'code', title: row.type }, shortType(row.type)),
        row.ends > 0 && row.children > 0
          ? element('span', { class: 'badge' }, counted(row.ends, 'ends', 'end'))
          : '',
      ],
      countCell(row.objects),
      ...retainedCells(row.bytes, merged?.bytes ?? 0),
      row.freed_bytes === null ? [element('span', { class: 'muted' }, '–')] : bytesCell(row.freed_bytes),
    ],
    isSelected: () => false,
    pick: ({ example }, opened, beside) => {
      if (opened) context.openSource({ is: 'object', object: example.object }, beside);
      else context.say(`One of them: ${objectText(example)}`);
    },
    menu: ({ example }) => context.menu({ is: 'object', object: example.object }, objectText(example)),
    sort: () => undefined,
    empty: () => 'No root reaches any of them.',
    failed: (error) => {
      context.failed(error);
    },
  });
  const host = element('div', { class: 'heap-paths' });
  const switches = element('div', {
    class: 'heap-bar',
    role: 'toolbar',
    attributes: { 'aria-label': 'Paths' },
  });
  render(<Paths answer={answer} context={context} />, host);
  const note = element('p', { class: 'heap-note muted', role: 'status' });
  const stop = words.subscribe((text) => {
    note.textContent = text;
    note.hidden = text === '';
  });
  const show = (): void => {
    const { selection, through } = context.state;
    const key = JSON.stringify([selection, through, selection?.is === 'object' ? '' : context.filter]);
    if (key === shown) return;
    shown = key;
    asking?.cancel();
    asking = null;
    answer.value = null;
    merged = null;
    const ofObject = selection?.is === 'object';
    host.hidden = !ofObject;
    tree.root.hidden = ofObject || selection === null;
    words.value = selection === null ? 'Select an object, a type or a box to see what keeps it alive.' : '';
    if (selection === null) return;
    if (!ofObject) {
      tree.show('Paths from roots, merged', gridColumns(COLUMNS, null));
      return;
    }
    const pending = context.api.request('memlens/heapPaths', {
      ...{ object: selection.object, through: [...through], most: MOST_PATHS },
    });
    asking = pending;
    pending.answer.then(
      (found) => {
        if (asking === pending) answer.value = found;
      },
      (error: unknown) => {
        if (asking === pending) context.failed(error);
      },
    );
  };
  const offer = ({ value, text }: (typeof STRENGTHS)[number]): void => {
    const box = element('input', {
      type: 'checkbox',
      on: {
        change: () => {
          const others = context.state.through.filter((each) => each !== value);
          context.keep({ through: box.checked ? [...others, value] : others });
          show();
        },
      },
    });
    box.checked = context.state.through.includes(value);
    switches.append(
      element(
        'label',
        { class: 'heap-switch', title: `Follow ${text.toLowerCase()} references, too` },
        box,
        text,
      ),
    );
  };
  context.api.request('memlens/heapOverview', {}).answer.then(
    ({ strengths }) => {
      for (const each of STRENGTHS) if (strengths.includes(each.value)) offer(each);
    },
    (error: unknown) => {
      context.failed(error);
    },
  );
  return {
    id: 'why',
    title: 'Why alive',
    usesSet: false,
    root: element('section', { class: 'heap-why' }, note, host, tree.root),
    bar: switches,
    update: () => {
      switches.classList.toggle('off', context.state.selection === null);
      show();
    },
    dispose: () => {
      asking?.cancel();
      tree.dispose();
      stop();
      render(null, host);
    },
  };
}

function ofSelection(selection: HeapSelection | null): { kind: number | null; group: number | null } {
  return {
    kind: selection?.is === 'type' ? selection.kind : null,
    group: selection?.is === 'group' ? selection.group : null,
  };
}

function mergedWords({ explained, left_out: left, unreachable }: PathNodesAnswer): string {
  const parts = [`Shortest paths to ${counted(explained, 'object')}`];
  if (left > 0) parts.push(`the largest; ${counted(left, 'other')} left out`);
  if (unreachable > 0) parts.push(`${counted(unreachable, 'object')} that no root reaches`);
  return `${parts.join(', ')}.`;
}

function Paths({
  answer,
  context,
}: {
  readonly answer: { readonly value: PathsAnswer | null };
  readonly context: GraphContext;
}): VNode {
  const found = answer.value;
  if (!found) return <></>;
  const { paths, complete, object } = found;
  if (paths.length === 0) return <p class="heap-note">No root reaches {objectText(object)}.</p>;
  return (
    <>
      {paths.map((path, index) => (
        <section key={index} aria-label={`Path ${index + 1}`}>
          <h3>
            {index === 0 ? 'Shortest path' : `From another root`}: {counted(path.length, 'reference')}{' '}
            <button
              type="button"
              class="icon-button"
              title="Copy Path"
              aria-label="Copy Path"
              onClick={() => {
                context.copy(pathText(path));
              }}
            >
              <Icon name="copy" />
            </button>
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
                gap={path.left_out > 0 && at === path.steps.length / 2 ? path.left_out : 0}
                context={context}
              />
            ))}
          </ol>
        </section>
      ))}
      {!complete && <p class="heap-note muted">There are paths from other roots, too.</p>}
    </>
  );
}

function Step({
  step,
  gap,
  context,
}: {
  readonly step: PathStep;
  readonly gap: number;
  readonly context: GraphContext;
}): VNode {
  const { freed_bytes: freed } = step;
  return (
    <>
      {gap > 0 && <li class="muted">… {counted(gap, 'reference')} …</li>}
      <li>
        <bdi class="heap-reference">{referenceWords(step)}</bdi>{' '}
        <ObjectButton row={step.object} context={context} />
        <span class="heap-figures" title={`Retained: ${exactBytes(step.object.retained_bytes)}`}>
          {bytes(step.object.retained_bytes)}
        </span>
        {freed !== null && (
          <span
            class={freed > 0 ? 'heap-cut' : 'heap-cut muted'}
            title="What would be freed without this reference"
          >
            {freed > 0 ? `cut frees ${bytes(freed)}` : 'cut frees nothing'}
          </span>
        )}
      </li>
    </>
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
  return visible(shorten(kinds.join(', ') || 'root', 200));
}

function pathText(path: Path): string {
  const first = `${rootWords(path)}: ${objectText(path.root)}`;
  const steps = path.steps.map((step) => `  ${referenceWords(step)} ${objectText(step.object)}`);
  return [first, ...steps].join('\n');
}
