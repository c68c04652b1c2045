// The stacks that allocated the objects of a heap dump, or memory outside of it, as a flame graph beside the dominators.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { FlameNodeAnswer, ProfileInfo } from '../../../extension/shared/protocol.gen';
import { figureIn } from '../base/figure';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { exactly } from '../base/text';
import type { FlameSubject } from '../flame/context';
import { flamePane } from '../flame/pane';
import type { KeptFlame } from '../flame/settings';
import type { Pane, PaneOf } from '../shell/pane';
import { Dropdown } from '../widgets/choice';
import { WITHOUT_STACK, type GraphSession } from './session';

const FUNCTIONS = 'allocated-by';
/** The longest filter that the server takes is as long again. */
const LONGEST_TERM = 2_000;

export const stacksPane: PaneOf<GraphSession> = {
  id: 'flame',
  of: ['graph'],
  place: 40,
  title: ({ info }) => (info.outside ? t('Native memory') : t('Allocation stacks')),
  offered: ({ stacks }) => stacks !== null,
  make: (session) => {
    const { info, stacks } = session;
    if (!info.allocations || !stacks) throw new Error('The dump has no stacks.');
    return new Allocations(session, info.allocations, stacks).pane();
  },
};

/** What the flame graph is of and how it is shown. */
class Allocations {
  /** What isn't shown, in words. */
  private readonly rest = signal('');
  private readonly summing = new Latest();

  constructor(
    private readonly session: GraphSession,
    private readonly info: ProfileInfo,
    private readonly kept: KeptFlame,
  ) {}

  pane(): Pane {
    const pane = flamePane(this.session, this.kept, this.subject, this.Values);
    pane.without('value', 'order');
    const { View, Bar } = pane;
    return {
      View,
      Bar,
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
  }

  /** Says what has no stack, of what the filter leaves. */
  private sumRest(): void {
    const { session } = this;
    if (session.info.outside) return;
    const filter = `${session.filter} ${WITHOUT_STACK}`.trim();
    this.summing.ask(
      session.api.request('memlens/heapTypes', {
        filter,
        order: 'count',
        reverse: false,
        by: 'package',
        package: null,
        offset: 0,
        limit: 1,
      }),
      ({ objects, shallow_bytes: size }) => {
        this.rest.value = objects === 0 ? '' : t('{0} without a stack', bytes(size));
      },
      (error) => session.failed(error),
    );
  }

  private readonly Values = (): VNode => (
    <>
      <Dropdown<string>
        label={t('Value')}
        value={String(this.session.value.value)}
        options={this.info.values.map(({ title, name, unit, total }, value) => ({
          value: String(value),
          text: `${said(title)} · ${figureIn(total, unit)}`,
          title: name,
        }))}
        change={(value) => this.session.keep({ value: Number(value) })}
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

  private get subject(): FlameSubject {
    const { session, info } = this;
    return {
      info,
      objects: {
        term: FUNCTIONS,
        show: session.info.outside ? null : (box) => session.listTypes(termOf(box)),
      },
      get set() {
        return session.stackSet.value;
      },
      get setName() {
        const title = said(info.values[session.value.value]?.title ?? { text: '', template: '', values: {} });
        return title.charAt(0).toLowerCase() + title.slice(1);
      },
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
