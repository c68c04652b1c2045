// Two heap dumps side by side: what grew, by type, by who holds it and by where it is; and a series of dumps over time.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { ComparedType, CompareHeapsResult } from '../../../extension/shared/protocol.gen';
import type { HeapSelection } from '../../../extension/shared/messages';
import type { Pending } from '../base/request';
import { bytes } from '../base/format';
import { said, t } from '../base/l10n';
import { using } from '../base/follow';
import { Latest, turned } from '../base/latest';
import { Banner, bannerOf, SearchBox, Sides } from '../compare/bar';
import { Bar } from '../widgets/bar';
import type { BarRoom, Pane, PaneOf, PaneRoom } from '../shell/pane';
import { Choices, Dropdown } from '../widgets/choice';
import { debounce } from '../widgets/dom';
import type { LazyAnswer } from '../widgets/lazy-rows';
import { allocatedChoices, allocatedIn, withAllocated } from './allocated';
import {
  compareCells,
  compareColumns,
  sortOf,
  type Known,
  type CompareForm,
  type CompareNode,
  type CompareSort,
} from './compare-columns';
import { FindingsPart } from './compared-findings';
import { isSelected } from './selected';
import type { GraphSession } from './session';
import { selectionMenu } from './menu';
import { SeriesPart } from './series';
import { HeapTree } from './tree';
import { copiedObject, objectsText } from './words';

const SEARCH_AFTER_MS = 150;

export const comparePane: PaneOf<GraphSession> = {
  id: 'compare',
  of: ['graph'],
  place: 70,
  inMenu: true,
  title: t('Compare'),
  make: (context) => {
    const pane = new ComparePane(context);
    context.whileShown(
      using(
        () => context.dumps.value,
        (dumps) => {
          if (dumps.length + pane.series.count > 0) pane.series.receive(dumps);
        },
      ),
    );
    return pane;
  },
};

export class ComparePane implements Pane {
  readonly series: SeriesPart;
  private readonly tree: HeapTree<CompareNode>;
  private readonly findings: FindingsPart;
  private readonly form = signal<CompareForm | 'findings'>('types');
  private readonly found = signal<CompareHeapsResult | null>(null);
  /** Counts up when what is compared with what is another. */
  private readonly version = signal(0);
  private sort: CompareSort = { order: 'retained', reverse: false };
  private search = '';
  /** Which comparison is shown or asked for. */
  private of = '';
  /** Whether ids are stable between the dumps, as far as that is known; also while they are compared again. */
  private haveIds = false;
  private readonly asking = new Latest();
  private readonly searchSoon = debounce(SEARCH_AFTER_MS, () => this.show());

  constructor(private readonly context: GraphSession) {
    this.series = new SeriesPart(context, () => {
      if (this.series.count > 0) this.form.value = 'series';
      this.renew();
    });
    this.findings = new FindingsPart(context);
    this.tree = this.makeTree();
  }

  update(changes: Parameters<Pane['update']>[0]): void {
    if (changes.has('filter')) this.series.forget();
    if (changes.has('compare') || changes.has('filter')) this.renew();
    else this.tree.redraw();
  }

  dispose(): void {
    this.cancel();
    this.searchSoon.cancel();
    this.tree.dispose();
  }

  /** How to begin, or why there is nothing to show; null where there is. */
  private get banner(): ReturnType<typeof bannerOf> {
    return this.form.value === 'series' ? this.series.banner : bannerOf(this.context);
  }

  private get params(): { readonly other_first: boolean; readonly filter: string } {
    return { other_first: this.context.compare.settings.otherFirst, filter: this.context.filter };
  }

  /** What the tree has: not findings, which are shown in its place. */
  private get listed(): CompareForm {
    return this.form.value === 'findings' ? 'types' : this.form.value;
  }

