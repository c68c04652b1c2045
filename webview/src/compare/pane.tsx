// What is different between this snapshot and another, by line, function, file or stack.

import { batch, signal } from '@preact/signals';
import { createRef, render, type VNode } from 'preact';
import type {
  CompareAnswer,
  ComparedRow,
  ComparedSums,
  Frame,
  ProfileValue,
} from '../../../extension/shared/protocol.gen';
import { RequestError } from '../api';
import { figure, figureIn } from '../base/figure';
import { Latest } from '../base/latest';
import { plural, t } from '../base/l10n';
import { visible } from '../base/text';
import type { ViewContext } from '../shell/context';
import { never } from '../shell/model';
import type { Pane } from '../shell/pane';
import { SettingRow, Settings } from '../shell/settings';
import type { SavedComparison } from '../shell/state';
import { Choices, Dropdown } from '../widgets/choice';
import { debounce, element, replace } from '../widgets/dom';
import { Island } from '../widgets/island';
import { Table, type TableRows } from '../widgets/table';
import { compareNotice, SearchBox, Sides } from './bar';
import { signed, withSign, type ComparedSets } from './comparison';
import { CompareGraph } from './graph';
import { COMPARE_PAGE, compareColumns, orderOf, type CompareOrder } from './table';

const SEARCH_AFTER_MS = 150;

type By = 'line' | 'function' | 'file' | 'stack';

const NO_ROWS: TableRows<ComparedRow> = { columns: [], rows: [], total: 0, sort: null, answer: null };

export const comparePane = (context: ViewContext): Pane => new ComparePane(context);

class ComparePane implements Pane {
  readonly id = 'compare';
  readonly title = t('Compare');
  readonly usesSet = true;
  readonly root = element('section', { class: 'compare' });
  readonly bar = element('div', {
    ...{ class: 'compare-controls', role: 'toolbar', attributes: { 'aria-label': t('Comparison') } },
  });
  private readonly content = element('div', { class: 'compare-content' });
  private readonly scroller = createRef<HTMLDivElement>();
  /** Raised when what is compared, or how, is another. */
  private readonly version = signal(0);
  private readonly shown = signal<SavedComparison>('table');
  private readonly table = signal(NO_ROWS);
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
  private readonly lighting = new Latest();
  private readonly searchSoon = debounce(SEARCH_AFTER_MS, () => {
    this.fetch(0);
  });

  constructor(private readonly context: ViewContext) {
    this.shown.value = context.api.saved()?.kept?.comparison === 'graph' ? 'graph' : 'table';
    const [Bar, Content] = [(): VNode => this.drawBar(), (): VNode => this.drawContent()];
    render(<Bar />, this.bar);
    render(<Content />, this.content);
  }

  /** It is the flame graph that is shown; without sets there is only the table, which says why. */
  private get drawn(): boolean {
    return this.shown.value === 'graph' && !this.context.compare.lacking;
  }

  private drawBar(): VNode {
    const { context, version, shown, drawn } = this;
    const { compare, attribution } = context;
    return (
      <>
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
        <Settings label={t('Comparison settings')}>
          <SettingRow text={t('Show')}>
            <Choices<SavedComparison>
              label={t('Form')}
              value={shown.value}
              options={[
                { value: 'table', text: t('Table') },
                {
                  ...{ value: 'graph', text: t('Flame graph') },
                  title: t('Both as one tree of calls, coloured by the difference'),
                },
              ]}
              change={(form) => {
                shown.value = form;
                context.api.keep({ comparison: form });
                this.arrange();
                this.showSets();
              }}
            />
          </SettingRow>
          {!drawn && (
            <>
              <SettingRow text={t('Rows')}>
                <Choices<By>
                  label={t('Rows')}
                  value={compare.settings.by}
                  options={[
                    { value: 'line', text: t('Line') },
                    { value: 'function', text: t('Function') },
                    { value: 'file', text: t('File') },
                    { value: 'stack', text: t('Stack') },
                  ]}
                  change={(by) => {
                    compare.set({ by });
                  }}
                />
              </SettingRow>
              <SettingRow text={t('Figures')}>
                <Choices
                  label={t('Figures')}
                  value={compare.settings.measure}
                  options={[
                    {
                      ...{ value: 'own', text: t('Self') },
                      title: t('What it allocated itself: the rows add up'),
                    },
                    { value: 'inclusive', text: t('Inclusive'), title: t('With what it called') },
                  ]}
                  change={(measure) => {
                    compare.set({ measure });
                  }}
                />
              </SettingRow>
              <SettingRow text={t('Charged to')}>
                <Choices
                  label={t('Charged to')}
                  value={attribution.value}
                  options={attribution.options}
                  change={(value) => {
                    attribution.set(value);
                  }}
                />
              </SettingRow>
            </>
          )}
          {this.choosers()}
        </Settings>
      </>
    );
  }

