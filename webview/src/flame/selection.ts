// What is selected in a flame graph, in the picture or in a table: what is shown of it, and what is done with it.

import type { FlameName, FlameNode, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import { RequestError } from '../base/request';
import { isCancelled } from '../base/latest';
import { plural, t } from '../base/l10n';
import type { FlameContext } from './context';
import type { BoxFacts } from './boxes';
import { FlameChosen, keyOf, type Opening } from './chosen';
import type { FlameDetails } from './details';
import { changeOf, changeSentence } from './difference';
import type { FlamePlot } from './plot';
import type { FlameQuestion } from './question';
import type { FlameSandwich } from './sandwich';
import type { KeptFlame, TreeParams } from './settings';
import type { FlameSource } from './source';
import { amount, nameText, nodeSentence, share, type Places } from './words';

/** What it is shown in. */
export interface SelectionParts {
  readonly plot: FlamePlot;
  readonly details: FlameDetails;
  readonly sandwich: FlameSandwich;
  readonly places: Places;
}

export interface SelectionEvents {
  /** Something else is selected: where the graph stands is kept with it. */
  changed(): void;
  /** Shows the table of functions with this one between its trees. */
  showFunctions(name: FlameName): void;
  say(text: string): void;
  /** A box that was selected when the view was last open isn't there any more; false for any other. */
  lost(): boolean;
}

export class FlameSelection {
  private readonly chosen: FlameChosen;

  constructor(
    private readonly context: Pick<FlameContext, 'timeline' | 'openFrame' | 'failed'>,
    private readonly kept: KeptFlame,
    private readonly question: FlameQuestion,
    source: FlameSource,
    private readonly parts: SelectionParts,
    private readonly events: SelectionEvents,
  ) {
    this.chosen = new FlameChosen({
      ask: (params, node) => source.node(params, node),
      shown: (answer, opening) => this.shown(answer, opening),
      failed: (error, of) => this.notFound(error, of),
    });
  }

  /** The node that is selected in the picture; null for none, and for boxes that are merged. */
  get node(): number | null {
    const { selected } = this.parts.plot;
    return selected && !selected.more ? selected.node : null;
  }

  select(facts: BoxFacts | null, open: Opening): void {
    this.parts.plot.select(facts);
    this.events.changed();
    if (facts?.more) this.sayMore(facts);
    else if (facts) this.fetch(facts.node, open);
    else {
      this.forget();
      this.context.timeline?.lightStacks(new Set());
    }
  }

  /** Selects a node wherever it is, and moves there. */
  go(node: FlameNode): void {
    const { plot } = this.parts;
    const total = plot.geometry?.total ?? 0;
    const key = { node: node.node, more: false, left: node.x0 * total };
    plot.select(key);
    this.events.changed();
    plot.reveal({
      ...{ ...key, value: (node.x1 - node.x0) * total, depth: node.depth, name: node.name.name },
      ...{ kind: 0, package: 0, change: null },
    });
    this.fetch(node.node, null);
  }

  /** Fetches what is shown of a node of a tree. */
  fetch(node: number, opening: Opening, params: TreeParams = this.question.params): void {
    this.chosen.choose(params, node, opening);
  }

  /** Asks again for the same: what it has of its own is counted otherwise. */
  renew(): void {
    const { node } = this;
    this.chosen.forget();
    if (this.question.isDrawn && node !== null) this.fetch(node, null);
  }

  /** Shows the same in other words. */
  restate(): void {
    const { answer, of } = this.chosen;
    const { isCount, isDrawn } = this.question;
    const { details, sandwich } = this.parts;
    if (answer && details.isOpen) details.show({ answer, isCount, drawn: isDrawn });
    if (answer && of === this.ofSandwich) sandwich.showFunction(answer, isCount);
  }

  forget(): void {
    this.chosen.forget();
    this.parts.details.clear();
  }

  cancel(): void {
    this.chosen.cancel();
  }

  /** Does something to the function that is selected, once its name is known; false when none is. */
  withName(run: (name: FlameName) => void): boolean {
    return this.chosen.withName(run);
  }

  /** What is known of the node that is selected; null for none. */
  get answer(): FlameNodeAnswer | null {
    return this.chosen.answer;
  }

  /** Puts a function between its callers and callees. */
  toSandwich(name: FlameName): void {
    if (this.question.settings.form === 'functions') this.turnSandwich(name);
    else this.events.showFunctions(name);
  }

  turnSandwich(name: FlameName | null, opening: Opening = null): void {
    this.kept.set({ sandwich: name });
    this.parts.sandwich.turnTo(name, this.question.isCount);
    if (name) this.fetchSandwich(opening);
    else this.context.timeline?.lightStacks(new Set());
  }

  fetchSandwich(opening: Opening): void {
    // a tree from a function down has the function as its first node
    this.fetch(1, opening, this.question.halfOf('top_down'));
  }

  private get ofSandwich(): string {
    return keyOf(this.question.halfOf('top_down'), 1);
  }

  private sayMore(facts: BoxFacts): void {
    const total = this.parts.plot.geometry?.total ?? 1;
    this.forget();
    const sided = this.question.sided();
    const figures =
      sided && facts.change
        ? changeSentence(facts.change, sided)
        : `${amount(facts.value, this.question.isCount)}, ${share(facts.value, total)}`;
    this.events.say(
      plural(
        facts.name,
        '{0} more box, {1}. Enter zooms in.',
        '{0} more boxes, {1}. Enter zooms in.',
        figures,
      ),
    );
  }

  private notFound(error: unknown, of: string): void {
    // a function that was chosen before may have no part in this set
    const none = error instanceof RequestError && error.problem.code === 'bad-request';
    if (none && of === this.ofSandwich) this.parts.sandwich.showFunction(null, this.question.isCount);
    // what was selected when the view was last open may be another file's by now
    else if (none && this.events.lost()) this.parts.plot.select(null);
    else if (!isCancelled(error)) this.context.failed(error);
  }

  private shown(answer: FlameNodeAnswer, opening: Opening): void {
    const { plot, details, sandwich, places } = this.parts;
    const { isCount, isDrawn, settings } = this.question;
    const { node } = answer;
    plot.learn([node.name, ...answer.path.map(({ name }) => name)]);
    plot.redraw();
    if (settings.form !== 'functions') details.show({ answer, isCount, drawn: isDrawn });
    else if (this.chosen.of === this.ofSandwich) sandwich.showFunction(answer, isCount);
    this.context.timeline?.lightStacks(new Set(node.node === 0 ? [] : answer.stacks));
    const total = isCount ? answer.total_count : answer.total_bytes;
    const sided = this.question.sided();
    // the whole of a half is the function, not the set
    const whole = settings.form === 'functions' ? null : total;
    this.events.say(
      sided
        ? `${nameText(node.name)}: ${changeSentence(changeOf(node.sides), sided)}`
        : nodeSentence(node, places, whole, isCount),
    );
    if (opening) this.open(answer, opening.beside);
  }

  private open({ lines: [line], node: { name } }: FlameNodeAnswer, beside: boolean): void {
    if (!line || line.line <= 0 || name.kind === 'native') {
      this.events.say(t('{0} has no line of source in this snapshot.', nameText(name)));
      return;
    }
    const kind = name.kind === 'none' ? 'user' : name.kind;
    this.context.openFrame({ ...line, kind, source: 'recorded' }, beside);
  }
}
