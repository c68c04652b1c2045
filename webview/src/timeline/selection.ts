// What is selected or highlighted, and the ways from one allocation to the next.

import { t } from '../base/l10n';
import type {
  AllocationSummary,
  Branch,
  LineAnswer,
  LocateAnswer,
  StackAnswer,
  StepParams,
} from '../../../extension/shared/protocol.gen';
import { signal } from '@preact/signals';
import type { ShownTrace } from './shown-trace';
import { RequestError, type Pending } from '../base/request';
import { Questions } from '../base/latest';
import type { Plot } from './plot';
import { fitBox, type Camera } from '../canvas/camera';
import { highestColumn } from './scene/columns';
import type { Highlight } from './scene/paint';

export type Step = StepParams['direction'];

/** What to do once an allocation is known. */
type Then = ((allocation: AllocationSummary) => void) | null;

/** What is to be said of what is selected. */
export type Selected =
  | { readonly is: 'nothing' }
  | { readonly is: 'waiting'; readonly sizeBytes: number | null }
  | { readonly is: 'problem'; readonly message: string; readonly advice: string }
  /** `isAgain`: it is the same as before, its figures are others. */
  | { readonly is: 'stack'; readonly answer: StackAnswer; readonly isAgain: boolean }
  | { readonly is: 'line'; readonly answer: LineAnswer; readonly isAgain: boolean };

/** What of its view it knows and changes. */
type SelectionView = ShownTrace & { readonly plot: Plot; switchDevice(device: number): void };

export class Selection {
  /** Another object each time that something else is selected or highlighted. */
  readonly shown = signal<Selected>({ is: 'nothing' });
  /** The selected allocation. */
  current: number | null = null;
  answer: StackAnswer | null = null;
  line: LineAnswer | null = null;
  category: number | null = null;
  /** The moment at which its neighbours are looked for. */
  private moment: number | null = null;
  private readonly questions = new Questions((error) => {
    const problem = error instanceof RequestError ? error.problem : null;
    const message = problem?.message ?? String(error);
    this.shown.value = { is: 'problem', message, advice: problem?.advice ?? '' };
    this.context.say(message);
  });

  constructor(private readonly context: SelectionView) {}

  /** `moment`: where it was picked; null when that is not known. `reveal` brings it into the view. */
  select(allocation: number, moment: number | null, reveal: boolean, then: Then = null): void {
    this.questions.cancel();
    const { plot, names } = this.context;
    this.current = allocation;
    this.answer = null;
    this.line = null;
    this.category = null;
    this.moment = moment;
    // What the picture knows is shown at once.
    const g = plot.geometry;
    const band = g ? g.allocation.indexOf(allocation) : -1;
    const known = names.allocation(allocation);
    const stack = known?.stack ?? (band >= 0 ? g?.stack[band] : undefined);
    plot.setSelection({ allocation, life: known ? this.life(known) : null });
    plot.setHighlight(stack === undefined ? { kind: 'none' } : { kind: 'stacks', stacks: new Set([stack]) });
    const sizeBytes = known?.size_bytes ?? (band >= 0 ? (g?.size[band] ?? null) : null);
    this.shown.value = { is: 'waiting', sizeBytes };
    this.questions.ask(this.askStack(allocation), (answer) => {
      this.show(answer, reveal);
      then?.(answer.allocation);
    });
  }

  /** Selects what lies at a moment and a height, where the picture merges what is there. */
  selectAt(moment: number, yBytes: number, then: Then = null): void {
    const params = {
      device: this.context.device.device,
      moment,
      y_bytes: yBytes,
      filter: this.context.filterAsIf,
      areas: this.context.plot.grouped,
    };
    this.questions.ask(this.context.api.request('memlens/hit', params), (answer) => {
      if (!answer.allocation) return;
      this.context.names.learn([answer.allocation]);
      this.select(answer.allocation.allocation, moment, false, then);
    });
  }

