// What is selected in a flame graph, in the picture or in a table: what is shown of it, and what is done with it.

import type { FlameName, FlameNode, FlameNodeAnswer } from '../../../extension/shared/protocol.gen';
import { RequestError } from '../base/request';
import { isCancelled, Latest } from '../base/latest';
import { plural, t } from '../base/l10n';
import type { BoxFacts } from './boxes';
import { changeOf, changeSentence } from './difference';
import { openLine, opens, type FlameGraph, type Opening } from './graph';
import type { FlameQuestion } from './question';
import type { TreeParams } from './settings';
import { amount, nameText, nodeSentence, share } from './words';

export class FlameSelection {
  /** What is known of the node that is selected; null for none. */
  answer: FlameNodeAnswer | null = null;
  /** Which tree and node that is of. */
  private of = '';
  /** What waits until it is known. */
  private waiting: ((name: FlameName) => void) | null = null;
  private readonly latest = new Latest();

  constructor(private readonly graph: FlameGraph) {}

  /** The node that is selected in the picture; null for none, and for boxes that are merged. */
  get node(): number | null {
    const { selected } = this.graph.plot;
    return selected && !selected.more ? selected.node : null;
  }

  select(facts: BoxFacts | null, open: Opening): void {
    this.graph.plot.select(facts);
    this.graph.keepPlace();
    if (facts?.more) this.sayMore(facts);
    else if (facts) this.fetch(facts.node, open);
    else {
      this.forget();
      this.graph.context.timeline?.highlightStacks(new Set());
    }
  }

  /** Selects a node wherever it is, and moves there. */
  go(node: FlameNode): void {
    const { plot } = this.graph;
    const total = plot.geometry?.total ?? 0;
    const key = { node: node.node, more: false, left: node.x0 * total };
    plot.select(key);
    this.graph.keepPlace();
    plot.reveal({
      ...key,
      value: (node.x1 - node.x0) * total,
      depth: node.depth,
      name: node.name.name,
      kind: 0,
      package: 0,
      change: null,
    });
    this.fetch(node.node, null);
  }

  /** Fetches what is shown of a node of a tree. */
  fetch(node: number, opening: Opening, params: TreeParams = this.question.params): void {
    this.cancel();
    const of = keyOf(params, node);
    if (this.answer && this.of === of) {
      this.shown(this.answer, opening);
      return;
    }
    this.latest.ask(
      this.graph.source.node(params, node),
      (answer) => {
        this.answer = answer;
        this.of = of;
        this.shown(answer, opening);
        const { waiting } = this;
        this.waiting = null;
        if (waiting) this.withName(waiting);
      },
      (error) => {
        this.waiting = null;
        this.notFound(error, of);
      },
    );
  }

  /** Asks again for the same: what it has of its own is counted otherwise. */
  renew(): void {
    const { node } = this;
    this.cancel();
    this.answer = null;
    if (this.question.isDrawn && node !== null) this.fetch(node, null);
  }

  /** Shows the same in other words. */
  restate(): void {
    const { answer, of } = this;
    const { isCount, isDrawn } = this.question;
    const { details, sandwich } = this.graph;
    if (answer && details.isOpen) details.show({ answer, isCount, drawn: isDrawn });
    if (answer && of === this.ofSandwich) sandwich.showFunction(answer, isCount);
  }

  forget(): void {
    this.cancel();
    this.answer = null;
    this.graph.details.clear();
  }

  cancel(): void {
    this.latest.cancel();
    this.waiting = null;
  }

  /** Does something to the function that is selected, once its name is known; false when none is. */
  withName(run: (name: FlameName) => void): boolean {
    if (this.latest.asking) {
      this.waiting = run;
      return true;
    }
    const { answer } = this;
    if (!answer || answer.node.node === 0 || answer.node.name.kind === 'none') return false;
    run(answer.node.name);
    return true;
  }

  /** Puts a function between its callers and callees. */
  toSandwich(name: FlameName): void {
    if (this.question.settings.form === 'functions') this.turnSandwich(name);
    else this.graph.change({ form: 'functions', sandwich: name });
  }

  turnSandwich(name: FlameName | null, opening: Opening = null): void {
    this.graph.kept.set({ sandwich: name });
    this.graph.sandwich.turnTo(name, this.question.isCount);
    if (name) this.fetchSandwich(opening);
    else this.graph.context.timeline?.highlightStacks(new Set());
  }

  fetchSandwich(opening: Opening): void {
    // a tree from a function down has the function as its first node
    this.fetch(1, opening, this.question.halfOf('top_down'));
  }

  private get question(): FlameQuestion {
    return this.graph.question;
  }

  private get ofSandwich(): string {
    return keyOf(this.question.halfOf('top_down'), 1);
  }

  private sayMore(facts: BoxFacts): void {
    const total = this.graph.plot.geometry?.total ?? 1;
    this.forget();
    const sided = this.question.sided();
    const figures =
      sided && facts.change
        ? changeSentence(facts.change, sided)
        : `${amount(facts.value, this.question.isCount)}, ${share(facts.value, total)}`;
    this.graph.say(
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
    if (none && of === this.ofSandwich) this.graph.sandwich.showFunction(null, this.question.isCount);
    // what was selected when the view was last open may be another file's by now
    else if (none && this.graph.isReturning) this.graph.plot.select(null);
    else if (!isCancelled(error)) this.graph.failed(error);
  }

  private shown(answer: FlameNodeAnswer, opening: Opening): void {
    const { plot, details, sandwich, places } = this.graph;
    const { isCount, isDrawn, settings } = this.question;
    const { node } = answer;
    plot.learn([node.name, ...answer.path.map(({ name }) => name)]);
    plot.redraw();
    if (settings.form !== 'functions') details.show({ answer, isCount, drawn: isDrawn });
    else if (this.of === this.ofSandwich) sandwich.showFunction(answer, isCount);
    this.graph.context.timeline?.highlightStacks(new Set(node.node === 0 ? [] : answer.stacks));
    const total = isCount ? answer.total_count : answer.total_bytes;
    const sided = this.question.sided();
    // the whole of a half is the function, not the set
    const whole = settings.form === 'functions' ? null : total;
    this.graph.say(
      sided
        ? `${nameText(node.name)}: ${changeSentence(changeOf(node.sides), sided)}`
        : nodeSentence(node, places, whole, isCount),
    );
    if (opening) this.open(answer, opening.beside);
  }

  private open({ lines: [line], node: { name } }: FlameNodeAnswer, beside: boolean): void {
    if (!line || !opens(line, name)) {
      this.graph.say(t('{0} has no line of source in this snapshot.', nameText(name)));
      return;
    }
    openLine(this.graph, line, name, beside);
  }
}

function keyOf(params: TreeParams, node: number): string {
  return JSON.stringify([params, node]);
}
