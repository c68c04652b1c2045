// How large the allocations of the set are: a histogram with a bin for each power of two.

import type { SizeBin, SizesAnswer } from '../../../../extension/shared/protocol.gen';
import type { ViewContext } from '../../shell/context';
import { both } from '../../shell/filter-terms';
import { Latest } from '../../base/latest';
import { Choice } from '../../widgets/choice';
import { element, replace, setText } from '../../widgets/dom';
import { countedFigure, exactFigure, figure } from '../../base/figure';
import { bytes, count, share } from '../../base/format';
import type { Pane } from '../../shell/pane';

type By = 'bytes' | 'count';

class Sizes {
  readonly root: HTMLElement;
  readonly bar: HTMLElement;
  private readonly summary = element('span', { class: 'muted', role: 'status' });
  private readonly body = element('tbody', {});
  private readonly choice: Choice<By>;
  private by: By = 'bytes';
  private answer: SizesAnswer | null = null;
  private readonly latest = new Latest();

  constructor(private readonly context: ViewContext) {
    this.choice = new Choice<By>(
      'What bars mean',
      [
        { value: 'bytes', text: 'By amount' },
        { value: 'count', text: 'By count' },
      ],
      (by) => {
        this.by = by;
        this.draw();
      },
    );
    const heads = ['Size of one', '', 'Amount', 'Count'].map((text) =>
      element('th', { attributes: { scope: 'col' } }, text),
    );
    this.bar = element('div', { class: 'sizes-head' }, this.choice.root, this.summary);
    this.root = element(
      'section',
      { class: 'sizes', attributes: { 'aria-label': 'Sizes of allocations' } },
      element(
        'div',
        { class: 'sizes-body' },
        element('table', {}, element('thead', {}, element('tr', {}, ...heads)), this.body),
      ),
    );
  }

  ask(): void {
    this.latest.ask(
      this.context.api.request('memlens/sizes', { of: this.context.set }),
      (answer) => {
        this.answer = answer;
        this.draw();
      },
      (error) => {
        replace(this.body);
        setText(this.summary, error instanceof Error ? error.message : String(error));
      },
    );
  }

  dispose(): void {
    this.latest.cancel();
  }

  private draw(): void {
    this.choice.set(this.by);
    const { answer } = this;
    if (!answer) return;
    const most = Math.max(1, ...answer.bins.map((bin) => Math.max(bin[this.by], 0)));
    const { setName } = this.context;
    const unknown =
      answer.unknown_count > 0
        ? `; ${figure(answer.unknown_bytes)} in ${countedFigure(answer.unknown_count)} of unknown size`
        : '';
    setText(
      this.summary,
      answer.bins.length === 0 && unknown === '' ? `Nothing ${setName}` : `${setName}${unknown}`,
    );
    replace(this.body, ...answer.bins.map((bin) => this.row(bin, most)));
  }

  private row(bin: SizeBin, most: number): HTMLElement {
    const range =
      bin.below_bytes <= 1
        ? '0 B'
        : bin.below_bytes === 2
          ? '1 B'
          : `${bytes(bin.least_bytes)} to ${bytes(bin.below_bytes)}`;
    const bar = element('span', { class: 'sizes-bar', attributes: { 'aria-hidden': 'true' } });
    bar.style.setProperty('--share', String(Math.max(bin[this.by], 0) / most));
    bar.hidden = bin[this.by] <= 0;
    const whole = this.answer?.bins.reduce((sum, each) => sum + each[this.by], 0) ?? 0;
    const filter = (): void => {
      this.context.setFilter(both(this.context.filter, bin.filter));
    };
    return element(
      'tr',
      {},
      element(
        'th',
        { attributes: { scope: 'row' } },
        element(
          'button',
          { class: 'link', type: 'button', title: 'Filter every view to this', on: { click: filter } },
          range,
        ),
      ),
      element('td', { class: 'sizes-cell', title: share(bin[this.by], whole) }, bar),
      element('td', { class: 'number', title: exactFigure(bin.bytes) }, figure(bin.bytes)),
      element('td', { class: 'number' }, count(bin.count)),
    );
  }
}

export const sizesPane = (context: ViewContext): Pane => {
  const sizes = new Sizes(context);
  return {
    id: 'sizes',
    title: 'Sizes',
    usesSet: true,
    root: sizes.root,
    bar: sizes.bar,
    update: (changes) => {
      if (changes.has('device') || changes.has('filter') || changes.has('cursors')) sizes.ask();
    },
    dispose: () => {
      sizes.dispose();
    },
  };
};