  /** Whether which objects are new is known. */
  private get known(): Known {
    const found = this.found.value;
    return {
      ids: found?.matched === 'id',
      native: found?.knows_native === true,
      millions: Math.max(found?.before.objects ?? 0, found?.after.objects ?? 0) >= 1e6,
    };
  }

  readonly Bar = (room: BarRoom): VNode => {
    const { form, version, tree, context } = this;
    const isSeries = form.value === 'series';
    const areFindings = form.value === 'findings';
    const hidden = this.banner !== null;
    return (
      <Bar class="compare-controls heap-compare-controls" label={t('Comparison')} hidden={room.hidden}>
        <Choices<CompareForm | 'findings'>
          label={t('Show')}
          value={form.value}
          options={[
            { value: 'types', text: t('Types'), title: t('What grew and what shrank, by type') },
            { value: 'holders', text: t('Holders'), title: t('Objects of both dumps that hold new ones') },
            { value: 'paths', text: t('Paths'), title: t('Where in the dominator tree it grew') },
            {
              value: 'findings',
              text: t('Findings'),
              title: t('Which findings are new or gone, and which are about more or less'),
            },
            {
              value: 'series',
              text: t('Over time'),
              title: t('Two dumps or more in the order in which they were written'),
            },
          ]}
          change={(next) => {
            form.value = next;
            this.renew();
          }}
        />
        <div class="compare-sides" data-version={version.value} hidden={isSeries}>
          <Sides context={context} />
        </div>
        {isSeries && !hidden && (
          <button
            type="button"
            class="text-button"
            onClick={() => this.context.api.post({ type: 'chooseSeries' })}
          >
            {t('Choose Dumps…')}
          </button>
        )}
        <SearchBox
          placeholder={areFindings ? t('Words') : t('Type')}
          hidden={hidden}
          search={(words) => {
            this.search = words;
            this.findings.search.value = words;
            this.searchSoon();
          }}
        />
        <tree.CopyButton hidden={hidden || areFindings} />
      </Bar>
    );
  };

  /** Chooses when the objects were allocated that all views are about, by the dumps that they are in. */
  private readonly Allocated = (): VNode | null => {
    const { context, series } = this;
    const { compare } = context;
    const isSeries = this.form.value === 'series';
    if (!context.format.has_lasting_ids || !(isSeries || this.haveIds)) return null;
    const { other } = compare;
    const pair = other?.is === 'open' && !other.itself ? [other] : [];
    const isAfter = compare.settings.otherFirst;
    const [earlier, later] = isSeries ? series.around : [isAfter ? pair : [], isAfter ? [] : pair];
    const choices = allocatedChoices(earlier, later);
    if (choices.length === 1) return null;
    return (
      <Dropdown<string>
        label={t('Filter by allocation time')}
        options={choices.map(({ terms, text }) => ({ value: terms, text }))}
        value={allocatedIn(context.filter, choices)?.terms ?? null}
        change={(terms) => {
          const chosen = choices.find((each) => each.terms === terms);
          if (chosen) context.setFilter(withAllocated(context.filter, chosen));
        }}
      />
    );
  };

  readonly View = (room: PaneRoom): VNode => {
    const { form, version, series, tree, banner, findings } = this;
    const isSeries = form.value === 'series';
    const areFindings = form.value === 'findings';
    const isAsking = areFindings ? findings.isAsking : this.asking.asking;
    const words = areFindings ? findings.words : isSeries ? series.words : this.words;
    return (
      <section {...room} class="compare heap-compare pane">
        {banner ? (
          <Banner {...banner} />
        ) : (
          <div class="heap-compare-note">
            <p class="heap-note muted" role="status" data-version={version.value}>
              {words ?? (isAsking ? t('Comparing…') : t('Not compared.'))}{' '}
              {words === null && (
                <button
                  type="button"
                  class="link"
                  onClick={() => {
                    if (isAsking) this.cancel();
                    else this.renew();
                  }}
                >
                  {isAsking ? t('Cancel') : t('Try Again')}
                </button>
              )}
            </p>
            {!areFindings && <this.Allocated />}
          </div>
        )}
        {isSeries && !banner && <series.Chart />}
        {/* rows of another form are none of this one */}
        <tree.View hidden={banner !== null || areFindings || words === null} />
        {areFindings && !banner && words !== null && <findings.View />}
      </section>
    );
  };

