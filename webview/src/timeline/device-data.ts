// What is asked once for a device: the run in a strip, the largest allocations.

import type { LiveAnswer, OverviewAnswer } from '../../../extension/shared/protocol.gen';
import type { Api, Pending } from '../api';
import type { Names } from '../base/names';
import type { Axis } from '../shell/state';

/** As many of the largest allocations at the peak get their names at once. */
const NAMED = 200;

export interface DeviceDataEvents {
  overview(answer: OverviewAnswer | null): void;
  /** More allocations have names. */
  named(): void;
  failed(error: unknown): void;
  filter(): string;
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

  /** Another device or filter: answers about the one before are of no use. */
  turnTo(device: number): void {
    for (const pending of this.live) pending.cancel();
    this.live = [];
    this.device = device;
    // Names for the bands that are large enough to carry one.
    this.largest().then(
      () => {
        this.events.named();
      },
      (error: unknown) => {
        this.events.failed(error);
      },
    );
  }

  fetchOverview(axis: Axis, columns: number): void {
    this.overview?.cancel();
    this.events.overview(null);
    this.overview = this.api.request('memlens/overview', {
      device: this.device,
      axis,
      columns,
      filter: this.events.filter(),
    });
    this.overview.answer.then(
      (answer) => {
        this.events.overview(answer);
      },
      (error: unknown) => {
        this.events.failed(error);
      },
    );
  }

  private async largest(): Promise<LiveAnswer> {
    const filter = this.events.filter();
    const params = { device: this.device, moment: null, offset: 0, limit: NAMED, filter };
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
