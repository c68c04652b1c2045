// The run's steps, and what grows from step to step.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type {
  GrowthAnswer,
  GrowthRow,
  StepRow,
  StepsAnswer,
} from '../../../../extension/shared/protocol.gen';
import { bytes, hasSource, sourceWords, time } from '../../base/format';
import { count, plural, said, t } from '../../base/l10n';
import { Latest } from '../../base/latest';
import { fileName } from '../../base/paths';
import { shortName } from '../../base/symbols';
import { exactly, messageOf, shorten, visible } from '../../base/text';
import type { TimelineSession } from '../session';
import type { Pane, PaneRoom } from '../../shell/pane';
import { rovingRows } from '../../widgets/roving';
import { Sparkline } from '../../widgets/sparkline';
import { number, SizeCell, TableHead } from '../../widgets/table-parts';

const PAGE = 200;
const MOST_LINES = 100;

export const stepsPane = (context: TimelineSession): Pane => {
  const steps = new Steps(context);
  return {
    View: (room) => <StepsView steps={steps} room={room} />,
    update: (changes) => {
      if (changes.has('device') || changes.has('filter')) steps.fetch();
      if (changes.has('axis') || changes.has('cursors')) steps.place();
    },
    reveal: ({ row }) => {
      if (row) steps.select(row);
    },
    dispose: () => steps.cancel(),
  };
};

/** What was answered of the steps so far. */
interface Listed {
  readonly answer: StepsAnswer;
  readonly rows: readonly StepRow[];
}

/** Where the view stands: by it one of the steps is marked. */
interface Place {
  readonly axis: TimelineSession['axis'];
  /** The cursors, the earlier first, if what lies between them is looked at. */
  readonly from: number | null;
  readonly to: number | null;
}

class Steps {
  private readonly listedSignal = signal<Listed | null>(null);
  private readonly growthSignal = signal<GrowthAnswer | null>(null);
  private readonly problemSignal = signal<string | null>(null);
  private readonly placeSignal = signal<Place>({ axis: 'event', from: null, to: null });
  /** The line that a finding is about. */
  readonly selected = signal<GrowthRow | null>(null);
  private wanted: string | null = null;
  private readonly latest = new Latest();
  private readonly latestGrowth = new Latest();

  constructor(readonly context: TimelineSession) {}

  get listed(): ReadonlySignal<Listed | null> {
    return this.listedSignal;
  }

  get growth(): ReadonlySignal<GrowthAnswer | null> {
    return this.growthSignal;
  }

  get problem(): ReadonlySignal<string | null> {
    return this.problemSignal;
  }

  get at(): ReadonlySignal<Place> {
    return this.placeSignal;
  }

  cancel(): void {
    this.latest.cancel();
    this.latestGrowth.cancel();
  }

  fetch(): void {
    this.listedSignal.value = null;
    this.growthSignal.value = null;
    this.selected.value = null;
    this.more();
    const { device, filter, api } = this.context;
    this.latestGrowth.ask(
      api.request('memlens/growth', { device: device.device, limit: MOST_LINES, filter }),
      (answer) => {
        this.growthSignal.value = answer;
        this.selectWanted();
      },
      (error) => this.context.failed(error),
    );
  }

  /** The next of the steps. */
  more(): void {
    const { device, filter, api } = this.context;
    const rows = this.listedSignal.value?.rows ?? [];
    this.problemSignal.value = null;
    this.latest.ask(
      api.request('memlens/steps', { device: device.device, offset: rows.length, limit: PAGE, filter }),
      (answer) => {
        this.listedSignal.value = { answer, rows: [...rows, ...answer.rows] };
      },
      (error) => {
        this.problemSignal.value = messageOf(error);
      },
    );
  }

  place(): void {
    const { axis, cursors } = this.context;
    const { first, second, scope } = cursors;
    const ends = scope === 'between' && first && second ? [first.moment, second.moment] : [];
    const [from = null, to = null] = ends.sort((a, b) => a - b);
    this.placeSignal.value = { axis, from, to };
  }

