// What is asked once for a device: the run in a strip, the largest allocations.

import type { OverviewAnswer } from '../../../extension/shared/protocol.gen';
import type { Api } from '../api';
import { Latest } from '../base/latest';
import type { Names } from '../base/names';
import type { Axis } from '../base/devices';

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
  private readonly overview = new Latest();
  private readonly live = new Latest();
  private device = -1;

  constructor(
    private readonly api: Api,
    private readonly names: Names,
    private readonly events: DeviceDataEvents,
  ) {}

  /** Another device or filter: answers about the one before are of no use. */
  turnTo(device: number): void {
    this.device = device;
    // Names for the bands that are large enough to carry one.
    const params = { device, moment: null, offset: 0, limit: NAMED, filter: this.events.filter() };
    this.live.ask(
      this.api.request('memlens/live', params),
      ({ rows }) => {
        this.names.learn(rows);
        this.events.named();
      },
      this.failed,
    );
  }

  fetchOverview(axis: Axis, columns: number): void {
    this.events.overview(null);
    const params = { device: this.device, axis, columns, filter: this.events.filter() };
    this.overview.ask(
      this.api.request('memlens/overview', params),
      (answer) => this.events.overview(answer),
      this.failed,
    );
  }

  private readonly failed = (error: unknown): void => this.events.failed(error);
}