  private drawContent(): VNode {
    const { version, drawn, graph, summary, caption, context } = this;
    return (
      <>
        {graph.value && (
          <div class="compare-graph-slot" hidden={!drawn}>
            <Island class="compare-graph-island" of={graph.value.root} />
          </div>
        )}
        <div class="compare-rows" data-version={version.value} hidden={drawn}>
          <Table<ComparedRow>
            name="compare"
            label={t('Comparison')}
            shown={this.table}
            scroller={this.scroller}
            actions={{
              pick: (row) => {
                this.pick(row, false);
              },
              open: (row, beside) => {
                this.pick(row, beside);
              },
              sort: ({ column, descending }) => {
                this.order = orderOf(column);
                // figures come largest first, names from A on
                this.reverse = descending === (this.order === 'name');
                this.fetch(0);
              },
              more: (offset) => {
                if (!this.asking.asking) this.fetch(offset);
              },
              post: (message) => {
                context.api.post(message);
              },
            }}
            about={(row) => ({ place: row.after ?? row.before })}
          />
          <p class="compare-caption muted">{visible(caption.value)}</p>
        </div>
        {/* what is said of the rows comes after them */}
        <p class="compare-summary" role="status">
          {visible(summary.value)}
        </p>
      </>
    );
  }

  /** What of both is compared. */
  private choosers(): VNode | null {
    const { compare } = this.context;
    switch (compare.own.model) {
      case 'timeline':
        return (
          <>
            <SettingRow text={t('Compare at')}>
              <Dropdown
                label={t('Compare at')}
                value={compare.settings.mine}
                options={[
                  { value: 'set', text: t('Chosen moment') },
                  { value: 'end', text: t('End') },
                ]}
                change={(mine) => {
                  compare.set({ mine });
                }}
              />
            </SettingRow>
            <SettingRow text={t('Other at')}>
              <Dropdown
                label={t('Other at')}
                value={compare.settings.theirs}
                options={[
                  { value: 'same', text: t('Same moment') },
                  { value: 'peak', text: t('Its peak') },
                  { value: 'end', text: t('Its end') },
                ]}
                change={(theirs) => {
                  compare.set({ theirs });
                }}
              />
            </SettingRow>
          </>
        );
      case 'profile':
        return this.values();
      case 'graph':
        return null;
      default:
        return never(compare.own);
    }
  }