  pick(step: StepRow): void {
    this.context.cursors.span(step.from_moment, step.to_moment);
    this.context.say(
      t(
        '{0}: peak {1}; {2} in {3} that it allocated survive it',
        said(step.name),
        bytes(step.peak_bytes),
        bytes(step.survivors_bytes),
        count(step.survivors_count),
      ),
    );
  }

  /** Selects the line of a filter once lines are there; where none is that line, it narrows everything. */
  select(filter: string): void {
    this.wanted = filter;
    this.selectWanted();
  }

  private selectWanted(): void {
    const { wanted } = this;
    const answer = this.growthSignal.value;
    if (wanted === null || answer === null) return;
    this.wanted = null;
    const row = answer.rows.find(({ frame }) => {
      const place = frame && `${frame.file}:${frame.line}`;
      return place !== null && [`by:=${place}`, `by:${exactly(place)}`].includes(wanted);
    });
    if (!row) {
      this.context.setFilter(wanted);
      return;
    }
    this.selected.value = row;
    this.highlight(row);
  }

  highlight(row: GrowthRow): void {
    this.context.highlightStacks(new Set(row.stacks));
  }

  open(row: GrowthRow, beside: boolean): void {
    this.highlight(row);
    if (hasSource(row.frame)) this.context.openFrame(row.frame, beside);
    else this.context.say(t('The file has no Python frame for these allocations.'));
  }
}

function StepsView({ steps, room }: { readonly steps: Steps; readonly room: PaneRoom }): VNode {
  const listed = steps.listed.value;
  const how = steps.problem.value ?? visible(listed ? said(listed.answer.how) : t('Looking for steps…'));
  return (
    <section {...room} class="table steps-pane pane">
      <p class={listed?.answer.inferred ? 'steps-how inferred' : 'steps-how'} role="status">
        {how}
      </p>
      <div class="steps-tables" hidden={!listed || listed.answer.count === 0}>
        <div class="table-scroll">
          <GrowthTable steps={steps} />
        </div>
        <div class="table-scroll">{listed && <StepTable steps={steps} listed={listed} />}</div>
      </div>
    </section>
  );
}

/** A body whose rows are one stop of Tab. */
function RovingBody({ children }: { readonly children: readonly VNode[] }): VNode {
  const body = useRef<HTMLTableSectionElement>(null);
  useLayoutEffect(() => {
    if (body.current) rovingRows(body.current);
  });
  return <tbody ref={body}>{children}</tbody>;
}

function StepTable({ steps, listed }: { readonly steps: Steps; readonly listed: Listed }): VNode {
  const { answer, rows } = listed;
  const { axis, from, to } = steps.at.value;
  const left = answer.count - rows.length;
  return (
    <>
      <table class="steps-table">
        <caption>
          {answer.inferred
            ? plural(
                answer.count,
                '{0} step, inferred. A click sets the cursors to it.',
                '{0} steps, inferred. A click sets the cursors to a step.',
              )
            : plural(
                answer.count,
                '{0} step. A click sets the cursors to it.',
                '{0} steps. A click sets the cursors to a step.',
              )}
        </caption>
        <TableHead
          columns={[
            t('Step'),
            ...[t('Start'), t('Peak'), t('At its end'), t('Allocated'), t('Survivors')].map(number),
            number(t('Kept to the end')),
          ]}
        />
        <RovingBody>
          {rows.map((step) => (
            <Step
              key={step.from_moment}
              step={step}
              byTime={axis === 'time'}
              current={step.from_moment === from && step.to_moment === to}
              pick={() => steps.pick(step)}
            />
          ))}
        </RovingBody>
      </table>
      {left > 0 && (
        <button type="button" class="button secondary table-more" onClick={() => steps.more()}>
          {t('Show {0} more of {1}', count(Math.min(left, PAGE)), count(left))}
        </button>
      )}
    </>
  );
}

interface StepProps {
  readonly step: StepRow;
  readonly byTime: boolean;
  readonly current: boolean;
  readonly pick: () => void;
}

