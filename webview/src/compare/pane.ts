// What is different between this snapshot and another, by line, function, file or stack.

import type {
  CompareAnswer,
  ComparedRow,
  ComparedSums,
  Frame,
  ProfileValue,
} from '../../../extension/shared/protocol.gen';
import { RequestError } from '../api';
import { signed, withSign, type ComparedSets, type OwnSide } from './comparison';
import type { Attribution } from '../shell/attribution';
import type { ViewContext } from '../shell/context';
import { Latest } from '../base/latest';
import { never } from '../shell/model';
import { settingsButton, type Setting } from '../shell/settings';
import { Choice } from '../widgets/choice';
import { debounce, element, replace, setText } from '../widgets/dom';
import { figure, figureIn } from '../base/figure';
import { counted } from '../base/format';
import type { SavedComparison } from '../shell/state';
import { CompareSides, compareNotice } from './bar';
import { CompareGraph } from './graph';
import { COMPARE_PAGE, CompareTable, type CompareOrder } from './table';
import type { Pane } from '../shell/pane';

const SEARCH_AFTER_MS = 150;
const ROWS_OF = { line: 'line', function: 'function', file: 'file', stack: 'stack' } as const;

export const comparePane = (context: ViewContext): Pane => new ComparePane(context);

class ComparePane implements Pane {
  readonly id = 'compare';
  readonly title = 'Compare';
  readonly usesSet = true;
  readonly root = element('section', { class: 'table compare' });
  readonly bar: HTMLElement;
  private readonly sides: CompareSides;
  private readonly by: Choice<'line' | 'function' | 'file' | 'stack'>;
  private readonly measure: Choice<'own' | 'inclusive'>;
  private readonly attribution: Choice<Attribution>;
  private readonly mine: HTMLSelectElement;
  private readonly theirs: HTMLSelectElement;
  /** Of profiles: the values that both have, and the other's that may stand beside it. */
  private readonly value = select('Value', (number) => {
    this.context.compare.ownProfile?.setValue(Number(number));
  });
  private readonly otherValue = select('Other value', (name) => {
    this.context.compare.set({ value: name === '' ? null : name });
  });
  private readonly search: HTMLInputElement;
  private readonly form: Choice<SavedComparison>;
  private shown: SavedComparison;
  /** Made when it is first shown. */
  private graph: CompareGraph | null = null;
  private readonly summary = element('p', { class: 'compare-summary', role: 'status' });
  private readonly table: CompareTable;
  private readonly content: HTMLElement;
  private order: CompareOrder = 'difference';
  private reverse = false;
  private sets: ComparedSets | null = null;
  private inferredSteps = false;
  private readonly finding = new Latest();
  private readonly asking = new Latest();
  private readonly lighting = new Latest();

  constructor(private readonly context: ViewContext) {
    const { compare } = context;
    this.sides = new CompareSides(context);
    this.by = new Choice(
      'Rows',
      [
        { value: 'line', text: 'Line' },
        { value: 'function', text: 'Function' },
        { value: 'file', text: 'File' },
        { value: 'stack', text: 'Stack' },
      ],
      (by) => {
        compare.set({ by });
      },
    );
    this.measure = new Choice(
      'Figures',
      [
        { value: 'own', text: 'Self', title: 'What it allocated itself: the rows add up' },
        { value: 'inclusive', text: 'Inclusive', title: 'With what it called' },
      ],
      (measure) => {
        compare.set({ measure });
      },
    );
    this.attribution = context.attribution.choice();
    this.mine = options('Compare at', { set: 'Chosen moment', end: 'End' }, (mine) => {
      compare.set({ mine });
    });
    this.theirs = options('Other at', { same: 'Same moment', peak: 'Its peak', end: 'Its end' }, (theirs) => {
      compare.set({ theirs });
    });
    const searchSoon = debounce(SEARCH_AFTER_MS, () => {
      this.fetch(0);
    });
    this.search = element('input', {
      class: 'compare-search',
      type: 'search',
      attributes: {
        placeholder: 'File, function',
        'aria-label': 'Only rows with these words',
        spellcheck: false,
      },
      on: {
        input: searchSoon,
        keydown: (event) => {
          // The view's keys are letters: they are text here.
          event.stopPropagation();
        },
      },
    });
    this.shown = context.api.saved()?.kept?.comparison === 'graph' ? 'graph' : 'table';
    this.form = new Choice<SavedComparison>(
      'Form',
      [
        { value: 'table', text: 'Table' },
        {
          value: 'graph',
          text: 'Flame graph',
          title: 'Both as one tree of calls, coloured by the difference',
        },
      ],
      (form) => {
        this.shown = form;
        context.api.keep({ comparison: form });
        this.arrange();
        this.showSets();
      },
    );
    this.table = new CompareTable({
      pick: (row, beside) => {
        this.pick(row, beside);
      },
      sort: (order) => {
        this.reverse = order === this.order && !this.reverse;
        this.order = order;
        this.fetch(0);
      },
      more: (offset) => {
        this.fetch(offset);
      },
    });
    this.bar = element(
      'div',
      { class: 'compare-controls', role: 'toolbar', attributes: { 'aria-label': 'Comparison' } },
      this.sides.root,
      this.search,
      settingsButton('Comparison settings', [
        { text: 'Show', control: this.form.root },
        { text: 'Rows', control: this.by.root },
        { text: 'Figures', control: this.measure.root },
        { text: 'Charged to', control: this.attribution.root },
        ...this.choosers(compare.own),
      ]),
    );
    // what is said of the rows comes after them
    this.content = element('div', { class: 'compare-content' }, this.table.root, this.summary);
  }

