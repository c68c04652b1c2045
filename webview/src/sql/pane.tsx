// Questions in SQL about the snapshot's tables, which are made when this is first shown.

import type { VNode } from 'preact';
import { time } from '../base/format';
import { count, t } from '../base/l10n';
import { shorten, visible } from '../base/text';
import type { Pane, PaneRoom } from '../shell/pane';
import { Island } from '../widgets/island';
import { PAGE_ROWS, Queries, type Asked, type SqlContext } from './queries';
import { Tables } from './tables';

export const sqlPane = (context: SqlContext): Pane => {
  const queries = new Queries(context);
  const tables = new Tables(context.api);
  let begun = false;
  return {
    View: (room) => <Sql queries={queries} tables={tables} room={room} />,
    update: (changes) => {
      if (changes.has('compare')) queries.learnOther();
      if (begun) return;
      begun = true;
      // now the tables are worth their making
      queries.begin();
      tables.make();
    },
    reveal: ({ query }) => {
      if (query !== undefined) queries.take(query);
    },
    dispose: () => {
      queries.dispose();
      tables.dispose();
    },
  };
};

interface SqlProps {
  readonly queries: Queries;
  readonly tables: Tables;
  readonly room: PaneRoom;
}

function Sql({ queries, tables, room }: SqlProps): VNode {
  return (
    <section {...room} class="sql pane" {...(queries.latest.asking && { 'aria-busy': true })}>
      <div class="sql-split">
        <div class="sql-left">
          <QueryBar queries={queries} />
          <Island class="sql-editor" of={queries.editor.root} />
        </div>
        <div class="sql-right">
          <FillingBar tables={tables} />
          <ResultBar queries={queries} />
          <div class="sql-result">
            <queries.table.View />
          </div>
        </div>
      </div>
    </section>
  );
}

function QueryBar({ queries }: { readonly queries: Queries }): VNode {
  const running = queries.latest.asking;
  const history = queries.history.value;
  return (
    <div class="sql-bar">
      <Button
        text={t('Run')}
        title={t('Run the query (Ctrl+Enter)')}
        disabled={running}
        press={queries.run}
      />
      <Button
        text={t('Cancel')}
        title={t('Cancel the query (Escape)')}
        hidden={!running}
        press={queries.cancel}
      />
      <Picker
        name={t('Examples')}
        title={t('Queries to begin with')}
        options={queries.examples.value}
        pick={queries.take}
      />
      <Others queries={queries} />
      <Picker
        name={t('History')}
        title={t('Queries that were run')}
        options={history.map((query) => ({
          query,
          title: shorten(query.replace(/\s+/g, ' ').trim(), 100),
        }))}
        disabled={history.length === 0}
        pick={queries.take}
      />
    </div>
  );
}

/** Asks other files as well, and what says which of their rows belong together. */
function Others({ queries }: { readonly queries: Queries }): VNode {
  const { asked, key, series } = queries;
  const other = queries.other.value;
  return (
    <>
      {other !== null && (
        <Check
          queries={queries}
          asked="both"
          text={t('Both')}
          title={t('Query {0} as well, and show the rows side by side', visible(other))}
        />
      )}
      {series > 0 && (
        <Check
          queries={queries}
          asked="series"
          text={t('Series')}
          title={t('Query all {0} dumps of the series, and show the rows side by side', count(series))}
        />
      )}
      {((asked.value === 'both' && other !== null) || (asked.value === 'series' && series > 0)) && (
        <input
          type="text"
          class="sql-key"
          aria-label={t('Key')}
          placeholder={t('Key columns')}
          title={t('The columns that say which rows belong together; without any, those that aren’t numbers')}
          value={key.value}
          onChange={({ currentTarget }) => {
            key.value = currentTarget.value;
            queries.run();
          }}
        />
      )}
    </>
  );
}

interface CheckProps {
  readonly queries: Queries;
  readonly asked: Asked;
  readonly text: string;
  readonly title: string;
}

