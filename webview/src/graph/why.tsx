// Why something is alive: an object's shortest paths to roots; of a type or group the paths to all of them, merged.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { GraphState, HeapSelection } from '../../../extension/shared/messages';
import type { LeastCutAnswer, PathNodesAnswer, PathsAnswer } from '../../../extension/shared/protocol.gen';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { Bar } from '../widgets/bar';
import type { BarRoom, Pane, PaneOf, PaneRoom } from '../shell/pane';
import type { GraphSession } from './session';
import { LeastCut } from './least-cut';
import { LeftOut, type LeaveOut } from './left-out';
import { canExplain } from './menu';
import { mergedTree, mergedWords, showMerged } from './merged-paths';
import { Paths } from './paths';
import { FOLLOWED } from './state';
import { GivenUp, Waiting } from './waiting';

const PATHS = 5;
const MORE_PATHS = 20;

type Strength = GraphState['through'][number];

const STRENGTHS: readonly { readonly value: Strength; readonly text: string; readonly title: string }[] = [
  { value: 'weak', text: t('Weak'), title: t('Follow weak references') },
  { value: 'soft', text: t('Soft'), title: t('Follow soft references') },
  { value: 'phantom', text: t('Phantom'), title: t('Follow phantom references') },
  { value: 'finalizer', text: t('Finalizer'), title: t('Follow finalizer references') },
  { value: 'ephemeron', text: t('Ephemeron'), title: t('Follow ephemeron references') },
];

const TITLE = t('Why alive');

export const whyPane = {
  id: 'why',
  of: ['graph'],
  place: 30,
  title: TITLE,
  palette: 'Show Why Objects Are Alive',
  make: makePane,
} satisfies PaneOf<GraphSession>;

/** What is explained: the latest object, type or group; that is all there is when the pane is shown. */
function makePane(context: GraphSession): Pane {
  const explained = signal<HeapSelection | null>(null);
  const answer = signal<PathsAnswer | null>(null);
  const merged = signal<PathNodesAnswer | null>(null);
  const through = signal(context.state.through);
  const without = signal(context.state.without);
  const offered = signal<readonly Strength[]>([]);
  const leastCut = signal<LeastCutAnswer | null>(null);
  const asking = new Latest();
  const askingForCut = new Latest();
  const isGivenUp = signal(false);
  /** The object of which further paths are wanted, however long looking for them takes. */
  let further: number | null = null;
  let shown = '';
  const leaveOut: LeaveOut = (chosen) => {
    context.keep({ without: [...chosen] });
    show();
  };
  const tree = mergedTree(context, merged, leaveOut);
  /** By the references that are followed at first, where nothing is left out: else another question is asked. */
  const askForCut = (of: HeapSelection, filter: string): void => {
    if (without.value.length > 0 || String(through.value) !== String(FOLLOWED)) return;
    askingForCut.ask(
      context.api.request('memlens/heapLeastCut', {
        object: of.is === 'object' ? of.object : null,
        kind: of.is === 'type' ? of.kind : null,
        group: of.is === 'group' ? of.group : null,
        filter,
      }),
      (found) => {
        leastCut.value = found;
      },
      (error) => context.failed(error),
    );
  };
  const show = (): void => {
    const { selection: chosen } = context.state;
    const selection = chosen && canExplain(chosen) ? chosen : null;
    through.value = context.state.through;
    without.value = context.state.without;
    const filter = selection?.is === 'object' ? '' : context.filter;
    const isFurther = selection?.is === 'object' && selection.object === further;
    const key = JSON.stringify([selection, through.value, without.value, filter, isFurther]);
    if (key === shown) return;
    shown = key;
    asking.cancel();
    isGivenUp.value = false;
    answer.value = null;
    merged.value = null;
    leastCut.value = null;
    askingForCut.cancel();
    explained.value = selection;
    if (selection === null) return;
    askForCut(selection, filter);
    if (selection.is !== 'object') {
      showMerged(tree, context);
      return;
    }
    asking.ask(
      context.api.request('memlens/heapPaths', {
        object: selection.object,
        through: [...through.value],
        without: [...without.value],
        most: isFurther ? MORE_PATHS : PATHS,
        soon: !isFurther,
      }),
      (found) => {
        answer.value = found;
      },
      (error) => context.failed(error),
    );
  };
  const View = (room: PaneRoom): VNode => {
    const is = explained.value?.is ?? null;
    const words =
      is === null
        ? t('Select an object, a type or a box to see what keeps it alive.')
        : merged.value && mergedWords(merged.value);
    return (
      <section {...room} class="heap-why pane">
        {is !== null && (
          <LeftOut
            without={without.value}
            found={(is === 'object' ? answer.value : merged.value)?.without ?? null}
            change={leaveOut}
          />
        )}
        <p class="heap-note muted" role="status" hidden={words === null}>
          {words}
        </p>
        <LeastCut found={leastCut} context={context} />
        <div class="heap-paths" hidden={is !== 'object'}>
          {answer.value && (
            <Paths
              key={shown}
              found={answer.value}
              more={
                answer.value.object.object === further
                  ? null
                  : (object) => {
                      further = object;
                      show();
                    }
              }
              context={context}
              leaveOut={leaveOut}
            />
          )}
          {asking.asking && (
            <Waiting
              text={t('Looking for paths…')}
              done={asking.done}
              cancel={() => {
                asking.cancel();
                isGivenUp.value = true;
              }}
            />
          )}
          {isGivenUp.value && (
            <GivenUp
              again={() => {
                shown = '';
                show();
              }}
            />
          )}
        </div>
        <tree.View hidden={is === 'object' || is === null} />
      </section>
    );
  };
  const Switches = ({ hidden }: BarRoom): VNode => (
    <Bar class="heap-bar" label={t('Paths')} hidden={hidden}>
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
    </Bar>
  );
  context.api.request('memlens/heapOverview', {}).answer.then(
    ({ strengths }) => {
      offered.value = STRENGTHS.map(({ value }) => value).filter((value) => strengths.includes(value));
    },
    (error: unknown) => context.failed(error),
  );
  return {
    View,
    Bar: Switches,
    update: show,
    dispose: () => {
      asking.cancel();
      askingForCut.cancel();
      tree.dispose();
    },
  };
}
