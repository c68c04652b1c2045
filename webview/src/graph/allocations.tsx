// The stacks that allocated the objects of a heap dump, as a flame graph beside the dominators.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { AllocationSet, FlameNodeAnswer, ProfileInfo } from '../../../extension/shared/protocol.gen';
import { figureIn, setFigures } from '../base/figure';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { exactly } from '../base/text';
import type { SetFlameContext, StackObjects } from '../flame/context';
import { flamePane, type FlamePane } from '../flame/pane';
import { KeptFlame } from '../flame/settings';
import { KeptAttribution } from '../shell/attribution';
import type { PaneTab } from '../shell/pane';
import { Dropdown } from '../widgets/choice';
import type { GraphContext } from './context';

const FUNCTIONS = 'allocated-by';
/** Most of a heap is there before a recording begins, and would be nearly all of the picture. */
const WITHOUT_STACK = 'stack:0';
/** The longest filter that the server takes is as long again. */
const LONGEST_TERM = 2_000;

/** What the flame graph is of and how it is shown, whether it was shown already or not. */
export class Allocations {
  readonly kept: KeptFlame;
  private readonly value = signal(0);
  private readonly attribution: KeptAttribution;
  private pane: FlamePane | null = null;
  /** What isn't shown, in words. */
  private readonly rest = signal('');
  private readonly summing = new Latest();

  constructor(
    private readonly owner: GraphContext,
    private readonly info: ProfileInfo,
  ) {
    const { flame, value } = owner.state;
    this.kept = new KeptFlame(flame, info, () => owner.keep({ flame: this.kept.state }));
    this.attribution = new KeptAttribution(owner.api, () => this.pane?.update(new Set(['attribution'])));
    this.choose(value);
  }

  get tab(): PaneTab {
    return {
      ...{ id: 'flame', title: t('Allocation stacks'), usesSet: false },
      make: () => {
        const pane = flamePane(this.context(), this.Values);
        pane.without('value', 'order');
        this.pane = pane;
        this.sumRest();
        const { id, title, usesSet, View, Bar } = pane;
        return {
          ...{ id, title, usesSet, View, Bar },
          update: (changes) => {
            if (changes.has('filter')) this.sumRest();
            pane.update(changes);
          },
          key: (event) => pane.key(event),
          dispose: () => {
            this.summing.cancel();
            pane.dispose();
          },
        };
      },
    };
  }

  /** As it was somewhere before. */
  goTo(): void {
    const { flame, value } = this.owner.state;
    this.kept.restore(flame);
    this.choose(value);
    this.pane?.update(new Set(['flame']));
  }

  /** Marks the boxes of a function, which the pane shows next. */
  search(name: string): void {
    this.kept.set({ search: name, form: this.kept.settings.form === 'flame' ? 'flame' : 'icicle' });
    this.pane?.update(new Set(['flame']));
  }

  private choose(value: number): void {
    const { values, default_value: first } = this.info;
    this.value.value = values[value] === undefined ? first : value;
    setFigures({ unit: this.unit, counts: 'object' });
    // widths are what the value says, and nothing has an order of time
    Object.assign(this.kept.settings, { value: 'bytes', order: 'value' });
  }

  /** Says what has no stack, of what the filter leaves. */
  private sumRest(): void {
    const { owner } = this;
    const filter = `${owner.filter} ${WITHOUT_STACK}`.trim();
    this.summing.ask(
      owner.api.request('memlens/heapTypes', {
        ...{ filter, order: 'count', reverse: false, by: 'package', package: null, offset: 0, limit: 1 },
      }),
      ({ objects, shallow_bytes: size }) => {
        this.rest.value = objects === 0 ? '' : t('{0} without a stack', bytes(size));
      },
      (error) => owner.failed(error),
    );
  }

  private get unit(): string {
    return this.info.values[this.value.value]?.unit ?? 'bytes';
  }

  private readonly Values = (): VNode => (
    <>
      <Dropdown<string>
        label={t('Value')}
        value={String(this.value.value)}
        options={this.info.values.map(({ title, name, unit, total }, value) => ({
          ...{ value: String(value), text: `${said(title)} · ${figureIn(total, unit)}`, title: name },
        }))}
        change={(value) => {
          this.choose(Number(value));
          this.owner.keep({ value: this.value.value });
          this.pane?.update(new Set(['device']));
        }}
      />
      {this.rest.value !== '' && (
        <span
          class="muted flame-rest"
          title={t('Not in the picture: allocated before stacks were recorded, or V8 lost their stacks')}
        >
          {this.rest.value}
        </span>
      )}
    </>
  );

  private context(): SetFlameContext {
    const { owner, info, value, kept, attribution } = this;
    const objects: StackObjects = { term: FUNCTIONS, show: (box) => owner.listTypes(termOf(box)) };
    return {
      ...{ api: owner.api, info, timeline: null, attribution, flame: kept, objects },
      get set(): AllocationSet {
        const of = { device: 0, kind: 'live' as const, from_moment: null, to_moment: null };
        return { ...of, filter: `${owner.filter} -${WITHOUT_STACK}`.trim(), value: value.value };
      },
      get setName(): string {
        const title = said(info.values[value.value]?.title ?? { text: '', template: '', values: {} });
        return title.charAt(0).toLowerCase() + title.slice(1);
      },
      get filter(): string {
        return owner.filter;
      },
      openFrame: ({ file, line }, beside) => owner.openPlace(file, line, beside),
      setFilter: (filter) => owner.setFilter(filter),
      say: (text) => owner.say(text),
      failed: (error) => owner.failed(error),
    };
  }
}

/** The filter for what a box allocated: its stacks, or where these are too many its function, wherever it stands. */
export function termOf({ node, stacks }: Pick<FlameNodeAnswer, 'node' | 'stacks'>): string {
  if (node.node === 0) return '';
  const numbers = stacks.toSorted((a, b) => a - b);
  const ranges: [first: number, last: number][] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range && range[1] + 1 === number) range[1] = number;
    else ranges.push([number, number]);
  }
  const text = ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(',');
  return text.length <= LONGEST_TERM ? `stack:${text}` : `${FUNCTIONS}:${exactly(node.name.function)}`;
}