  /** The values to choose from, of profiles: those that both have, and the other's that may stand beside it. */
  private values(): VNode | null {
    const { compare } = this.context;
    const { ownProfile: own } = compare;
    if (!own) return null;
    const shared = compare.sharedValues;
    const mine = own.info.values.indexOf(own.value);
    // what is shown may be a value that the other hasn't
    const known = shared.some((each) => each.mine === mine);
    const others = compare.otherValues.map((value) => ({ value: value.name, text: titled(value) }));
    const { value: chosen } = compare.settings;
    return (
      <>
        <SettingRow text={t('Value')}>
          <Dropdown
            label={t('Value')}
            value={String(mine)}
            options={[
              ...(known ? [] : [{ value: String(mine), text: t('{0}, only here', own.value.title) }]),
              ...shared.map(({ value, mine: number }) => ({ value: String(number), text: titled(value) })),
            ]}
            change={(number) => {
              own.setValue(Number(number));
            }}
          />
        </SettingRow>
        <SettingRow text={t('Other value')}>
          <Dropdown
            label={t('Other value')}
            value={others.some(({ value }) => value === chosen) ? chosen : ''}
            options={[{ value: '', text: known ? t('The same') : t('Choose…') }, ...others]}
            change={(name) => {
              compare.set({ value: name === '' ? null : name });
            }}
          />
        </SettingRow>
      </>
    );
  }

