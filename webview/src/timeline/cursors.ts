// The moments that the user picked, and which allocations they mean.

import type { AllocationSet, MomentAnswer } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { Latest } from '../base/latest';
import type { Axis } from '../base/devices';
import type { PickedMoment } from '../canvas/marks';
import { time } from '../base/format';
import { count, t } from '../base/l10n';

export type Scope = 'peak' | 'cursor' | 'between';
export type SetKind = AllocationSet['kind'];

export interface CursorState {
  readonly scope: Scope;
  readonly kind: SetKind;
  readonly first: number | null;
  readonly second: number | null;
}

type Moment = Pick<MomentAnswer, 'moment' | 'time_us'>;

export interface CursorEvents {
  changed(): void;
  failed(error: unknown): void;
  /** What narrows every view; empty for all. */
  filter(): string;
}

export class Cursors {
  scope: Scope = 'peak';
  kind: SetKind = 'live';
  first: MomentAnswer | null = null;
  second: MomentAnswer | null = null;
  private device = 0;
  private readonly latest = new Latest();
  /** Where a cursor is about to be. */
  private wanted: number | null = null;

  constructor(
    private readonly api: Api,
    private readonly events: CursorEvents,
  ) {}

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
    this.first = null;
    this.second = null;
    this.scope = 'peak';
    if (!restored) return;
    this.kind = restored.kind;
    const { scope, first, second } = restored;
    if (first === null) return;
    this.find(first, (answer) => {
      this.first = answer;
      if (scope !== 'peak') this.scope = 'cursor';
      if (second === null) return;
      this.find(second, (other) => {
        this.second = other;
        this.scope = scope;
      });
    });
  }

  /** Puts the cursor at a moment, which is what the panes then answer for; a second one goes. */
  place(moment: number): void {
    this.find(moment, (answer) => {
      this.first = answer;
      this.second = null;
      this.scope = 'cursor';
    });
  }

  /** From the cursor to another moment. */
  extendTo(moment: number): void {
    if (!this.first) {
      this.place(moment);
      return;
    }
    this.find(moment, (answer) => {
      this.second = answer;
      this.scope = 'between';
    });
  }

  /** Both cursors at once. */
  span(first: number, second: number, kind: SetKind = this.kind): void {
    this.kind = kind;
    this.find(first, (answer) => {
      this.first = answer;
      this.extendTo(second);
    });
  }

  /** By so many events; with `extend` the second cursor. */
  step(by: number, extend: boolean): void {
    const from = extend ? (this.second ?? this.first) : this.first;
    if (from === null) return;
    if (extend) this.extendTo(from.moment + by);
    else
      this.find(from.moment + by, (answer) => {
        this.first = answer;
        if (this.scope === 'peak') this.scope = 'cursor';
      });
  }

  setScope(scope: Scope): void {
    if (scope === 'cursor' && !this.first) return;
    if (scope === 'between' && !this.second) return;
    this.scope = scope;
    this.events.changed();
  }

  setKind(kind: SetKind): void {
    this.kind = kind;
    this.events.changed();
  }

  /** False when there was no cursor. */
  clear(): boolean {
    this.latest.cancel();
    this.wanted = null;
    const had = this.first !== null;
    this.first = null;
    this.second = null;
    this.scope = 'peak';
    if (had) this.events.changed();
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
      ...{ device, kind: 'live', from_moment: scope === 'peak' ? null : first, to_moment: null },
      ...{ filter, value: null },
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

  private find(moment: number, use: (answer: MomentAnswer) => void): void {
    const { device } = this;
    this.wanted = moment;
    this.latest.ask(
      this.api.request('memlens/moment', { device, moment, filter: this.events.filter() }),
      (answer) => {
        this.wanted = null;
        use(answer);
        this.events.changed();
      },
      (error) => {
        this.wanted = null;
        this.events.failed(error);
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