function Check({ queries, asked, text, title }: CheckProps): VNode {
  return (
    <label class={`sql-${asked}`} title={title}>
      <input
        type="checkbox"
        checked={queries.asked.value === asked}
        onChange={({ currentTarget }) => queries.askOf(asked, currentTarget.checked)}
      />
      {text}
    </label>
  );
}

function ResultBar({ queries }: { readonly queries: Queries }): VNode {
  const running = queries.running.value;
  const { text, error } = queries.status.value;
  const result = queries.result.value;
  const nothing = !result || result.columns.length === 0;
  const { mayFilter } = queries;
  const failed = error && running === null;
  return (
    <div class="sql-bar">
      <span class={failed ? 'sql-status error' : 'sql-status'} role="status" title={failed ? text : ''}>
        {running === null ? text : t('Running… {0}', time(running))}
      </span>
      <span class="sql-gap" />
      <Button
        text={t('{0} more', count(PAGE_ROWS))}
        title={t('The rows that follow')}
        hidden={result?.complete ?? true}
        press={queries.fetchMore}
      />
      {mayFilter !== null && (
        <Button
          text={t('Filter')}
          title={
            mayFilter || nothing
              ? t(
                  'Filter by these objects: all views show only what the rows of this query name (Ctrl+Shift+Enter)',
                )
              : t('To filter by these rows, name a column “object”, as in SELECT source AS object FROM refs')
          }
          disabled={!mayFilter}
          press={() => result && queries.filterBy(result.query)}
        />
      )}
      <Button
        text="CSV"
        title={t('Save all rows as comma-separated values')}
        disabled={nothing}
        press={() => queries.save('csv')}
      />
      <Button
        text="JSON"
        title={t('Save all rows as JSON')}
        disabled={nothing}
        press={() => queries.save('json')}
      />
    </div>
  );
}

function FillingBar({ tables }: { readonly tables: Tables }): VNode {
  const filling = tables.filling.value;
  return (
    <div class="sql-filling" hidden={!filling}>
      {filling && 'fraction' in filling && (
        <>
          <span>{t('Making the tables…')}</span>
          <progress max={1} value={filling.fraction} aria-label={t('Making the tables')} />
          <Button text={t('Stop')} title={t('Do not make the tables now')} press={tables.stop} />
        </>
      )}
      {filling && 'why' in filling && (
        <>
          <span>{visible(filling.why)}</span>
          <Button text={t('Make them')} title={t('Make the tables now')} press={tables.make} />
        </>
      )}
    </div>
  );
}

interface ButtonProps {
  readonly text: string;
  readonly title: string;
  readonly disabled?: boolean;
  readonly hidden?: boolean;
  readonly press: () => void;
}

function Button({ text, title, disabled, hidden, press }: ButtonProps): VNode {
  return (
    <button
      type="button"
      class="button secondary"
      title={title}
      onClick={press}
      disabled={disabled ?? false}
      hidden={hidden ?? false}
    >
      {text}
    </button>
  );
}

interface PickerProps {
  readonly name: string;
  readonly title: string;
  readonly options: readonly { readonly query: string; readonly title: string }[];
  readonly disabled?: boolean;
  readonly pick: (query: string) => void;
}

/** A list of queries, of which none stays chosen. */
function Picker({ name, title, options, disabled, pick }: PickerProps): VNode {
  return (
    <select
      title={title}
      aria-label={title}
      disabled={disabled ?? false}
      onChange={({ currentTarget }) => {
        const option = options[currentTarget.selectedIndex - 1];
        currentTarget.selectedIndex = 0;
        if (option) pick(option.query);
      }}
    >
      <option>{name}</option>
      {options.map((option) => (
        <option key={option.query} title={shorten(option.query, 2000)}>
          {visible(option.title)}
        </option>
      ))}
    </select>
  );
}
