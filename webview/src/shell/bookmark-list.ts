// A snapshot's bookmarks: what the user keeps of it, each with a note.

import { signal, type ReadonlySignal } from '@preact/signals';
import type { BookmarkPlace } from '../../../extension/shared/messages';
import type { Api } from '../api';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import type { Pending } from '../base/request';

export interface Noted {
  readonly bookmark: number;
  readonly note: string;
}

export class BookmarkList<T extends Noted> {
  private readonly listSignal = signal<readonly T[]>([]);
  private readonly asking = new Latest();

  constructor(
    private readonly api: Pick<Api, 'post'>,
    private readonly ask: () => Pending<{ readonly bookmarks: readonly T[] }>,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** All of them, in the server's order. */
  get list(): ReadonlySignal<readonly T[]> {
    return this.listSignal;
  }

  /** They may have changed. */
  renew(): void {
    this.asking.ask(
      this.ask(),
      ({ bookmarks }) => {
        this.listSignal.value = bookmarks;
      },
      this.failed,
    );
  }

  /** Lets the user write a note for a place, which is `at` in words; one that has a bookmark keeps that. */
  protected keep(place: BookmarkPlace, there: T | undefined, at: string): void {
    if (there) this.rename(there, at);
    else this.api.post({ type: 'bookmark', change: { is: 'add', title: sentence(at), place } });
  }

  rename({ bookmark, note }: T, at: string): void {
    this.api.post({ type: 'bookmark', change: { is: 'rename', title: sentence(at), bookmark, note } });
  }

  delete({ bookmark }: T): void {
    this.api.post({ type: 'bookmark', change: { is: 'delete', bookmark } });
  }

  /** Lets the user save them as JSON, as `memlens bookmarks --json` has them. */
  export(): void {
    const bookmarks = this.list.value.map((each) => this.inJson(each));
    const text = `${JSON.stringify({ bookmarks }, null, 2)}\n`;
    this.api.post({ type: 'saveText', form: 'bookmarks', text });
  }

  /** Its texts are the English ones there. */
  protected inJson(one: T): unknown {
    return one;
  }
}

function sentence(at: string): string {
  return t('A note for {0}', at);
}
