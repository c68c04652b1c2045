// A function between those that call it and those that it calls, beside the table of all functions.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FlameName, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { count, plural, t } from '../base/l10n';
import { shorten } from '../base/text';
import { IconButton } from '../widgets/icon-button';
import { FlameFunctions } from './functions';
import { opens, type FlameGraph } from './graph';
import type { Half } from './question';
import { FlameTree } from './tree';
import { kindOf, nameText } from './words';

/** The function that the trees are about. */
interface Chosen {
  readonly name: FlameName;
  /** What is known of it as a whole; null where the set has none of it, undefined until that is known. */
  readonly answer?: FlameNodeAnswer | null;
  readonly isCount: boolean;
}

export class FlameSandwich {
  private readonly functions: FlameFunctions;
  private readonly callers: FlameTree;
  private readonly callees: FlameTree;
  private readonly chosen = signal<Chosen | null>(null);

  constructor(private readonly graph: FlameGraph) {
    const half = (name: string, direction: Half): FlameTree =>
      new FlameTree(name, graph, () => graph.question.halfOf(direction), { narrow: true });
    this.functions = new FlameFunctions(graph);
    this.callers = half(t('Callers'), 'bottom_up');
    this.callees = half(t('Callees'), 'top_down');
  }

  readonly View = ({ hidden }: { readonly hidden: boolean }): VNode => {
    const chosen = this.chosen.value;
    return (
      <div class="flame-sandwich" hidden={hidden}>
        <this.functions.View />
        <section class="flame-halves" aria-label={t('Callers and callees')} hidden={!chosen}>
          <header>{chosen && <Head {...chosen} graph={this.graph} />}</header>
          <this.callers.View />
          <this.callees.View />
        </section>
      </div>
    );
  };

  /** Another set or other options: asks again. */
  show(title: string, name: FlameName | null, isCount: boolean): void {
    this.functions.show(title, isCount);
    this.turnTo(name, isCount);
  }

  /** Another function of the same set. */
  turnTo(name: FlameName | null, isCount: boolean): void {
    this.functions.choose(name?.name ?? null);
    this.chosen.value = name && { name, isCount };
    if (!name) return;
    this.callers.show(t('Callers of {0}', nameText(name)), isCount);
    this.callees.show(t('Callees of {0}', nameText(name)), isCount);
  }

  /** The function as a whole; null where the set has none of it. */
  showFunction(answer: FlameNodeAnswer | null, isCount: boolean): void {
    const { value } = this.chosen;
    if (value) this.chosen.value = { name: value.name, answer, isCount };
  }

  redraw(): void {
    this.functions.redraw();
    this.callers.redraw();
    this.callees.redraw();
  }

  dispose(): void {
    this.functions.dispose();
    this.callers.dispose();
    this.callees.dispose();
  }
}

interface HeadProps extends Chosen {
  readonly graph: FlameGraph;
}

function Head({ name, answer, isCount, graph }: HeadProps): VNode {
  const line = answer?.lines[0];
  return (
    <>
      <h3>
        <bdi class="code">{shorten(nameText(name), 120)}</bdi>
      </h3>
      <span class="muted flame-where">
        {answer === null && t('is not in this set')}
        {answer && `${figuresOf(answer, isCount)} · ${kindOf(answer.node.name)}`}
      </span>
      {line && opens(line, answer.node.name) && (
        <button
          type="button"
          class="link"
          title={t('Open {0}', shorten(answer.node.name.declared || `${line.file}:${line.line}`, 300))}
          onClick={(event) => graph.selection.fetchSandwich({ beside: event.ctrlKey || event.metaKey })}
        >
          {graph.places.of(line)}
        </button>
      )}
      <IconButton
        icon="close"
        label={t('Close callers and callees')}
        press={() => graph.selection.turnSandwich(null)}
      />
    </>
  );
}

function figuresOf(answer: FlameNodeAnswer, isCount: boolean): string {
  const { node, function_self_count: ownCount, function_self_bytes: ownBytes } = answer;
  return isCount
    ? plural(node.count, '{0} allocation, {1} self', '{0} allocations, {1} self', count(ownCount))
    : t('{0}, {1} self', bytes(node.bytes), bytes(ownBytes));
}