  /** The picture is another one, of the same axis: what is selected is marked in it. */
  markAgain(): void {
    const { current, answer } = this;
    if (current === null) return;
    this.context.plot.setSelection({
      allocation: current,
      life: answer ? this.life(answer.allocation) : null,
    });
  }

  clear(): boolean {
    return this.setHighlight({ kind: 'none' });
  }

  highlightCategory(category: number | null): void {
    this.setHighlight(category === null ? { kind: 'none' } : { kind: 'category', category }, category);
  }

  /** Lights up an area of the picture by its key; null for none. */
  highlightArea(key: number | null): void {
    this.setHighlight(key === null ? { kind: 'none' } : { kind: 'area', key });
  }

  highlightStacks(stacks: ReadonlySet<number>): void {
    this.setHighlight(stacks.size > 0 ? { kind: 'stacks', stacks } : { kind: 'none' });
  }

  /** Lights up exactly the allocations of a branch of the live set's tree. */
  highlightGroup(branch: Branch): void {
    this.setHighlight({ kind: 'group', branch });
  }

  /** Nothing is selected, something may be highlighted; false when nothing was selected before either. */
  private setHighlight(highlight: Highlight, category: number | null = null): boolean {
    const had = this.current !== null || this.line !== null || this.context.plot.highlighted.kind !== 'none';
    this.questions.cancel();
    this.current = null;
    this.answer = null;
    this.line = null;
    this.category = category;
    this.moment = null;
    this.context.plot.setSelection(null);
    this.context.plot.setHighlight(highlight);
    this.shown.value = { is: 'nothing' };
    return had;
  }

  showLine(file: string, line: number): void {
    this.clear();
    this.questions.ask(this.askLine(file, line), (answer) => {
      this.useLine(answer);
      this.shown.value = { is: 'line', answer, isAgain: false };
    });
  }

  /** The filter is another one: the figures of what is selected are those of what matches it. */
  refresh(): void {
    this.markAgain();
    const { current, line } = this;
    if (current !== null) {
      this.questions.ask(this.askStack(current), (answer) => {
        if (this.current !== current) return;
        this.answer = answer;
        this.shown.value = { is: 'stack', answer, isAgain: true };
      });
    } else if (line) {
      this.questions.ask(this.askLine(line.file, line.line), (answer) => {
        if (this.line !== line) return;
        this.useLine(answer);
        this.shown.value = { is: 'line', answer, isAgain: true };
      });
    }
  }

  private useLine(answer: LineAnswer): void {
    this.line = answer;
    const highlight: Highlight = { kind: 'stacks', stacks: new Set(answer.stacks) };
    this.context.plot.setHighlight(answer.stacks.length > 0 ? highlight : { kind: 'none' });
  }

  private askStack(allocation: number): Pending<StackAnswer> {
    return this.context.api.request('memlens/stack', { allocation, filter: this.context.filterAsIf });
  }

  private askLine(file: string, line: number): Pending<LineAnswer> {
    const { context } = this;
    const of = { device: context.device.device, filter: context.filterAsIf };
    return context.api.request('memlens/line', { file, line, ...of });
  }

  step(direction: Step): void {
    const { current } = this;
    if (current === null) {
      this.selectLargest();
      return;
    }
    const moment = this.moment ?? this.answer?.allocation.start_moment ?? 0;
    this.questions.ask(
      this.context.api.request('memlens/step', {
        allocation: current,
        moment,
        direction,
        filter: this.context.filterAsIf,
        areas: this.context.plot.grouped,
      }),
      (answer) => {
        if (!answer.allocation) {
          this.context.say(END[direction]);
          return;
        }
        this.context.names.learn([answer.allocation]);
        const stays = direction !== 'previous_same_stack' && direction !== 'next_same_stack';
        this.select(answer.allocation.allocation, stays ? moment : null, true);
      },
    );
  }

