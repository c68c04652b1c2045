// The moments that the user picked, and which allocations they mean.

import type { AllocationSet, MomentAnswer } from '../../../extension/shared/protocol.gen';
import { signal } from '@preact/signals';
import { Latest } from '../base/latest';
import type { Axis } from '../base/devices';
import type { PickedMoment } from '../canvas/marks';
import { time } from '../base/format';
import { count, t } from '../base/l10n';
import type { ShownTrace } from './shown-trace';

export type Scope = 'peak' | 'cursor' | 'between';
export type SetKind = AllocationSet['kind'];

export interface CursorState {
  readonly scope: Scope;
  readonly kind: SetKind;
  readonly first: number | null;
  readonly second: number | null;
}

type Moment = Pick<MomentAnswer, 'moment' | 'time_us'>;

interface Picked {
  readonly scope: Scope;
  readonly kind: SetKind;
  readonly first: MomentAnswer | null;
  readonly second: MomentAnswer | null;
}

export class Cursors {
  private readonly picked = signal<Picked>({ scope: 'peak', kind: 'live', first: null, second: null });
  private device = 0;
  private readonly latest = new Latest();
  /** Where a cursor is about to be. */
  private wanted: number | null = null;

  constructor(private readonly view: Pick<ShownTrace, 'api' | 'filterAsIf' | 'failed'>) {}

  /** What is picked; another object when it is another. */
  get now(): Picked {
    return this.picked.value;
  }

  get scope(): Scope {
    return this.now.scope;
  }

  get kind(): SetKind {
    return this.now.kind;
  }

  get first(): MomentAnswer | null {
    return this.now.first;
  }

  get second(): MomentAnswer | null {
    return this.now.second;
  }

  /** The moment that the panes answer for, or will as soon as it is known; null for the peak. */
  get moment(): number | null {
    if (this.wanted !== null) return this.wanted;
    return this.scope === 'peak' ? null : (this.first?.moment ?? null);
  }

  get state(): CursorState {
    const { scope, kind } = this;
    return { scope, kind, first: this.first?.moment ?? null, second: this.second?.moment ?? null };
  }

  /** Another device: its moments are others. */
  turnTo(device: number, restored: CursorState | null): void {
    this.latest.cancel();
    this.wanted = null;
    this.device = device;
    this.pick({ first: null, second: null, scope: 'peak', kind: restored?.kind ?? this.kind });
    const { scope = 'peak', first = null, second = null } = restored ?? {};
    if (first === null) return;
    this.find(first, (answer) => {
      this.pick({ first: answer, scope: scope === 'peak' ? 'peak' : 'cursor' });
      if (second !== null) this.find(second, (other) => this.pick({ second: other, scope }));
    });
  }

  /** Puts the cursor at a moment, which is what the panes then answer for; a second one goes. */
  place(moment: number): void {
    this.find(moment, (first) => this.pick({ first, second: null, scope: 'cursor' }));
  }

  /** From the cursor to another moment. */
  extendTo(moment: number): void {
    if (this.first) this.find(moment, (second) => this.pick({ second, scope: 'between' }));
    else this.place(moment);
  }

  /** Both cursors at once. */
  span(first: number, second: number, kind: SetKind = this.kind): void {
    this.find(first, (answer) => {
      this.pick({ first: answer, kind });
      this.extendTo(second);
    });
  }

  /** By so many events; with `extend` the second cursor. */
  step(by: number, extend: boolean): void {
    const from = extend ? (this.second ?? this.first) : this.first;
    if (from === null) return;
    if (extend) this.extendTo(from.moment + by);
    else
      this.find(from.moment + by, (first) =>
        this.pick({ first, scope: this.scope === 'peak' ? 'cursor' : this.scope }),
      );
  }

  setScope(scope: Scope): void {
    if (scope === 'cursor' && !this.first) return;
    if (scope === 'between' && !this.second) return;
    this.pick({ scope });
  }

  setKind(kind: SetKind): void {
    this.pick({ kind });
  }

  /** False when there was no cursor. */
  clear(): boolean {
    this.latest.cancel();
    this.wanted = null;
    const had = this.first !== null;
    if (had) this.pick({ first: null, second: null, scope: 'peak' });
    return had;
  }

  set(filter: string): AllocationSet {
    const { device, kind, scope } = this;
    const first = this.first?.moment ?? null;
    const second = this.second?.moment ?? null;
    if (scope === 'between' && first !== null && second !== null)
      return {
        device,
        kind,
        from_moment: Math.min(first, second),
        to_moment: Math.max(first, second),
        filter,
        value: null,
      };
    return {
      device,
      kind: 'live',
      from_moment: scope === 'peak' ? null : first,
      to_moment: null,
      filter,
      value: null,
    };
  }

  /** Where the cursors stand on an axis, which begins at `start`, and their names. */
  marks(axis: Axis, start: number): PickedMoment[] {
    return [this.first, this.second].flatMap((moment) =>
      moment ? [{ x: momentX(moment, axis, start), text: momentName(moment, axis) }] : [],
    );
  }

  name(axis: Axis): string {
    const { scope, first, second } = this;
    if (scope === 'between' && first && second) {
      const [from, to] = first.moment <= second.moment ? [first, second] : [second, first];
      return between(this.kind, momentName(from, axis), momentName(to, axis));
    }
    if (scope === 'cursor' && first) return t('at {0}', momentName(first, axis));
    return t('at the peak');
  }

  private pick(part: Partial<Picked>): void {
    this.picked.value = { ...this.picked.peek(), ...part };
  }

  private find(moment: number, use: (answer: MomentAnswer) => void): void {
    const { device, view } = this;
    this.wanted = moment;
    this.latest.ask(
      view.api.request('memlens/moment', { device, moment, filter: view.filterAsIf }),
      (answer) => {
        this.wanted = null;
        use(answer);
      },
      (error) => {
        this.wanted = null;
        view.failed(error);
      },
    );
  }
}

function between(kind: SetKind, from: string, to: string): string {
  switch (kind) {
    case 'live':
      return t('live at any moment between {0} and {1}', from, to);
    case 'allocated':
      return t('allocated between {0} and {1}', from, to);
    case 'freed':
      return t('freed between {0} and {1}', from, to);
    case 'survived':
      return t('allocated between {0} and {1} and still live at its end', from, to);
  }
}

/** "1.204 s" on the time axis, "event 1,204" on the other. */
export function momentName(moment: Moment, axis: Axis): string {
  return axis === 'time' && moment.time_us !== null
    ? time(moment.time_us)
    : t('event {0}', count(moment.moment));
}

/** Where a moment begins on an axis; `start` is the axis' own. */
export function momentX(moment: Moment, axis: Axis, start: number): number {
  return axis === 'event' ? moment.moment : (moment.time_us ?? start);
}