  update(changes: ReadonlySet<string>): void {
    const graph = this.graph.peek();
    if (changes.has('attribution')) {
      this.version.value++;
      graph?.reattribute();
    }
    if (!['compare', 'device', 'filter', 'cursors', 'axis'].some((change) => changes.has(change))) {
      if (changes.has('attribution')) this.fetch(0);
      return;
    }
    const { compare } = this.context;
    const notice = compareNotice(this.context);
    if (notice) {
      this.cancel();
      this.sets = null;
      replace(this.root, notice);
      this.bar.hidden = true;
      return;
    }
    if (this.content.parentElement !== this.root) replace(this.root, this.content);
    this.bar.hidden = this.root.hidden;
    this.version.value++;
    this.arrange();
    const { lacking } = compare;
    if (lacking) {
      this.cancel();
      this.sets = null;
      this.clear(
        t(
          '{0} does not measure “{1}”. Choose above what both have, or another value of the other.',
          compare.other?.name ?? t('The other'),
          lacking.value.title,
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
    if (this.shown.peek() !== 'graph' || !graph) return;
    const { compare } = this.context;
    const { otherFirst } = compare.settings;
    graph.show(sets, otherFirst, JSON.stringify([compare.other?.uri, otherFirst]));
  }

  dispose(): void {
    this.cancel();
    this.graph.peek()?.dispose();
    render(null, this.bar);
    render(null, this.content);
  }

  /** The sets anew, then the first page of rows. */
  private refresh(): void {
    const { context } = this;
    this.cancel();
    this.finding.ask(
      context.compare.sets(context.set, context.device, context.axis),
      ({ sets, inferredSteps }) => {
        this.sets = sets;
        this.inferredSteps = inferredSteps;
        this.showSets();
      },
      (error) => {
        this.failed(error);
      },
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
      (answer) => {
        this.add(answer);
      },
      (error) => {
        this.failed(error);
      },
    );
  }

  private add(answer: CompareAnswer): void {
    const { order, reverse } = this;
    const before = this.table.peek();
    const first = answer.offset === 0;
    if (!first && answer.offset !== before.rows.length) return;
    const rows = first ? answer.rows : [...before.rows, ...answer.rows];
    const widest = rows.reduce((most, row) => Math.max(most, Math.abs(row.difference_bytes)), 1);
    batch(() => {
      this.table.value = {
        ...{ columns: compareColumns(widest), rows, total: answer.found },
        sort: { column: order, descending: (order !== 'name') !== reverse },
        answer: first ? answer : before.answer,
      };
      this.summary.value = this.totals(answer);
      this.caption.value = this.rowsText(answer);
    });
  }

  private clear(why: string): void {
    batch(() => {
      this.table.value = { ...NO_ROWS, columns: compareColumns(1) };
      this.summary.value = '';
      this.caption.value = why;
    });
  }

  private totals(answer: CompareAnswer): string {
    const { compare, device } = this.context;
    const { by } = compare.settings;
    const { before, after } = compare.names(device);
    const { total } = answer;
    const parts: string[] = [];
    const part = (sums: ComparedSums, words: (rows: string, change: string) => string): void => {
      if (sums.rows > 0)
        parts.push(words(counted(sums.rows, by), withSign(sums.after_bytes - sums.before_bytes)));
    };
    part(answer.grown, (rows, change) => t('{0} grew by {1}', rows, change));
    part(answer.shrunk, (rows, change) => t('{0} shrank by {1}', rows, change));
    part(answer.only_after, (rows, change) => t('{0} only after: {1}', rows, change));
    part(answer.only_before, (rows, change) => t('{0} only before: {1}', rows, change));
    if (answer.same.rows > 0) parts.push(t('{0} the same', counted(answer.same.rows, by)));
    const both = answer.grown.rows + answer.shrunk.rows + answer.same.rows;
    if (total.rows > 0 && both === 0) parts.push(nothingInCommon(by));
    const sums = t(
      '{0} {1} → {2} {3}, {4}',
      ...[before, figure(total.before_bytes), after, figure(total.after_bytes)],
      signed(total.after_bytes - total.before_bytes),
    );
    return [sums, ...parts].join(' · ');
  }

  private rowsText(answer: CompareAnswer): string {
    const { compare, setName, attribution } = this.context;
    const { by, measure, mine } = compare.settings;
    const words = this.search.trim();
    return [
      counted(answer.found, by),
      mine === 'end' ? t('live at the end') : setName,
      this.inferredSteps && t('beside each other by inferred steps'),
      measure === 'inclusive'
        ? t('with what each called (these do not add up)')
        : t('self by {0}', attribution.name),
      words !== '' &&
        t(
          'with {0}: {1} → {2}',
          ...[words, figure(answer.matching.before_bytes), figure(answer.matching.after_bytes)],
        ),
    ]
      .filter((part) => part !== false)
      .join(', ');
  }

  /** Opens the line and lights up what it made in this snapshot. */
  private pick(row: ComparedRow, beside: boolean): void {
    const { context, sets } = this;
    const { settings } = context.compare;
    const [own, other] = settings.otherFirst ? [row.after, row.before] : [row.before, row.after];
    const place = own ?? other;
    if (place && place.file !== '' && place.kind !== 'native') context.openFrame(opened(place), beside);
    else context.say(t('The file has no line of source for these allocations.'));
    this.lighting.cancel();
    if (!sets) return;
    const stacks = context.api.request('memlens/compareStacks', {
      ...sets,
      other_first: settings.otherFirst,
      by: settings.by,
      measure: settings.measure,
      attribution: context.attribution.value,
      row: row.row,
    });
    this.lighting.ask(
      stacks,
      ({ stacks: lit }) => {
        context.lightStacks(new Set(lit));
      },
      (error) => {
        context.failed(error);
      },
    );
  }

  private failed(error: unknown): void {
    const advice = error instanceof RequestError ? error.problem.advice : '';
    this.clear(`${error instanceof Error ? error.message : String(error)}. ${advice}`);
  }

  private cancel(): void {
    this.finding.cancel();
    this.asking.cancel();
  }
}

function titled({ title, total, unit }: ProfileValue): string {
  return `${title} · ${figureIn(total, unit)}`;
}

/** A file as a whole opens at its top. */
function opened(place: Frame): Frame {
  return place.line > 0 ? place : { ...place, line: 1 };
}

function counted(rows: number, by: By): string {
  switch (by) {
    case 'line':
      return plural(rows, '{0} line', '{0} lines');
    case 'function':
      return plural(rows, '{0} function', '{0} functions');
    case 'file':
      return plural(rows, '{0} file', '{0} files');
    case 'stack':
      return plural(rows, '{0} stack', '{0} stacks');
  }
}

function nothingInCommon(by: By): string {
  switch (by) {
    case 'line':
      return t('They have no line in common.');
    case 'function':
      return t('They have no function in common.');
    case 'file':
      return t('They have no file in common.');
    case 'stack':
      return t('They have no stack in common.');
  }
}
