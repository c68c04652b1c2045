// Questions in SQL about the snapshot's tables, which are made when this is first shown.

import { t } from '../base/l10n';
import type { SqlAnswer, SqlColumn, SqlSchema } from '../../../extension/shared/protocol.gen';
import { RequestError, type Pending } from '../api';
import type { ViewContext } from '../shell/context';
import { Editor } from './editor';
import { Grid, type GridSort } from './grid';
import { numberIn, placeIn, sortedRows, toCsv, toJson, type Roles, type Row } from './rows';
import { element, replace, setText } from '../widgets/dom';
import { count, counted, time } from '../base/format';
import { shorten, visible } from '../base/text';
import type { Pane } from '../shell/pane';

const PAGE_ROWS = 1000;
const EXPORT_PAGE_ROWS = 10_000;
const MOST_EXPORTED = 200_000;
const POLL_MS = 200;
const CLOCK_MS = 100;
const KEPT_QUERIES = 50;

/** What it needs of its view, of any model. */
export interface SqlContext extends Pick<ViewContext, 'api' | 'say' | 'openFrame'> {
  select(allocation: number, moment: number | null): void;
  lightStacks(stacks: ReadonlySet<number>): void;
  /** Shows an object of a heap dump. */
  showObject?(object: number): void;
}

export const sqlPane = (context: SqlContext): Pane => {
  const panel = new SqlPanel(context);
  let begun = false;
  return {
    id: 'sql',
    title: 'SQL',
    usesSet: false,
    root: panel.root,
    update: () => {
      if (begun) return;
      begun = true;
      panel.begin();
    },
    reveal: ({ query }) => {
      if (query !== undefined) panel.take(query);
    },
    dispose: () => {
      panel.dispose();
    },
  };
};

class SqlPanel {
  readonly root: HTMLElement;
  private readonly editor: Editor;
  private readonly grid: Grid;
  private readonly examples = picker(t('Examples'), t('Queries to begin with'));
  private readonly past = picker(t('History'), t('Queries that were run'));
  private readonly runButton = button(t('Run'), t('Run the query (Ctrl+Enter)'), () => {
    this.run();
  });
  private readonly cancelButton = button(t('Cancel'), t('End the query (Escape)'), () => {
    this.cancel();
  });
  private readonly status = element('span', { class: 'sql-status', role: 'status' });
  private readonly filling = element('div', { class: 'sql-filling', hidden: true });
  private readonly bar = element('progress', {
    attributes: { max: 1, 'aria-label': t('Making the tables') },
  });
  private readonly more = button('', t('The rows that follow'), () => {
    this.fetchMore();
  });
  private readonly saveCsv = button('CSV', t('Save all rows as comma-separated values'), () => {
    this.save('csv');
  });
  private readonly saveJson = button('JSON', t('Save all rows as JSON'), () => {
    this.save('json');
  });
  private schema: SqlSchema | null = null;
  private history: string[];
  private place = -1;
  private pending: Pending<unknown> | null = null;
  private fill: Pending<unknown> | null = null;
  private clock: ReturnType<typeof setInterval> | undefined;
  private poll: ReturnType<typeof setTimeout> | undefined;
  /** What is shown: the query, its rows so far, and their order. */
  private query = '';
  private columns: readonly SqlColumn[] = [];
  private rows: Row[] = [];
  private unsorted: readonly Row[] = [];
  private sort: GridSort | null = null;
  private complete = true;

  constructor(private readonly context: SqlContext) {
    const saved = context.api.saved()?.kept?.sql;
    this.history = [...(saved?.history ?? [])];
    this.editor = new Editor(saved?.query ?? '', {
      run: () => {
        this.run();
      },
      changed: () => {
        this.keep();
      },
      past: (step) => {
        this.goBack(step);
      },
      giveUp: () => {
        this.cancel();
      },
    });
    this.grid = new Grid({
      pick: (row, roles) => {
        this.pick(row, roles);
      },
      open: (row, roles, beside) => {
        this.open(row, roles, beside);
      },
      sort: (sort) => {
        this.sortBy(sort);
      },
      post: (message) => {
        this.context.api.post(message);
      },
    });
    this.examples.addEventListener('change', () => {
      const example = this.schema?.examples[this.examples.selectedIndex - 1];
      this.examples.selectedIndex = 0;
      if (example) this.take(example.query);
    });
    this.past.addEventListener('change', () => {
      const query = this.history[this.past.selectedIndex - 1];
      this.past.selectedIndex = 0;
      if (query !== undefined) this.take(query);
    });
    this.cancelButton.hidden = true;
    const left = element(
      'div',
      { class: 'sql-left' },
      element('div', { class: 'sql-bar' }, this.runButton, this.cancelButton, this.examples, this.past),
      this.editor.root,
    );
    const right = element(
      'div',
      { class: 'sql-right' },
      this.filling,
      element(
        'div',
        { class: 'sql-bar' },
        this.status,
        element('span', { class: 'sql-gap' }),
        this.more,
        this.saveCsv,
        this.saveJson,
      ),
      this.grid.root,
    );
    this.root = element('section', { class: 'sql' }, element('div', { class: 'sql-split' }, left, right));
    this.showStatus();
  }

