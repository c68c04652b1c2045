// What is different between this snapshot and another, by line, function, file or stack.

import { batch, signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { CompareAnswer, ComparedRow, Frame } from '../../../extension/shared/protocol.gen';
import { sentencesOf } from '../base/request';
import { Latest } from '../base/latest';
import { said, t } from '../base/l10n';
import { visible } from '../base/text';
import { Bar } from '../widgets/bar';
import type { BarRoom, Pane, PaneRoom } from '../shell/pane';
import type { SavedComparison } from '../base/saved';
import { debounce } from '../widgets/dom';
import { Table } from '../widgets/table';
import { Banner, bannerOf, SearchBox, Sides, type BannerText } from './bar';
import type { CompareContext } from './comparison';
import type { ComparedSets } from '../flame/source';
import { CompareGraph } from './graph';
import { CompareSettings } from './settings';
import { isGrouped, rowsText, totalsText } from './sums';
import { COMPARE_PAGE, compareColumns, NO_ROWS, orderOf, waterfallOf, type CompareOrder } from './table';

const SEARCH_AFTER_MS = 150;

export const comparePane = (context: CompareContext): Pane => new ComparePane(context);

class ComparePane implements Pane {
  /** Why there is nothing to compare. */
  private readonly banner = signal<BannerText | null>(null);
  /** Raised when what is compared, or how, is another. */
  private readonly version = signal(0);
  private readonly shown = signal<SavedComparison>('table');
  private readonly table = new Table<ComparedRow>({
    name: 'compare',
    label: t('Comparison'),
    pick: (row) => this.pick(row, false),
    open: (row, beside) => this.pick(row, beside),
    sort: ({ column, descending }) => {
      this.order = orderOf(column);
      // figures come largest first, names from A on
      this.reverse = descending === (this.order === 'name');
      this.fetch(0);
    },
    more: (offset) => {
      if (!this.asking.asking) this.fetch(offset);
    },
    post: (message) => this.context.api.post(message),
    placeOf: (row) => row.after ?? row.before,
  });
  private readonly summary = signal('');
  private readonly caption = signal('');
  private search = '';
  /** Made when it is first shown. */
  private readonly graph = signal<CompareGraph | null>(null);
  private order: CompareOrder = 'difference';
  private reverse = false;
  private sets: ComparedSets | null = null;
  private inferredSteps = false;
  private readonly finding = new Latest();
  private readonly asking = new Latest();
  private readonly highlighting = new Latest();
  private readonly searchSoon = debounce(SEARCH_AFTER_MS, () => this.fetch(0));

  constructor(private readonly context: CompareContext) {
    this.shown.value = context.api.saved()?.kept?.comparison === 'graph' ? 'graph' : 'table';
  }

  /** It is the flame graph that is shown; without sets there is only the table, which says why. */
  private get drawn(): boolean {
    const { compare } = this.context;
    return this.shown.value === 'graph' && compare.own.model !== 'profile' && !compare.lacking;
  }

  readonly Bar = ({ hidden }: BarRoom): VNode => {
    const { context, version, shown, drawn, banner } = this;
    return (
      <Bar class="compare-controls" label={t('Comparison')} hidden={hidden || banner.value !== null}>
        <div class="compare-sides" data-version={version.value}>
          <Sides context={context} />
        </div>
        <SearchBox
          placeholder={t('File, function')}
          hidden={drawn}
          search={(words) => {
            this.search = words;
            this.searchSoon();
          }}
        />
        <CompareSettings
          context={context}
          form={shown.value}
          tabled={!drawn}
          show={(form) => {
            shown.value = form;
            context.api.keep({ comparison: form });
            this.arrange();
            this.showSets();
          }}
        />
      </Bar>
    );
  };

  readonly View = (room: PaneRoom): VNode => {
    const { banner } = this;
    return (
      <section {...room} class="compare pane">
        {banner.value && <Banner {...banner.value} />}
        <div class="compare-content" hidden={banner.value !== null}>
          <this.Content />
        </div>
      </section>
    );
  };

  private readonly Content = (): VNode => {
    const { version, drawn, graph, summary, caption, context } = this;
    const showSizes = context.timeline?.showSizes;
    const Graph = graph.value?.View;
    return (
      <>
        {Graph && <Graph hidden={!drawn} />}
        <div class="compare-rows" data-version={version.value} hidden={drawn}>
          <this.table.View />
          <p class="compare-caption muted">{visible(caption.value)}</p>
        </div>
        {/* what is said of the rows comes after them */}
        <p class="compare-summary" role="status" title={visible(summary.value)}>
          {visible(summary.value)}
        </p>
        {showSizes && (
          <p class="compare-sizes">
            <button type="button" class="link" onClick={showSizes}>
              {t('How Large May the Batch Be?')}
            </button>
          </p>
        )}
      </>
    );
  };

  update(changes: ReadonlySet<string>): void {
    const graph = this.graph.peek();
    if (changes.has('attribution')) {
      this.version.value++;
      graph?.reattribute();
    }
    if (!changes.has('compare') && !changes.has('set') && !changes.has('axis')) {
      if (changes.has('attribution')) this.fetch(0);
      return;
    }
    const { compare } = this.context;
    const banner = bannerOf(this.context);
    this.banner.value = banner;
    if (banner) {
      this.cancel();
      this.sets = null;
      return;
    }
    this.version.value++;
    this.arrange();
    const { lacking } = compare;
    if (lacking) {
      this.cancel();
      this.sets = null;
      this.clear(
        t(
          '{0} does not measure “{1}”. Choose a value above that both have, or another value of the other file.',
          compare.other?.name ?? t('The other'),
          said(lacking.value.title),
        ),
      );
      return;
    }
    this.refresh();
  }

  key(event: KeyboardEvent): boolean {
    return this.drawn && (this.graph.peek()?.key(event) ?? false);
  }

  private arrange(): void {
    if (this.drawn && !this.graph.peek()) this.graph.value = new CompareGraph(this.context);
  }

  /** The sums of both are the table's, whichever form is shown. */
  private showSets(): void {
    const { sets } = this;
    const graph = this.graph.peek();
    if (!sets) return;
    this.fetch(0);
    if (!this.drawn || !graph) return;
    const { compare } = this.context;
    const { otherFirst } = compare.settings;
    graph.show(sets, otherFirst, JSON.stringify([compare.other?.uri, otherFirst]));
  }

  dispose(): void {
    this.cancel();
    this.graph.peek()?.dispose();
  }

  /** Fetches the sets, then the first page of rows. */
  private refresh(): void {
    const { context } = this;
    this.cancel();
    this.finding.ask(
      context.compare.sets({ ...context.set, filter: context.filter }),
      ({ sets, inferredSteps }) => {
        this.sets = sets;
        this.inferredSteps = inferredSteps;
        this.showSets();
      },
      (error) => this.failed(error),
    );
  }

  private fetch(offset: number): void {
    const { sets } = this;
    if (!sets) return;
    const { settings } = this.context.compare;
    const asked = this.context.api.request('memlens/compare', {
      ...sets,
      other_first: settings.otherFirst,
      by: settings.by,
      measure: settings.measure,
      attribution: this.context.attribution.value,
      search: this.search,
      order: this.order,
      reverse: this.reverse,
      offset,
      limit: COMPARE_PAGE,
    });
    this.asking.ask(
      asked,
      (answer) => this.add(answer),
      (error) => this.failed(error),
    );
  }

  private add(answer: CompareAnswer): void {
    const { order, reverse, context } = this;
    const before = this.table.now;
    const first = answer.offset === 0;
    if (!first && answer.offset !== before.rows.length) return;
    const rows = first ? answer.rows : [...before.rows, ...answer.rows];
    const { by, measure } = context.compare.settings;
    const addUp = isGrouped(by) || measure === 'own';
    const waterfall = waterfallOf(rows, answer.matching.before_bytes, addUp);
    batch(() => {
      this.table.show({
        columns: compareColumns(waterfall, by),
        rows,
        total: answer.found,
        sort: { column: order, descending: (order !== 'name') !== reverse },
        answer: first ? answer : before.answer,
      });
      this.summary.value = totalsText(context, answer);
      this.caption.value = rowsText(context, answer, this.search, this.inferredSteps);
    });
  }

  private clear(why: string): void {
    batch(() => {
      this.table.show({
        columns: compareColumns(NO_ROWS, 'line'),
        rows: [],
        total: 0,
        sort: null,
        answer: null,
      });
      this.summary.value = '';
      this.caption.value = why;
    });
  }

  /** Opens the line and highlights what it made in this snapshot. */
  private pick(row: ComparedRow, beside: boolean): void {
    const { context, sets } = this;
    const { settings } = context.compare;
    const [own, other] = settings.otherFirst ? [row.after, row.before] : [row.before, row.after];
    const place = own ?? other;
    if (place && place.file !== '' && place.kind !== 'native') context.openFrame(opened(place), beside);
    else if (!isGrouped(settings.by)) context.say(t('The file has no line of source for these allocations.'));
    this.highlighting.cancel();
    if (!sets) return;
    const stacks = context.api.request('memlens/compareStacks', {
      ...sets,
      other_first: settings.otherFirst,
      by: settings.by,
      measure: settings.measure,
      attribution: context.attribution.value,
      row: row.row,
    });
    this.highlighting.ask(
      stacks,
      ({ stacks: highlighted }) => context.timeline?.highlightStacks(new Set(highlighted)),
      (error) => context.failed(error),
    );
  }

  private failed(error: unknown): void {
    this.clear(sentencesOf(error));
  }

  private cancel(): void {
    this.finding.cancel();
    this.asking.cancel();
  }
}

/** A file as a whole opens at its top. */
function opened(place: Frame): Frame {
  return place.line > 0 ? place : { ...place, line: 1 };
}