  /** What the comparison comes to in a sentence; null until it is known. */
  private get words(): string | null {
    return this.found.value && summaryOf(this.found.value);
  }

  /** Gives up what is asked. */
  private cancel(): void {
    if (this.asking.asking) this.of = '';
    this.asking.cancel();
    this.findings.cancel();
  }

  /** Something else is to be shown. */
  private renew(): void {
    this.version.value++;
    const { context, found } = this;
    const { compare } = context;
    if (this.banner !== null) {
      this.of = '';
      this.cancel();
      return;
    }
    if (this.form.value === 'findings') {
      this.findings.renew();
      return;
    }
    if (this.form.value === 'series') {
      this.show();
      return;
    }
    const of = JSON.stringify([compare.other?.uri, this.params]);
    if (of === this.of) {
      if (found.value) this.show();
      return;
    }
    this.of = of;
    found.value = null;
    this.asking.ask(
      context.api.request('memlens/compareHeaps', this.params),
      (answer) => {
        found.value = answer;
        this.haveIds = answer.matched === 'id';
        this.show();
      },
      (error) => {
        this.of = '';
        context.failed(error);
      },
    );
  }

  private show(): void {
    if (this.form.value === 'findings') return;
    const { listed, sort, series, tree, known } = this;
    tree.show(t('Comparison'), compareColumns(listed, known, sort, series.count));
  }

  private makeTree(): HeapTree<CompareNode> {
    const { context, series } = this;
    const { compare } = context;
    const tree = new HeapTree<CompareNode>(t('Comparison'), context, {
      ask: (node, offset, limit) => this.ask(node, offset, limit),
      hasChildren: (node) => node.is === 'type' && hasOwn(node.row, compare.settings.otherFirst),
      id: idOf,
      cells: (node) => compareCells(node, this.known),
      isSelected: (node) =>
        node.is === 'series'
          ? node.row.type === series.marked.value
          : isSelected(context, this.selectionOf(node)),
      pick: (node, opened, beside) => {
        if (node.is === 'series') {
          series.mark(node.row.type);
          tree.redraw();
          return;
        }
        const selection = this.selectionOf(node);
        if (selection === null) {
          context.say(t('{0} has no such objects.', compare.ownName));
          return;
        }
        if (opened) context.openSource(selection, beside);
        context.select(selection);
      },
      menu: (node) => {
        const selection = this.selectionOf(node);
        return selection ? selectionMenu(context, selection, copiedOf(node).name) : [];
      },
      copied: copiedOf,
      sort: (column) => {
        const order = sortOf(this.listed, this.known, column);
        if (order === null) return;
        this.sort = { order, reverse: order === this.sort.order && !this.sort.reverse };
        this.show();
      },
      empty: () => emptyWords(this.listed, this.known.ids),
    });
    return tree;
  }

  /** Of the view's own dump; null for what it hasn't. */
  private selectionOf(node: CompareNode): HeapSelection | null {
    const { otherFirst: isAfter } = this.context.compare.settings;
    switch (node.is) {
      case 'type': {
        const kind = isAfter ? node.row.after_number : node.row.before_number;
        return kind === null ? null : { is: 'type', kind };
      }
      case 'object':
        return { is: 'object', object: node.row.object };
      case 'holder':
        return { is: 'object', object: isAfter ? node.row.object.object : node.row.before_object };
      case 'path': {
        const group = isAfter ? node.row.group : node.row.before_group;
        return group === null ? null : { is: 'group', group };
      }
      case 'series':
        return null;
    }
  }