  /** The panel is shown for the first time: now the tables are worth their making. */
  begin(): void {
    this.listHistory();
    this.context.api.request('memlens/sqlSchema', {}).answer.then(
      (schema) => {
        this.schema = schema;
        this.editor.learn(schema);
        for (const { title, query } of schema.examples)
          this.examples.append(element('option', { title: query }, title));
        const first = schema.examples[0];
        // nothing is put where somebody is about to write
        if (this.editor.value === '' && !this.editor.focused && first) this.editor.value = first.query;
      },
      (error: unknown) => {
        this.failed(error);
      },
    );
    this.makeTables();
  }

  dispose(): void {
    this.pending?.cancel();
    this.fill?.cancel();
    clearInterval(this.clock);
    clearTimeout(this.poll);
    this.editor.dispose();
    this.grid.dispose();
  }

  // --- the tables --------------------------------------------------------------------------------------------------

  private makeTables(): void {
    if (this.fill) return;
    const fill = this.context.api.request('memlens/sqlFill', {});
    this.fill = fill;
    const over = (): void => {
      this.fill = null;
      clearTimeout(this.poll);
    };
    fill.answer.then(
      () => {
        over();
        this.filling.hidden = true;
      },
      (error: unknown) => {
        over();
        this.fillingStopped(messageOf(error));
      },
    );
    this.watchFilling();
  }

  private watchFilling(): void {
    this.poll = setTimeout(() => {
      this.context.api.request('memlens/sqlState', {}).answer.then(
        ({ filled, fraction }) => {
          if (!this.fill) return;
          if (!filled && fraction !== null) this.showFilling(fraction);
          this.watchFilling();
        },
        () => undefined,
      );
    }, POLL_MS);
  }

  private showFilling(fraction: number): void {
    this.bar.value = fraction;
    if (!this.filling.hidden && this.filling.contains(this.bar)) return;
    this.filling.hidden = false;
    replace(
      this.filling,
      element('span', {}, t('Making the tables…')),
      this.bar,
      button(t('Stop'), t('Do not make the tables now'), () => {
        this.fill?.cancel();
        this.fill = null;
        clearTimeout(this.poll);
        this.fillingStopped(t('The tables have not been made.'));
      }),
    );
  }

  private fillingStopped(why: string): void {
    this.filling.hidden = false;
    replace(
      this.filling,
      element('span', {}, visible(why)),
      button(t('Make them'), t('Make the tables now'), () => {
        this.filling.hidden = true;
        this.makeTables();
      }),
    );
  }

  // --- queries -----------------------------------------------------------------------------------------------------

  take(query: string): void {
    this.editor.value = query;
    this.run();
    this.editor.focus();
  }

  private run(): void {
    const query = this.editor.value;
    if (query.trim() === '') return;
    this.remember(query);
    this.query = query;
    this.sort = null;
    this.ask(0, (answer) => {
      this.columns = answer.columns;
      this.unsorted = answer.rows;
      this.rows = answer.rows;
      this.complete = !answer.more;
      this.grid.show(this.columns, this.rows, null, false);
      this.showStatus(answer.took_ms);
    });
  }

  private fetchMore(): void {
    this.ask(this.rows.length, (answer) => {
      this.rows = [...this.rows, ...answer.rows];
      this.unsorted = this.rows;
      this.complete = !answer.more;
      this.grid.show(this.columns, this.rows, this.sort, true);
      this.showStatus(answer.took_ms);
    });
  }

  private sortBy(sort: GridSort): void {
    if (this.complete) {
      this.sort = sort;
      this.rows = sortedRows(this.unsorted, sort.column, sort.descending);
      this.grid.show(this.columns, this.rows, sort, false);
      this.grid.focus();
      return;
    }
    const before = this.sort;
    this.sort = sort;
    this.ask(
      0,
      (answer) => {
        this.unsorted = answer.rows;
        this.rows = answer.rows;
        this.complete = !answer.more;
        this.grid.show(this.columns, this.rows, sort, false);
        this.grid.focus();
        this.showStatus(answer.took_ms);
      },
      () => {
        this.sort = before;
      },
    );
  }

  private ask(offset: number, take: (answer: SqlAnswer) => void, otherwise?: () => void): void {
    this.pending?.cancel();
    const { query, sort } = this;
    const request = this.context.api.request('memlens/sql', { query, offset, limit: PAGE_ROWS, sort });
    this.begun(request);
    request.answer.then(
      (answer) => {
        if (this.pending !== request) return;
        this.ended();
        take(answer);
      },
      (error: unknown) => {
        otherwise?.();
        if (this.pending !== request) return;
        this.ended();
        this.failed(error);
      },
    );
  }

