// The run's steps, and what grows from step to step.

import type {
  GrowthAnswer,
  GrowthRow,
  StepRow,
  StepsAnswer,
} from '../../../../extension/shared/protocol.gen';
import type { Pending } from '../../api';
import type { ViewContext } from '../../shell/context';
import { element, replace, setText } from '../../widgets/dom';
import { bytes, count, counted, exactBytes, hasSource, sourceWords, time } from '../../base/format';
import { rovingRows } from '../../widgets/roving';
import { sparkline } from '../../widgets/sparkline';
import { fileName } from '../../base/paths';
import { shorten } from '../../base/text';
import type { Pane } from '../../shell/pane';

const PAGE = 200;
const MOST_LINES = 100;
const STEP_COLUMNS = ['Step', 'Start', 'Peak', 'At its end', 'Allocated', 'Survivors', 'Kept to the end'];
const GROWTH_COLUMNS = ['Line of code', 'Grown', 'A step', 'At the end', 'Step ends'];
const TRENDS: Record<GrowthRow['trend'], string> = {
  every_step: 'more after every step',
  steady: 'never less',
  unsteady: 'up and down',
};

export const stepsPane = (context: ViewContext): Pane => {
  const pane = new StepsPane(context);
  return {
    id: 'steps',
    title: 'Leaks',
    usesSet: false,
    root: pane.root,
    update: (changes) => {
      if (changes.has('device') || changes.has('filter')) pane.fetch();
      else if (changes.has('axis') || changes.has('cursors')) pane.mark();
    },
    dispose: () => {
      pane.cancel();
    },
  };
};

class StepsPane {
  private readonly how = element('p', { class: 'steps-how', role: 'status' });
  private readonly stepRows = element('tbody', {});
  private readonly growthRows = element('tbody', {});
  private readonly growthCaption = element('caption', {});
  private readonly stepCaption = element('caption', {});
  private readonly more = element('button', {
    class: 'button secondary table-more',
    type: 'button',
    hidden: true,
    on: {
      click: () => {
        this.fetchSteps(this.steps.length);
      },
    },
  });
  private readonly tables: HTMLElement;
  readonly root: HTMLElement;
  private steps: StepRow[] = [];
  private pending: Pending<unknown>[] = [];

  constructor(private readonly context: ViewContext) {
    this.tables = element(
      'div',
      { class: 'steps-tables' },
      element(
        'div',
        { class: 'table-scroll' },
        element(
          'table',
          { class: 'growth-table' },
          this.growthCaption,
          head(GROWTH_COLUMNS),
          this.growthRows,
        ),
      ),
      element(
        'div',
        { class: 'table-scroll' },
        element('table', { class: 'steps-table' }, this.stepCaption, head(STEP_COLUMNS), this.stepRows),
        this.more,
      ),
    );
    this.root = element('section', { class: 'table steps-pane' }, this.how, this.tables);
  }

  cancel(): void {
    for (const each of this.pending) each.cancel();
    this.pending = [];
  }

  fetch(): void {
    this.cancel();
    this.steps = [];
    replace(this.stepRows);
    replace(this.growthRows);
    setText(this.how, 'Looking for steps…');
    this.tables.hidden = true;
    this.fetchSteps(0);
    const { device, filter, api } = this.context;
    const growth = api.request('memlens/growth', { device: device.device, limit: MOST_LINES, filter });
    this.pending.push(growth);
    growth.answer.then(
      (answer) => {
        this.showGrowth(answer);
      },
      (error: unknown) => {
        this.context.failed(error);
      },
    );
  }

  /** The step between the cursors, if they stand at one's ends. */
  mark(): void {
    const { first, second, scope } = this.context.cursors;
    const ends = [first?.moment, second?.moment].sort((a, b) => (a ?? 0) - (b ?? 0));
    for (const [at, row] of [...this.stepRows.rows].entries()) {
      const step = this.steps[at];
      const here = scope === 'between' && step?.from_moment === ends[0] && step?.to_moment === ends[1];
      if (here) row.setAttribute('aria-current', 'true');
      else row.removeAttribute('aria-current');
    }
  }

  private fetchSteps(offset: number): void {
    const { device, filter, api } = this.context;
    const pending = api.request('memlens/steps', { device: device.device, offset, limit: PAGE, filter });
    this.pending.push(pending);
    pending.answer.then(
      (answer) => {
        this.showSteps(answer);
      },
      (error: unknown) => {
        setText(this.how, error instanceof Error ? error.message : String(error));
      },
    );
  }

