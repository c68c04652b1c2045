// What a search found in a flame graph, and the way from match to match.

import type { FlameNode, FlameSearchAnswer } from '../../../extension/shared/protocol.gen';
import { Latest } from '../base/latest';
import { plural, t } from '../base/l10n';
import type { FlameGraph } from './graph';
import { amount, share } from './words';

export class FlameFinder {
  private found: FlameSearchAnswer | null = null;
  private match = -1;
  private isCount = false;
  private readonly latest = new Latest();

  constructor(private readonly graph: FlameGraph) {}

  search(text: string, isCount: boolean): void {
    this.cancel();
    this.found = null;
    this.match = -1;
    this.isCount = isCount;
    if (text === '') {
      this.graph.toolbar.setFound('');
      return;
    }
    this.latest.ask(
      this.graph.source.search(this.graph.question.params, text),
      (found) => {
        this.found = found;
        this.showPlace();
        this.graph.say(this.words(found));
      },
      (error) => this.graph.failed(error),
    );
  }

  cancel(): void {
    this.latest.cancel();
  }

  /** The next match (1) or the one before (-1), if anything matches. */
  step(by: 1 | -1): FlameNode | null {
    const matches = this.found?.matches ?? [];
    if (matches.length === 0) return null;
    this.match =
      this.match < 0 && by < 0 ? matches.length - 1 : (this.match + by + matches.length) % matches.length;
    this.showPlace();
    return matches[this.match] ?? null;
  }

  private showPlace(): void {
    const { found, match } = this;
    if (!found) return;
    // the way leads through the largest of very many
    const { length } = found.matches;
    const place = `${match + 1}/${length}`;
    const words = this.words(found);
    this.graph.toolbar.setFound(
      match < 0
        ? words
        : length < found.nodes
          ? t('{0} of the largest, {1}', place, words)
          : t('{0}, {1}', place, words),
    );
  }

  private words(found: FlameSearchAnswer): string {
    if (found.nodes === 0) return t('Nothing found');
    const boxes = plural(found.nodes, '{0} box', '{0} boxes');
    if (found.sides) {
      const { before_bytes: before, after_bytes: after } = found.sides;
      return t('{0} in {1}', `${amount(before, false)} → ${amount(after, false)}`, boxes);
    }
    const value = this.isCount ? found.count : found.bytes;
    const total = this.isCount ? found.total_count : found.total_bytes;
    return t('{0} in {1}', `${amount(value, this.isCount)} (${share(value, total)})`, boxes);
  }
}