function Step({ step, byTime, current, pick }: StepProps): VNode {
  const amount = (size: number, many: number): string => t('{0} in {1}', bytes(size), count(many));
  return (
    <tr
      onClick={pick}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        pick();
      }}
      {...(current ? { 'aria-current': 'true' } : {})}
    >
      <td>
        <bdi>{shorten(said(step.name), 60)}</bdi>
      </td>
      <td class="number">
        {byTime && step.start_us !== null ? time(step.start_us) : t('event {0}', count(step.from_moment + 1))}
      </td>
      <SizeCell size={step.peak_bytes}>{bytes(step.peak_bytes)}</SizeCell>
      <SizeCell size={step.live_at_end_bytes}>{bytes(step.live_at_end_bytes)}</SizeCell>
      <td class="number">{amount(step.allocated_bytes, step.allocated_count)}</td>
      <SizeCell size={step.survivors_bytes}>{amount(step.survivors_bytes, step.survivors_count)}</SizeCell>
      <SizeCell size={step.kept_bytes}>{amount(step.kept_bytes, step.kept_count)}</SizeCell>
    </tr>
  );
}

function growthCaption({ ends, lines, rows, first_total_bytes, last_total_bytes }: GrowthAnswer): string {
  if (ends < 2) return t('What grows from step to step needs the ends of two steps.');
  if (rows.length === 0)
    return t('No line has more live at the end of the last step than at the end of the first.');
  const total = last_total_bytes - first_total_bytes;
  return plural(
    lines,
    'Live at the ends of steps: {0} line with more at the last than at the first; {1} in total. A click opens the line.',
    'Live at the ends of steps: {0} lines with more at the last than at the first; {1} in total. A click opens the line.',
    `${total >= 0 ? '+' : '−'}${bytes(Math.abs(total))}`,
  );
}

function GrowthTable({ steps }: { readonly steps: Steps }): VNode {
  const answer = steps.growth.value;
  return (
    <table class="growth-table">
      <caption>{answer && growthCaption(answer)}</caption>
      <TableHead
        columns={[
          t('Line of code'),
          ...[t('Grown'), t('A step'), t('At the end')].map(number),
          t('Step ends'),
        ]}
      />
      <RovingBody>
        {(answer?.rows ?? []).map((row, i) => (
          <Growth key={i} row={row} steps={steps} />
        ))}
      </RovingBody>
    </table>
  );
}

function trendText(trend: GrowthRow['trend']): string {
  switch (trend) {
    case 'every_step':
      return t('more after every step');
    case 'steady':
      return t('never less');
    case 'unsteady':
      return t('up and down');
  }
}

function Growth({ row, steps }: { readonly row: GrowthRow; readonly steps: Steps }): VNode {
  const { frame } = row;
  const words = frame ? sourceWords(frame) : '';
  return (
    <tr
      {...(steps.selected.value === row ? { 'aria-current': 'true' } : {})}
      onClick={(event) => steps.open(row, event.ctrlKey || event.metaKey)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') steps.open(row, event.ctrlKey || event.metaKey);
        else if (event.key === ' ') steps.highlight(row);
        else return;
        event.preventDefault();
      }}
    >
      <td class="wide">
        <bdi class="code">{frame ? shortName(frame.function, 60) : t('No stack')}</bdi>
        {hasSource(frame) && <bdi class="place">{shorten(`${fileName(frame.file)}:${frame.line}`, 60)}</bdi>}
        {words !== '' && <span class="badge">{words}</span>}
      </td>
      <SizeCell size={row.grown_bytes}>+{bytes(row.grown_bytes)}</SizeCell>
      <td class="number">{bytes(Math.round(row.slope_bytes))}</td>
      <SizeCell size={row.last_bytes}>
        {t('{0} in {1}', bytes(row.last_bytes), count(row.last_count))}
      </SizeCell>
      <td>
        <Sparkline points={row.points} />
        <span class="muted">{trendText(row.trend)}</span>
      </td>
    </tr>
  );
}