  private showSteps(answer: StepsAnswer): void {
    if (answer.offset !== this.steps.length) return;
    this.steps.push(...answer.rows);
    setText(this.how, answer.how);
    this.how.classList.toggle('inferred', answer.inferred);
    this.tables.hidden = answer.count === 0;
    for (const step of answer.rows) this.stepRows.append(this.stepRow(step));
    const left = answer.count - this.steps.length;
    this.more.hidden = left <= 0;
    setText(this.more, `Show ${count(Math.min(left, PAGE))} more of ${count(left)}`);
    setText(
      this.stepCaption,
      `${counted(answer.count, 'step')}${answer.inferred ? ', inferred' : ''}. A click sets the cursors to a step.`,
    );
    rovingRows(this.stepRows);
    this.mark();
  }

  private stepRow(step: StepRow): HTMLTableRowElement {
    const start =
      this.context.axis === 'time' && step.start_us !== null
        ? time(step.start_us)
        : `event ${count(step.from_moment + 1)}`;
    const survivors = `${bytes(step.survivors_bytes)} in ${count(step.survivors_count)}`;
    const kept = `${bytes(step.kept_bytes)} in ${count(step.kept_count)}`;
    const pick = (): void => {
      this.context.cursors.span(step.from_moment, step.to_moment);
      this.context.say(
        `${step.name}: peak ${bytes(step.peak_bytes)}, ${survivors} of what it allocated survive it`,
      );
    };
    return element(
      'tr',
      { on: { click: pick, keydown: onEnter(pick) } },
      element('td', {}, element('bdi', {}, shorten(step.name, 60))),
      element('td', { class: 'number' }, start),
      element('td', { class: 'number', title: exactBytes(step.peak_bytes) }, bytes(step.peak_bytes)),
      element(
        'td',
        { class: 'number', title: exactBytes(step.live_at_end_bytes) },
        bytes(step.live_at_end_bytes),
      ),
      element('td', { class: 'number' }, `${bytes(step.allocated_bytes)} in ${count(step.allocated_count)}`),
      element('td', { class: 'number', title: exactBytes(step.survivors_bytes) }, survivors),
      element('td', { class: 'number', title: exactBytes(step.kept_bytes) }, kept),
    );
  }

  private showGrowth(answer: GrowthAnswer): void {
    replace(this.growthRows, ...answer.rows.map((row) => this.growthRow(row)));
    const total = answer.last_total_bytes - answer.first_total_bytes;
    setText(
      this.growthCaption,
      answer.rows.length === 0
        ? 'No line has more live at the end of the last step than at the end of the first.'
        : `Live at the ends of steps: ${counted(answer.lines, 'line')} with more at the last than at the first; ` +
            `in all ${total >= 0 ? '+' : '−'}${bytes(Math.abs(total))}. A click opens the line.`,
    );
    rovingRows(this.growthRows);
  }

  private growthRow(row: GrowthRow): HTMLTableRowElement {
    const { frame } = row;
    const light = (): void => {
      this.context.lightStacks(new Set(row.stacks));
    };
    const open = (beside: boolean): void => {
      light();
      if (hasSource(frame)) this.context.openFrame(frame, beside);
      else this.context.say('The file has no Python frame for these allocations.');
    };
    const words = frame ? sourceWords(frame) : '';
    return element(
      'tr',
      {
        on: {
          click: (event) => {
            open(event.ctrlKey || event.metaKey);
          },
          keydown: (event) => {
            if (event.key === 'Enter') open(event.ctrlKey || event.metaKey);
            else if (event.key === ' ') light();
            else return;
            event.preventDefault();
          },
        },
      },
      element(
        'td',
        { class: 'wide' },
        element('bdi', { class: 'code' }, frame ? shorten(frame.function, 60) : 'No stack'),
        hasSource(frame) &&
          element('bdi', { class: 'place' }, shorten(`${fileName(frame.file)}:${frame.line}`, 60)),
        words !== '' && element('span', { class: 'badge' }, words),
      ),
      element('td', { class: 'number', title: exactBytes(row.grown_bytes) }, `+${bytes(row.grown_bytes)}`),
      element('td', { class: 'number' }, bytes(Math.round(row.slope_bytes))),
      element(
        'td',
        { class: 'number', title: exactBytes(row.last_bytes) },
        `${bytes(row.last_bytes)} in ${count(row.last_count)}`,
      ),
      element('td', {}, sparkline(row.points), element('span', { class: 'muted' }, TRENDS[row.trend])),
    );
  }
}

function head(names: readonly string[]): HTMLElement {
  return element(
    'thead',
    {},
    element('tr', {}, ...names.map((name) => element('th', { attributes: { scope: 'col' } }, name))),
  );
}

function onEnter(act: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    act();
  };
}
