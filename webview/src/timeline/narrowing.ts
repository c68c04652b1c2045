// What is left of a device by a filter: asked before anything is shown with it.

import type { DeviceInfo } from '../../../extension/shared/protocol.gen';
import { RequestError, type Api } from '../api';
import { Latest } from '../base/latest';
import type { FilterBox } from '../shell/filter-box';

export class Narrowing {
  private readonly latest = new Latest();

  constructor(
    private readonly api: Api,
    private readonly box: FilterBox,
  ) {}

  cancel(): void {
    this.latest.cancel();
  }

  /** Uses the latest answer only; what is wrong with the filter is said at its box. */
  ask(device: number, filter: string, use: (info: DeviceInfo) => void): void {
    this.latest.ask(
      this.api.request('memlens/filter', { device, filter }),
      ({ info, of_allocations: every }) => {
        use(info);
        this.box.fits(info.allocations, every);
      },
      (error) => {
        const problem = error instanceof RequestError ? error.problem : null;
        this.box.fails(problem ? `${problem.message}. ${problem.advice}`.trim() : String(error));
      },
    );
  }
}