  private begun(request: Pending<unknown>): void {
    this.pending = request;
    const start = performance.now();
    this.cancelButton.hidden = false;
    this.runButton.disabled = true;
    this.root.setAttribute('aria-busy', 'true');
    clearInterval(this.clock);
    // A quick answer needs no clock.
    this.clock = setInterval(() => {
      this.status.classList.remove('error');
      this.status.textContent = `Running… ${time((performance.now() - start) * 1000)}`;
    }, CLOCK_MS);
  }

  private ended(): void {
    this.pending = null;
    clearInterval(this.clock);
    this.cancelButton.hidden = true;
    this.runButton.disabled = false;
    this.root.removeAttribute('aria-busy');
  }

  private cancel(): void {
    if (!this.pending) return;
    this.pending.cancel();
    this.ended();
    setText(this.status, t('Cancelled'));
    this.context.say(t('Query cancelled'));
  }

  private failed(error: unknown): void {
    this.status.classList.add('error');
    const problem = error instanceof RequestError ? error.problem : null;
    const advice = problem?.advice ? ` ${problem.advice}` : '';
    setText(this.status, shorten(`${messageOf(error)}${advice}`, 500));
    this.status.title = this.status.textContent;
    if (problem?.code === 'sql' && problem.offset !== null) this.editor.pointAt(problem.offset);
  }

  private showStatus(tookMs: number | null = null): void {
    this.status.classList.remove('error');
    this.status.title = '';
    this.more.hidden = this.complete;
    setText(this.more, `${count(PAGE_ROWS)} more`);
    const none = this.columns.length === 0;
    this.saveCsv.disabled = none;
    this.saveJson.disabled = none;
    if (none) return;
    const rows = this.complete
      ? counted(this.rows.length, 'row')
      : `The first ${counted(this.rows.length, 'row')}`;
    setText(this.status, tookMs === null ? rows : `${rows} in ${time(tookMs * 1000)}`);
  }

  // --- rows --------------------------------------------------------------------------------------------------------

  private pick(row: Row, roles: Roles): void {
    const allocation = numberIn(row, roles.allocation);
    const stack = numberIn(row, roles.stack);
    const object = numberIn(row, roles.object);
    if (object !== null && this.context.showObject) this.context.showObject(object);
    else if (allocation !== null) this.context.select(allocation, null);
    else if (stack !== null) this.context.lightStacks(new Set([stack]));
  }

  private open(row: Row, roles: Roles, beside: boolean): void {
    const place = placeIn(row, roles);
    if (place) this.context.openFrame({ ...place, kind: 'user', source: 'recorded' }, beside);
    else this.pick(row, roles);
  }

  private save(form: 'csv' | 'json'): void {
    if (this.complete) {
      this.write(form, this.rows);
      return;
    }
    void this.collect(form);
  }

  /** All rows of what is shown, page by page. */
  private async collect(form: 'csv' | 'json'): Promise<void> {
    const { query, sort } = this;
    const rows: Row[] = [];
    try {
      for (let more = true; more && rows.length < MOST_EXPORTED;) {
        const params = { query, offset: rows.length, limit: EXPORT_PAGE_ROWS, sort };
        const request = this.context.api.request('memlens/sql', params);
        this.begun(request);
        const answer = await request.answer;
        for (const row of answer.rows) rows.push(row);
        more = answer.more;
        if (this.pending !== request) return;
        if (more && rows.length >= MOST_EXPORTED)
          this.context.say(`Only the first ${count(rows.length)} rows are saved`);
      }
      this.ended();
      this.showStatus();
      this.write(form, rows);
    } catch (error) {
      this.ended();
      this.failed(error);
    }
  }

  private write(form: 'csv' | 'json', rows: readonly Row[]): void {
    const text = form === 'csv' ? toCsv(this.columns, rows) : toJson(this.columns, rows);
    this.context.api.post({ type: 'saveText', form, text });
  }

  // --- what was asked before ---------------------------------------------------------------------------------------

  private remember(query: string): void {
    this.history = [query, ...this.history.filter((each) => each !== query)].slice(0, KEPT_QUERIES);
    this.place = 0;
    this.listHistory();
    this.keep();
  }

  private listHistory(): void {
    const first = this.past.options[0];
    replace(
      this.past,
      first,
      ...this.history.map((query) =>
        element('option', { title: shorten(query, 2000) }, shorten(query.replace(/\s+/g, ' ').trim(), 100)),
      ),
    );
    this.past.disabled = this.history.length === 0;
  }

  private goBack(step: -1 | 1): void {
    const place = this.place - step;
    const query = this.history[place];
    if (query === undefined) return;
    this.editor.value = query;
    this.place = place;
  }

  private keep(): void {
    this.context.api.keep({ sql: { query: this.editor.value, history: this.history } });
  }
}

function button(text: string, title: string, press: () => void): HTMLButtonElement {
  return element('button', { class: 'button secondary', type: 'button', title, on: { click: press } }, text);
}

function picker(name: string, title: string): HTMLSelectElement {
  return element('select', { title, attributes: { 'aria-label': title } }, element('option', {}, name));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