  /** What of both is compared. */
  private choosers(own: OwnSide): readonly Setting[] {
    switch (own.model) {
      case 'timeline':
        return [
          { text: 'Compare at', control: this.mine },
          { text: 'Other at', control: this.theirs },
        ];
      case 'profile':
        return [
          { text: 'Value', control: this.value },
          { text: 'Other value', control: this.otherValue },
        ];
      case 'graph':
        return [];
      default:
        return never(own);
    }
  }

  update(changes: ReadonlySet<string>): void {
    if (changes.has('theme')) this.graph?.retheme();
    if (changes.has('attribution')) {
      this.attribution.set(this.context.attribution.value);
      this.graph?.reattribute();
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
    this.arrange();
    const { settings } = compare;
    this.sides.update();
    this.by.set(settings.by);
    this.measure.set(settings.measure);
    this.mine.value = settings.mine;
    this.theirs.value = settings.theirs;
    this.showValues();
    const { lacking } = compare;
    if (lacking) {
      this.cancel();
      this.sets = null;
      const { title } = lacking.value;
      setText(this.summary, '');
      this.table.clear(
        `${compare.other?.name ?? 'The other'} does not measure “${title}”. ` +
          'Choose above what both have, or another value of the other.',
      );
      this.arrange();
      return;
    }
    this.refresh();
  }

  key(event: KeyboardEvent): boolean {
    return this.shown === 'graph' && (this.graph?.key(event) ?? false);
  }

  /** Table or flame graph; without sets there is only the table, which says why. */
  private arrange(): void {
    const drawn = this.shown === 'graph' && !this.context.compare.lacking;
    this.form.set(this.shown);
    for (const control of [this.by.root, this.measure.root, this.attribution.root, this.search])
      control.hidden = drawn;
    this.table.root.hidden = drawn;
    if (drawn && !this.graph) {
      this.graph = new CompareGraph(this.context);
      this.content.prepend(this.graph.root);
    }
    if (this.graph) this.graph.root.hidden = !drawn;
  }

  /** The sums of both are the table's, whichever form is shown. */
  private showSets(): void {
    const { sets, graph } = this;
    if (!sets) return;
    this.fetch(0);
    if (this.shown !== 'graph' || !graph) return;
    const { compare } = this.context;
    const { otherFirst } = compare.settings;
    graph.show(sets, otherFirst, JSON.stringify([compare.other?.uri, otherFirst]));
  }

  /** The values to choose from, of profiles. */
  private showValues(): void {
    const { compare } = this.context;
    const { ownProfile: own } = compare;
    if (!own) return;
    const shared = compare.sharedValues;
    const mine = own.info.values.indexOf(own.value);
    // what is shown may be a value that the other hasn't
    const known = shared.some((each) => each.mine === mine);
    choices(this.value, [
      ...(known ? [] : [{ value: String(mine), text: `${own.value.title}, only here` }]),
      ...shared.map(({ value, mine: number }) => ({ value: String(number), text: titled(value) })),
    ]);
    this.value.value = String(mine);
    choices(this.otherValue, [
      ...(known ? [{ value: '', text: 'The same' }] : [{ value: '', text: 'Choose…' }]),
      ...compare.otherValues.map((value) => ({ value: value.name, text: titled(value) })),
    ]);
    this.otherValue.value = compare.settings.value ?? '';
    if (this.otherValue.selectedIndex < 0) this.otherValue.value = '';
  }

  dispose(): void {
    this.cancel();
    this.graph?.dispose();
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
      search: this.search.value,
      order: this.order,
      reverse: this.reverse,
      offset,
      limit: COMPARE_PAGE,
    });
    this.asking.ask(
      asked,
      (answer) => {
        this.table.sorted(this.order, this.reverse);
        this.table.add(answer);
        this.showTotals(answer);
      },
      (error) => {
        this.failed(error);
      },
    );
  }

  private showTotals(answer: CompareAnswer): void {
    const { compare, device, setName } = this.context;
    const { by, measure } = compare.settings;
    const { before, after } = compare.names(device);
    const { total } = answer;
    const parts: string[] = [];
    const part = (sums: ComparedSums, verb: string): void => {
      if (sums.rows > 0)
        parts.push(
          `${counted(sums.rows, ROWS_OF[by])} ${verb} ${withSign(sums.after_bytes - sums.before_bytes)}`,
        );
    };
    part(answer.grown, 'grew by');
    part(answer.shrunk, 'shrank by');
    part(answer.only_after, 'only after:');
    part(answer.only_before, 'only before:');
    if (answer.same.rows > 0) parts.push(`${counted(answer.same.rows, ROWS_OF[by])} the same`);
    const both = answer.grown.rows + answer.shrunk.rows + answer.same.rows;
    if (total.rows > 0 && both === 0) parts.push(`They have no ${ROWS_OF[by]} in common.`);
    setText(
      this.summary,
      `${before} ${figure(total.before_bytes)} → ${after} ${figure(total.after_bytes)}, ` +
        `${signed(total.after_bytes - total.before_bytes)}${parts.length > 0 ? ` · ${parts.join(' · ')}` : ''}`,
    );
    const what = compare.settings.mine === 'end' ? 'live at the end' : setName;
    const words = this.search.value.trim();
    this.table.say(
      `${counted(answer.found, ROWS_OF[by])}, ${what}` +
        (this.inferredSteps ? ', beside each other by inferred steps' : '') +
        (measure === 'inclusive'
          ? ', with what each called (these do not add up)'
          : `, self by ${this.context.attribution.name}`) +
        (words
          ? `, with ${words}: ${figure(answer.matching.before_bytes)} → ${figure(answer.matching.after_bytes)}`
          : ''),
    );
  }

  /** Opens the line and lights up what it made in this snapshot. */
  private pick(row: ComparedRow, beside: boolean): void {
    const { context, sets } = this;
    const { settings } = context.compare;
    const [own, other] = settings.otherFirst ? [row.after, row.before] : [row.before, row.after];
    const place = own ?? other;
    if (place && place.file !== '' && place.kind !== 'native') context.openFrame(opened(place), beside);
    else context.say('The file has no line of source for these allocations.');
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
    setText(this.summary, '');
    const advice = error instanceof RequestError ? error.problem.advice : '';
    this.table.clear(`${error instanceof Error ? error.message : String(error)}. ${advice}`);
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

function options<T extends string>(
  label: string,
  texts: Readonly<Record<T, string>>,
  change: (value: T) => void,
): HTMLSelectElement {
  const made = select(label, (value) => {
    // SAFETY: the options are those of `texts`.
    change(value as T);
  });
  choices(
    made,
    Object.entries<string>(texts).map(([value, text]) => ({ value, text })),
  );
  return made;
}

function select(label: string, change: (value: string) => void): HTMLSelectElement {
  const made = element('select', {
    class: 'dropdown',
    title: label,
    attributes: { 'aria-label': label },
    on: {
      change: () => {
        change(made.value);
      },
    },
  });
  return made;
}

function choices(
  control: HTMLSelectElement,
  all: readonly { readonly value: string; readonly text: string }[],
): void {
  replace(control, ...all.map(({ value, text }) => element('option', { attributes: { value } }, text)));
}
