// What is asked once for a device: the run in a strip, the largest allocations.

import { Latest } from '../base/latest';
import type { Minimap } from './minimap';
import type { TimelineSession } from './session';

/** As many of the largest allocations at the peak get their names at once. */
const NAMED = 200;

export class DeviceData {
  private readonly overview = new Latest();
  private readonly live = new Latest();

  constructor(
    private readonly session: TimelineSession,
    private readonly minimap: Minimap,
  ) {}

  /** Another device or filter: answers about the one before are of no use. */
  turnTo(): void {
    const { api, names, plot, device, filterAsIf: filter } = this.session;
    // Names for the bands that are large enough to carry one.
    const params = { device: device.device, moment: null, offset: 0, limit: NAMED, filter };
    this.live.ask(
      api.request('memlens/live', params),
      ({ rows }) => {
        names.learn(rows);
        plot.renamed();
      },
      this.failed,
    );
  }

  fetchOverview(): void {
    const { minimap } = this;
    const { api, device, axis, filterAsIf: filter } = this.session;
    minimap.setOverview(null);
    if (device.events === 0) return;
    const params = { device: device.device, axis, columns: minimap.columns, filter };
    this.overview.ask(
      api.request('memlens/overview', params),
      (answer) => minimap.setOverview(answer),
      this.failed,
    );
  }

  private readonly failed = (error: unknown): void => this.session.failed(error);
}
