// Queries: what was run and when, the rows so far, and their order.

import { effect, signal, type ReadonlySignal } from '@preact/signals';
import type { ViewParams } from '../../../extension/shared/messages';
import type { SqlAnswer, SqlColumn, SqlSchema } from '../../../extension/shared/protocol.gen';
import { RequestError, sentencesOf, type Pending } from '../base/request';
import { count, plural, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { shorten } from '../base/text';
import { time } from '../base/format';
import type { Timeline, ViewContext } from '../shell/context';
import { Table } from '../widgets/table';
import { filterOf, MOST_CHARACTERS, nameObjects } from './as-filter';
import { Editor } from './editor';
import { columnOf } from './columns';
import { numberIn, placeIn, rolesOf, sortedRows, toCsv, toJson, type Roles, type Row } from './rows';

export const PAGE_ROWS = 1000;
const EXPORT_PAGE_ROWS = 10_000;
const MOST_EXPORTED = 200_000;
const CLOCK_MS = 100;
const KEPT_QUERIES = 50;
const LONGEST_STATUS = 500;

/** What it needs of its view, of any model. */
export interface SqlContext extends Pick<ViewContext, 'api' | 'say' | 'openFrame'> {
  readonly timeline: Pick<Timeline, 'select' | 'highlightStacks'> | null;
  /** Shows an object of a heap dump. */
  showObject?(object: number): void;
  /** Filters all views of a heap dump. */
  setFilter?(filter: string): void;
  /** What queries may be compared with. */
  readonly compare: {
    readonly other: { readonly name: string } | null;
    readonly settings: { readonly otherFirst: boolean };
  };
  /** How many dumps are open of the series that the view shows over time. */
  readonly series?: ReadonlySignal<number>;
}

/** Which files a query is asked of: the view's own, also the one that it is compared with, or a series of dumps. */
export type Asked = 'own' | 'both' | 'series';

interface ResultSort {
  readonly column: number;
  readonly descending: boolean;
}

interface Result {
  readonly query: string;
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly Row[];
  /** The rows in the order in which they came. */
  readonly unsorted: readonly Row[];
  readonly sort: ResultSort | null;
  readonly complete: boolean;
  /** Whether the rows may have what objects contain. */
  readonly contents: boolean;
}

interface Status {
  readonly text: string;
  readonly error: boolean;
}

export class Queries {
  readonly editor: Editor;
  readonly table = new Table<Row>({
    name: 'sql',
    label: t('Result'),
    pick: (row) => this.pick(row),
    open: (row, beside) => this.open(row, beside),
    sort: ({ column, descending }) => this.sortBy({ column: Number(column), descending }),
    // what leaves the page says whether it may have what objects contain, so that the user is asked
    post: (message) =>
      this.context.api.post(
        message.type === 'copy' && this.result.value?.contents === true
          ? { ...message, contents: true }
          : message,
      ),
    placeOf: (row) => placeIn(row, this.roles),
  });
  readonly result = signal<Result | null>(null);
  readonly status = signal<Status>({ text: '', error: false });
  readonly examples = signal<SqlSchema['examples']>([]);
  readonly history = signal<readonly string[]>([]);
  /** Of which files queries are asked, and the columns that say which rows of several belong together. */
  readonly asked = signal<Asked>('own');
  readonly key = signal('');
  /** The name of the file that the view's own is compared with; null for none. */
  readonly other = signal<string | null>(null);
  readonly latest = new Latest();
  /** How long a query has been running, in microseconds; null for none, or for one that has only begun. */
  readonly running = signal<number | null>(null);
  private place = -1;
  private roles: Roles = rolesOf([]);
  private readonly stopClock: () => void;

  constructor(private readonly context: SqlContext) {
    const saved = context.api.saved()?.kept?.sql;
    this.history.value = saved?.history ?? [];
    const { run, keep: changed, goBack: past, cancel: giveUp } = this;
    const filter = (): void => this.filterBy(this.editor.value);
    this.editor = new Editor(saved?.query ?? '', { run, changed, past, giveUp, filter });
    // A quick answer needs no clock.
    this.stopClock = effect(() => {
      this.running.value = null;
      if (!this.latest.asking) return undefined;
      const start = performance.now();
      const clock = setInterval(() => {
        this.running.value = (performance.now() - start) * 1000;
      }, CLOCK_MS);
      return () => clearInterval(clock);
    });
  }

  /** Shows again what a restored view showed, and fetches the examples; the first is where a query will be written. */
  begin(): void {
    if (this.context.api.saved()?.kept?.sql?.isAnswered) this.run();
    this.context.api.request('memlens/sqlSchema', {}).answer.then((schema) => {
      this.editor.learn(schema);
      this.examples.value = schema.examples;
      const first = schema.examples[0];
      // the user may be about to write
      if (this.editor.value === '' && !this.editor.focused && first) this.editor.value = first.query;
    }, this.failed);
  }

  /** What is compared with what may be another. */
  learnOther(): void {
    this.other.value = this.context.compare.other?.name ?? null;
    if (this.other.value === null && this.asked.value === 'both') this.asked.value = 'own';
  }

  /** How many dumps a series has; 0 where there is none. */
  get series(): number {
    const dumps = this.context.series?.value ?? 0;
    return dumps > 1 ? dumps : 0;
  }

  /** Asks these files, or no longer. */
  readonly askOf = (asked: Asked, on: boolean): void => {
    this.asked.value = on ? asked : 'own';
    this.run();
  };

  dispose(): void {
    this.latest.cancel();
    this.stopClock();
    this.editor.dispose();
  }

  readonly take = (query: string): void => {
    this.editor.value = query;
    this.run();
    this.editor.focus();
  };

  readonly run = (): void => {
    const query = this.editor.value;
    if (query.trim() === '') return;
    this.history.value = [query, ...this.history.value.filter((each) => each !== query)].slice(
      0,
      KEPT_QUERIES,
    );
    this.place = 0;
    this.keep();
    this.ask(query, 0, null, ({ columns, rows, more, contents }) =>
      this.show({ query, columns, rows, unsorted: rows, sort: null, complete: !more, contents }, false),
    );
  };

  readonly cancel = (): void => {
    if (!this.latest.asking) return;
    this.latest.cancel();
    this.status.value = { text: t('Cancelled'), error: false };
    this.context.say(t('Query cancelled'));
  };

  /** Whether the rows that are shown may be the filter of all views; null where no rows can be. */
  get mayFilter(): boolean | null {
    if (!this.context.setFilter) return null;
    const result = this.result.value;
    return result !== null && this.asked.value === 'own' && nameObjects(result.columns);
  }

  /** Shows only the objects that a query's rows name, in all views. */
  readonly filterBy = (query: string): void => {
    if (!this.context.setFilter || query.trim() === '') return;
    const filter = filterOf(query);
    if (filter.length > MOST_CHARACTERS) {
      const text = t(
        'The query is too long for a filter, which has at most {0} characters.',
        count(MOST_CHARACTERS),
      );
      this.status.value = { text, error: true };
    } else this.context.setFilter(filter);
  };

  readonly fetchMore = (): void => {
    const before = this.result.value;
    if (!before) return;
    this.ask(before.query, before.rows.length, before.sort, (answer) => {
      const rows = [...before.rows, ...answer.rows];
      this.show({ ...before, rows, unsorted: rows, complete: !answer.more }, true);
    });
  };

  private sortBy(sort: ResultSort): void {
    const before = this.result.value;
    if (!before) return;
    if (before.complete) {
      this.show({ ...before, rows: sortedRows(before.unsorted, sort.column, sort.descending), sort }, false);
      this.table.focus();
    } else
      this.ask(before.query, 0, sort, ({ rows, more }) => {
        this.show({ ...before, rows, unsorted: rows, sort, complete: !more }, false);
        this.table.focus();
      });
  }

  /** Shows the rows; `keep` leaves the place where it is. */
  private show(result: Result, keep: boolean): void {
    const { columns, rows, sort } = result;
    this.result.value = result;
    this.roles = rolesOf(columns);
    this.table.show({
      columns: columns.map((column, index) => columnOf(column, index, rows, this.roles)),
      rows,
      total: rows.length,
      sort: sort && { column: String(sort.column), descending: sort.descending },
      answer: keep ? this.table.now.answer : rows,
    });
    this.keep();
  }

  private ask(
    query: string,
    offset: number,
    sort: ResultSort | null,
    use: (answer: SqlAnswer) => void,
  ): void {
    this.latest.ask(
      this.rowsOf({ query, offset, limit: PAGE_ROWS, sort }),
      (answer) => {
        use(answer);
        this.reportRows(answer.took_ms * 1000);
      },
      this.failed,
    );
  }

  private rowsOf(page: ViewParams<'memlens/sql'>): Pending<SqlAnswer> {
    const { api, compare } = this.context;
    const key = this.key.value.split(',').flatMap((name) => name.trim() || []);
    const asked = this.asked.value;
    if (asked === 'series' && this.series > 0) return api.request('memlens/seriesSql', { ...page, key });
    if (asked !== 'both') return api.request('memlens/sql', page);
    return api.request('memlens/compareSql', { ...page, key, other_first: compare.settings.otherFirst });
  }

  private readonly failed = (error: unknown): void => {
    const problem = error instanceof RequestError ? error.problem : null;
    this.status.value = { text: shorten(sentencesOf(error), LONGEST_STATUS), error: true };
    if (problem?.code === 'sql' && problem.offset !== null) this.editor.pointAt(problem.offset);
  };

  /** How many rows there are and, where the server was asked for them, how long it took, in microseconds. */
  private reportRows(took: number | null): void {
    const result = this.result.value;
    if (!result || result.columns.length === 0) return;
    const { length: rows } = result.rows;
    let text;
    if (result.complete)
      text =
        took === null
          ? plural(rows, '{0} row', '{0} rows')
          : plural(rows, '{0} row in {1}', '{0} rows in {1}', time(took));
    else
      text =
        took === null
          ? t('The first {0} rows', count(rows))
          : t('The first {0} rows in {1}', count(rows), time(took));
    this.status.value = { text, error: false };
  }

  private pick(row: Row): void {
    const { roles } = this;
    const allocation = numberIn(row, roles.allocation);
    const stack = numberIn(row, roles.stack);
    const object = numberIn(row, roles.object);
    if (object !== null && this.context.showObject) this.context.showObject(object);
    else if (allocation !== null) this.context.timeline?.select(allocation, null);
    else if (stack !== null) this.context.timeline?.highlightStacks(new Set([stack]));
  }

  private open(row: Row, beside: boolean): void {
    const place = placeIn(row, this.roles);
    if (place) this.context.openFrame({ ...place, kind: 'user', source: 'recorded' }, beside);
    else this.pick(row);
  }

  /** Saves all rows of what is shown, those that aren't here fetched page by page. */
  readonly save = (form: 'csv' | 'json'): void => {
    const result = this.result.value;
    if (!result) return;
    if (result.complete) this.write(form, result, result.rows);
    else this.collect(form, result, []);
  };

  private collect(form: 'csv' | 'json', result: Result, before: readonly Row[]): void {
    const { query, sort } = result;
    this.latest.ask(
      this.rowsOf({ query, offset: before.length, limit: EXPORT_PAGE_ROWS, sort }),
      (answer) => {
        const rows = [...before, ...answer.rows];
        if (answer.more && rows.length < MOST_EXPORTED) {
          this.collect(form, result, rows);
          return;
        }
        if (answer.more) this.context.say(t('Only the first {0} rows are saved', count(rows.length)));
        this.reportRows(null);
        this.write(form, result, rows);
      },
      this.failed,
    );
  }

  private write(form: 'csv' | 'json', { columns, contents }: Result, rows: readonly Row[]): void {
    const text = form === 'csv' ? toCsv(columns, rows) : toJson(columns, rows);
    this.context.api.post({ type: 'saveText', form, text, ...(contents && { contents }) });
  }

  private readonly goBack = (step: -1 | 1): void => {
    const query = this.history.value[this.place - step];
    if (query === undefined) return;
    this.editor.value = query;
    this.place -= step;
  };

  private readonly keep = (): void => {
    const { value: query } = this.editor;
    // which other dumps a query was about isn't kept
    const isAnswered = this.asked.value === 'own' && this.result.value?.query === query;
    this.context.api.keep({ sql: { query, isAnswered, history: [...this.history.value] } });
  };
}
