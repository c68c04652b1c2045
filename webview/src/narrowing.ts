// What is left of a device by a filter: asked before anything is shown with it.

import type { DeviceInfo, FilterAnswer } from '../../extension/shared/protocol.gen';
import { RequestError, type Api, type Pending } from './api';
import type { FilterBox } from './ui/filter-box';

export class Narrowing {
  private pending: Pending<FilterAnswer> | null = null;

  constructor(
    private readonly api: Api,
    private readonly box: FilterBox,
  ) {}

  cancel(): void {
    this.pending?.cancel();
    this.pending = null;
  }

  /** Uses the latest answer only; what is wrong with the filter is said at its box. */
  ask(device: number, filter: string, use: (info: DeviceInfo) => void): void {
    this.cancel();
    const pending = this.api.request('memlens/filter', { device, filter });
    this.pending = pending;
    pending.answer.then(
      ({ info, of_allocations: every }) => {
        if (this.pending !== pending) return;
        this.pending = null;
        use(info);
        this.box.fits(info.allocations, every);
      },
      (error: unknown) => {
        if (this.pending !== pending) return;
        this.pending = null;
        const problem = error instanceof RequestError ? error.problem : null;
        if (problem?.code === 'cancelled') return;
        this.box.fails(problem ? `${problem.message}. ${problem.advice}`.trim() : String(error));
      },
    );
  }
}
