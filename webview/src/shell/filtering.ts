// The filter of a view: which one holds, and what is said of the one that is asked about. It is asked about before anything
// is shown with it: what is wrong with it is said beside it, and nothing else goes.

import { signal } from '@preact/signals';
import { count, t } from '../base/l10n';
import { Latest } from '../base/latest';
import { RequestError, sentencesOf, type Pending } from '../base/request';
import { shorten } from '../base/text';

const LONGEST_ERROR = 2000;

/** How many of all there are match, and that in a sentence. */
interface Matches {
  readonly text: string;
  readonly title: string;
}

export class Filtering {
  /** What narrows every view; empty for all. */
  readonly held = signal('');
  /** The filter that holds or is being asked about; another object each time it is to be written in the box. */
  readonly written = signal({ text: '' });
  readonly badge = signal<Matches | null>(null);
  readonly error = signal('');
  private readonly latest = new Latest();
  private waiting: Matches | null = null;

  constructor(private readonly failed: (error: unknown) => void) {}

  /** Writes it in the box; one that is being asked about is given up. */
  write(text: string): void {
    this.latest.cancel();
    this.written.value = { text };
    this.error.value = '';
    if (text === '') this.badge.value = null;
  }

  /** Uses the latest answer only. */
  ask<T>(asked: Pending<T>, use: (answer: T) => void, failed: (error: unknown) => void = this.refused): void {
    this.latest.ask(asked, use, failed);
  }

  private readonly refused = (error: unknown): void => {
    if (!(error instanceof RequestError)) {
      this.failed(error);
      return;
    }
    if (this.badge.value === this.waiting) this.badge.value = null;
    this.error.value = shorten(sentencesOf(error), LONGEST_ERROR);
  };

  /** Says what would match, where nothing does: the server answers with that as an error. */
  explain(asked: Pending<unknown>): void {
    this.ask(asked, () => undefined);
  }

  fits(some: number, every: number, what: 'allocations' | 'objects' = 'allocations'): void {
    this.badge.value = {
      text: t('{0} of {1}', count(some), count(every)),
      title:
        what === 'objects'
          ? t('{0} of {1} objects match the filter', count(some), count(every))
          : t('{0} of {1} allocations match the filter', count(some), count(every)),
    };
  }

  /** How much of a profile's value fits. */
  leaves(some: string, every: string): void {
    this.badge.value = {
      text: t('{0} of {1}', some, every),
      title: t('{0} of {1} match the filter', some, every),
    };
  }

  /** The button beside it gives up. */
  waits(): void {
    this.badge.value = { text: '…', title: t('Looking for what matches the filter; Escape cancels') };
    this.waiting = this.badge.value;
  }
}