  /** The largest allocation at the highest moment in view: a way in for the keyboard. */
  selectLargest(): void {
    const { plot, api } = this.context;
    const moment = highestMoment(plot);
    this.questions.ask(
      api.request('memlens/live', {
        device: this.context.device.device,
        moment,
        offset: 0,
        limit: 1,
        filter: this.context.filterAsIf,
      }),
      (answer) => {
        const [largest] = answer.rows;
        if (largest) this.select(largest.allocation, answer.moment, true);
        else this.context.say(t('Nothing is live here.'));
      },
    );
  }

  /** Zooms to an allocation's whole life. */
  zoomTo(allocation: number | null = this.current): void {
    if (allocation === null) return;
    this.locate(allocation, this.moment, (box) => {
      const { plot } = this.context;
      plot.moveTo(fitBox(box, plot.bounds), true);
    });
  }

  private show(answer: StackAnswer, reveal: boolean): void {
    const { allocation } = answer;
    const { plot, names } = this.context;
    names.learn([allocation]);
    this.answer = answer;
    if (allocation.device !== this.context.device.device) {
      this.context.switchDevice(allocation.device);
      this.current = allocation.allocation;
      this.answer = answer;
    }
    plot.setSelection({ allocation: allocation.allocation, life: this.life(allocation) });
    plot.setHighlight({ kind: 'stacks', stacks: new Set([allocation.stack]) });
    this.shown.value = { is: 'stack', answer, isAgain: false };
    if (reveal || this.moment === null) {
      this.locate(allocation.allocation, this.moment, (box) => {
        this.moment ??= box.moment;
        if (reveal) this.bringIntoView(box);
      });
    }
  }

  private bringIntoView(box: Camera): void {
    const { plot } = this.context;
    const view = plot.target;
    const x = shift(view.x0, view.x1, box.x0, box.x1);
    const y = shift(view.y0, view.y1, box.y0, box.y1);
    if (x === 0 && y === 0) return;
    plot.moveTo({ x0: view.x0 + x, x1: view.x1 + x, y0: view.y0 + y, y1: view.y1 + y }, true);
  }

  private locate(allocation: number, moment: number | null, use: (box: LocateAnswer) => void): void {
    const axis = this.context.axis;
    const filter = this.context.filterAsIf;
    const areas = this.context.plot.grouped;
    this.questions.ask(
      this.context.api.request('memlens/locate', { allocation, axis, moment, filter, areas }),
      use,
    );
  }

  private life(a: AllocationSummary): { x0: number; x1: number } | null {
    const { bounds } = this.context.plot;
    if (this.context.axis === 'event') return { x0: a.start_moment, x1: a.end_moment ?? bounds.x1 };
    return { x0: a.start_time_us ?? bounds.x0, x1: a.end_time_us ?? bounds.x1 };
  }
}

const END: Record<Step, string> = {
  older: t('This is the lowest allocation at this moment.'),
  younger: t('This is the highest allocation at this moment.'),
  lower: t('Nothing lies at a lower address at this moment.'),
  higher: t('Nothing lies at a higher address at this moment.'),
  previous_same_stack: t('This is the first allocation of this stack.'),
  next_same_stack: t('This is the last allocation of this stack.'),
};

/** How far to move so that a range is seen: nothing if any good part of it is in view. */
function shift(from: number, to: number, a: number, b: number): number {
  const span = to - from;
  const seen = Math.min(to, b) - Math.max(from, a);
  if (seen >= Math.min(b - a, span / 8) * 0.999) return 0;
  // To the middle where it fits, else so that its start is near the left (or lower) end.
  return b - a < span ? (a + b) / 2 - (from + to) / 2 : a - span * 0.1 - from;
}

function highestMoment(plot: Plot): number | null {
  const g = plot.geometry;
  const column = g && highestColumn(g, plot.camera);
  return column === null ? null : (g?.moment[column] ?? null);
}
