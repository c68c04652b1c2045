// Whom a flame graph asks: the snapshot about one of its sets, or both snapshots of a comparison about two.

import type { ViewResult } from '../../../extension/shared/messages';
import type {
  AllocationSet,
  FlameChildrenAnswer,
  FlameFunctionsAnswer,
  FlameNodeAnswer,
  FlameSearchAnswer,
  FlameSides,
  Requests,
} from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import type { Pending } from '../base/request';
import { t } from '../base/l10n';
import type { AskedSvg } from '../shell/export';
import type { Attribution, KeptAttribution } from '../shell/attribution';
import type { FlameRequest } from './camera';
import { changeOf, type Scale, type Sided, type Width } from './difference';
import type { Change } from './boxes';
import type { TreeParams } from './settings';

type FunctionOrder = Requests['memlens/flameFunctions']['params']['order'];

export type SvgPart = Pick<Requests['memlens/flameSvg']['params'], 'x0' | 'x1' | 'title' | 'theme'>;

export interface FlameSource {
  picture(params: TreeParams, part: FlameRequest, search: string): Pending<ViewResult<'memlens/flame'>>;
  node(params: TreeParams, node: number): Pending<FlameNodeAnswer>;
  children(params: TreeParams, node: number, offset: number, limit: number): Pending<FlameChildrenAnswer>;
  search(params: TreeParams, text: string): Pending<FlameSearchAnswer>;
  functions(
    params: TreeParams,
    page: { order: FunctionOrder; reverse: boolean; offset: number; limit: number },
  ): Pending<FlameFunctionsAnswer>;
  /** A part of the picture for a file, `[x0, x1]` in shares of the whole. */
  svg(params: TreeParams, part: SvgPart): AskedSvg;
  /** Null where nothing is compared. */
  readonly compared: ComparedSource | null;
}

export function ownSource(api: Api, kept: Pick<KeptAttribution, 'value'>): FlameSource {
  const by = (): { attribution: Attribution } => ({ attribution: kept.value });
  return {
    picture: (params, part, search) => api.request('memlens/flame', { ...params, ...part, search }),
    node: (params, node) => api.request('memlens/flameNode', { ...params, node, ...by() }),
    children: (params, node, offset, limit) =>
      api.request('memlens/flameChildren', { ...params, node, offset, limit, ...by() }),
    search: (params, text) => api.request('memlens/flameSearch', { ...params, text, ...by() }),
    functions: (params, page) => api.request('memlens/flameFunctions', { ...params, ...page, ...by() }),
    svg: (params, part) => api.request('memlens/flameSvg', { ...params, ...part }),
    compared: null,
  };
}

/** The two sets of a comparison. */
export interface ComparedSets {
  readonly of: AllocationSet;
  readonly other_of: AllocationSet;
}

/** Two sets, and in which measure they stand beside each other. */
export interface ComparedPair {
  readonly sets: ComparedSets;
  readonly otherFirst: boolean;
  readonly scale: Scale;
  readonly width: Width;
  readonly attribution: Attribution;
}

export class ComparedSource implements FlameSource, Sided {
  readonly compared = this;
  readonly before = t('Before');
  readonly after = t('After');
  /** What all of it has on each side, as in the last answer. */
  whole: Change = { before: 0, after: 0 };

  constructor(
    private readonly api: Api,
    private readonly pair: () => ComparedPair,
    /** Answers have another whole. */
    private readonly learned: () => void,
  ) {}

  get scale(): Scale {
    return this.pair().scale;
  }

  picture(params: TreeParams, part: FlameRequest, search: string): Pending<ViewResult<'memlens/flame'>> {
    return this.learning(
      this.api.request('memlens/compareFlame', { tree: this.tree(params), ...part, search }),
    );
  }

  node(params: TreeParams, node: number): Pending<FlameNodeAnswer> {
    return this.learning(this.api.request('memlens/compareFlameNode', { tree: this.tree(params), node }));
  }

  children(params: TreeParams, node: number, offset: number, limit: number): Pending<FlameChildrenAnswer> {
    const page = { node, offset, limit };
    return this.learning(
      this.api.request('memlens/compareFlameChildren', { tree: this.tree(params), ...page }),
    );
  }

  search(params: TreeParams, text: string): Pending<FlameSearchAnswer> {
    return this.api.request('memlens/compareFlameSearch', { tree: this.tree(params), text });
  }

  functions(): Pending<FlameFunctionsAnswer> {
    throw new Error('The functions of a comparison are in its table.');
  }

  svg(params: TreeParams, part: SvgPart): AskedSvg {
    return this.api.request('memlens/compareFlameSvg', { tree: this.tree(params), ...part });
  }

  private tree({ options }: TreeParams): {
    of: ComparedSets['of'];
    other_of: ComparedSets['other_of'];
    other_first: boolean;
    options: TreeParams['options'];
    scale: Scale;
    width: Width;
    attribution: Attribution;
  } {
    const { sets, otherFirst, scale, width, attribution } = this.pair();
    return { ...sets, other_first: otherFirst, options, scale, width, attribution };
  }

  /** Every answer says what the whole is, which has to be known before the answer is shown. */
  private learning<T extends { whole: FlameSides | null }>(pending: Pending<T>): Pending<T> {
    return {
      answer: pending.answer.then((answer) => {
        const whole = changeOf(answer.whole);
        if (whole.before !== this.whole.before || whole.after !== this.whole.after) {
          this.whole = whole;
          this.learned();
        }
        return answer;
      }),
      cancel: () => pending.cancel(),
    };
  }
}
