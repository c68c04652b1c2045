// What is asked once for a device: the run in a strip, the largest allocations, the table's rows.

import type { AllocationSummary, LiveAnswer, OverviewAnswer } from '../../extension/shared/protocol.gen';
import type { Api, Pending } from './api';
import type { Names } from './scene/names';
import type { Axis } from './scene/state';
import { TABLE_PAGE, type TableMoment } from './ui/table';

export interface DeviceDataEvents {
  overview(answer: OverviewAnswer | null): void;
  largest(rows: readonly AllocationSummary[]): void;
  rows(answer: LiveAnswer, asked: TableMoment): void;
  rowsFailed(error: unknown): void;
  failed(error: unknown): void;
}

export class DeviceData {
  private overview: Pending<OverviewAnswer> | null = null;
  private live: Pending<LiveAnswer>[] = [];
  private device = -1;

  constructor(
    private readonly api: Api,
    private readonly names: Names,
    private readonly events: DeviceDataEvents,
  ) {}

  /** Another device: answers about the one before are of no use. */
  turnTo(device: number): void {
    for (const pending of this.live) pending.cancel();
    this.live = [];
    this.device = device;
    // Names for the bands that are large enough to carry one, and the panel's list.
    this.ask(null, 0).then(
      (answer) => {
        this.events.largest(answer.rows);
      },
      (error: unknown) => {
        this.events.failed(error);
      },
    );
  }

  fetchOverview(axis: Axis, columns: number): void {
    this.overview?.cancel();
    this.events.overview(null);
    this.overview = this.api.request('memlens/overview', { device: this.device, axis, columns });
    this.overview.answer.then(
      (answer) => {
        this.events.overview(answer);
      },
      (error: unknown) => {
        this.events.failed(error);
      },
    );
  }

  fetchRows(moment: TableMoment, offset: number): void {
    this.ask(moment, offset).then(
      (answer) => {
        this.events.rows(answer, moment);
      },
      (error: unknown) => {
        this.events.rowsFailed(error);
      },
    );
  }

  private async ask(moment: TableMoment, offset: number): Promise<LiveAnswer> {
    const params = { device: this.device, moment, offset, limit: TABLE_PAGE };
    const pending = this.api.request('memlens/live', params);
    this.live.push(pending);
    try {
      const answer = await pending.answer;
      this.names.learn(answer.rows);
      return answer;
    } finally {
      this.live = this.live.filter((each) => each !== pending);
    }
  }
}
