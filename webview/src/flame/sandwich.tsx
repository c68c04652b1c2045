// A function between those that call it and those that it calls, beside the table of all functions.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FlameName, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import { bytes } from '../base/format';
import { count, plural, t } from '../base/l10n';
import { shorten } from '../base/text';
import type { KeptAttribution } from '../shell/attribution';
import { IconButton } from '../widgets/icon-button';
import type { Sided } from './difference';
import { FlameFunctions, type FunctionsEvents } from './functions';
import type { TreeParams } from './settings';
import { FlameTree, type FlameTreeEvents } from './tree';
import { kindOf, nameText, type Places } from './words';

export interface SandwichEvents extends FunctionsEvents {
  /** The tree of one half, and what happens on it. */
  half(direction: Half): FlameTreeEvents;
  /** Opens the line that the function is named by. */
  openLine(beside: boolean): void;
  close(): void;
}

export type Half = TreeParams['options']['direction'];

/** What a half's requests are about: stacks through the function, up from it or down. */
export function halfParams(params: TreeParams, direction: Half, name: FlameName): TreeParams {
  return { ...params, options: { ...params.options, direction, focus: name.name } };
}

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

  constructor(
    private readonly events: SandwichEvents,
    private readonly places: Places,
    attribution: Pick<KeptAttribution, 'rule'>,
    sided: () => Sided | null,
  ) {
    this.functions = new FlameFunctions(events, places, attribution, sided);
    this.callers = new FlameTree(t('Callers'), events.half('bottom_up'), places, { narrow: true, sided });
    this.callees = new FlameTree(t('Callees'), events.half('top_down'), places, { narrow: true, sided });
  }

  readonly View = ({ hidden }: { readonly hidden: boolean }): VNode => {
    const chosen = this.chosen.value;
    return (
      <div class="flame-sandwich" hidden={hidden}>
        <this.functions.View />
        <section class="flame-halves" aria-label={t('Callers and callees')} hidden={!chosen}>
          <header>{chosen && <Head {...chosen} places={this.places} events={this.events} />}</header>
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
  readonly places: Places;
  readonly events: SandwichEvents;
}

function Head({ name, answer, isCount, places, events }: HeadProps): VNode {
  const line = answer?.lines[0];
  const opens = line !== undefined && line.line > 0 && answer?.node.name.kind !== 'native';
  return (
    <>
      <h3>
        <bdi class="code">{shorten(nameText(name), 120)}</bdi>
      </h3>
      <span class="muted flame-where">
        {answer === null && t('is not in this set')}
        {answer && `${figuresOf(answer, isCount)} · ${kindOf(answer.node.name)}`}
      </span>
      {opens && (
        <button
          type="button"
          class="link"
          title={t('Open {0}', `${shorten(line.file, 300)}:${line.line}`)}
          onClick={(event) => events.openLine(event.ctrlKey || event.metaKey)}
        >
          {places.of(line)}
        </button>
      )}
      <IconButton icon="close" label={t('Close callers and callees')} press={() => events.close()} />
    </>
  );
}

function figuresOf(answer: FlameNodeAnswer, isCount: boolean): string {
  const { node, function_self_count: ownCount, function_self_bytes: ownBytes } = answer;
  return isCount
    ? plural(node.count, '{0} allocation, {1} self', '{0} allocations, {1} self', count(ownCount))
    : t('{0}, {1} self', bytes(node.bytes), bytes(ownBytes));
}
