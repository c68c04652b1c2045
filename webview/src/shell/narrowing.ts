// A filter is asked about before anything is shown with it: what is wrong with it is said beside it, and nothing else goes.

import { RequestError, sentencesOf, type Pending } from '../base/request';
import { Latest } from '../base/latest';
import type { FilterBox } from './filter-box';

export class Narrowing {
  private readonly latest = new Latest();

  constructor(private readonly failed: (error: unknown) => void) {}

  /** Says beside the box what would match, where nothing does: the server answers with that as an error. */
  explain(box: FilterBox, asked: Pending<unknown>): void {
    this.ask(box, asked, () => undefined);
  }

  cancel(): void {
    this.latest.cancel();
  }

  /** Uses the latest answer only. */
  ask<T>(box: FilterBox, asked: Pending<T>, use: (answer: T) => void): void {
    this.latest.ask(asked, use, (error) => {
      if (!(error instanceof RequestError)) {
        this.failed(error);
        return;
      }
      box.fails(sentencesOf(error));
    });
  }
}