  private ask(node: CompareNode | null, offset: number, limit: number): Pending<LazyAnswer<CompareNode>> {
    const { context, params, listed, found, search, series, sort } = this;
    const { api } = context;
    if (node?.is === 'type') {
      const { type } = node.row;
      return turned(
        api.request('memlens/compareHeapObjects', { ...params, type, offset, limit }),
        ({ rows, total }) => ({
          rows: rows.map((row) => ({ is: 'object', row, of: type })),
          offset,
          children: total,
        }),
      );
    }
    switch (listed) {
      case 'series':
        return turned(series.ask(search, offset + limit), ({ types, types_total: children }) => ({
          rows: types.slice(offset).map((row) => ({ is: 'series', row })),
          offset,
          children,
        }));
      case 'types':
        return turned(
          api.request('memlens/compareHeapTypes', { ...params, search, ...sort, offset, limit }),
          ({ rows, total }) => ({ rows: rows.map((row) => ({ is: 'type', row })), offset, children: total }),
        );
      case 'holders':
      case 'paths': {
        const words = search.toLowerCase().split(/\s+/);
        const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
        const { holders = [], paths = [] } = found.value ?? {};
        const all: readonly CompareNode[] =
          listed === 'holders'
            ? holders
                .filter(({ object }) => has(`${object.type} ${object.name}`))
                .map((row) => ({ is: 'holder', row }))
            : paths.filter(({ path }) => has(path.map(said).join(' '))).map((row) => ({ is: 'path', row }));
        const rows = all.slice(offset, offset + limit);
        return { answer: Promise.resolve({ rows, offset, children: all.length }), cancel: () => undefined };
      }
    }
  }
}

/** Whether the view's own dump has objects of the type that are to be listed. */
function hasOwn(row: ComparedType, isAfter: boolean): boolean {
  const only = isAfter ? row.new : row.gone;
  return (only ?? (isAfter ? row.after_count : row.before_count)) > 0;
}

function idOf(node: CompareNode): string {
  switch (node.is) {
    case 'type':
    case 'series':
      return `type:${node.row.type}`;
    case 'object':
      return `object:${node.row.object}`;
    case 'holder':
      return `holder:${node.row.object.object}`;
    case 'path':
      return `path:${node.row.group}`;
  }
}

function copiedOf(node: CompareNode): ReturnType<typeof copiedObject> {
  switch (node.is) {
    case 'type':
    case 'series':
      return { name: node.row.type, place: null };
    case 'object':
      return copiedObject(node.row);
    case 'holder':
      return copiedObject(node.row.object);
    case 'path':
      return { name: node.row.path.map(said).at(-1) ?? '', place: null };
  }
}

function summaryOf({ before, after, matched }: CompareHeapsResult): string {
  const sum = t(
    '{0} in {1} before, {2} in {3} after.',
    bytes(before.shallow_bytes),
    objectsText(before.objects),
    bytes(after.shallow_bytes),
    objectsText(after.objects),
  );
  if (matched === 'type') return t('{0} Matched by type: object ids aren’t stable between these dumps.', sum);
  return t(
    '{0} New: {1}, {2}. Gone: {3}, {4}.',
    sum,
    objectsText(after.only_objects ?? 0),
    bytes(after.only_bytes ?? 0),
    objectsText(before.only_objects ?? 0),
    bytes(before.only_bytes ?? 0),
  );
}

function emptyWords(form: CompareForm, byId: boolean): string {
  switch (form) {
    case 'series':
      return t('No type matches.');
    case 'holders':
      return byId
        ? t('No object of both dumps holds new ones.')
        : t(
            'Which objects are new is unknown, because ids aren’t stable between these dumps: see the paths.',
          );
    case 'paths':
      return t('Nothing grew here.');
    case 'types':
      return t('Nothing differs here.');
  }
}
