// The tables that queries read, which are made before the first query.

import { signal } from '@preact/signals';
import type { Api } from '../api';
import { t } from '../base/l10n';
import { Latest } from '../base/latest';
import { Polling } from '../base/polling';
import { messageOf } from '../base/text';

const POLL_MS = 200;

/** How far their making is, from 0 to 1, or why they aren't made. */
export type Filling = { readonly fraction: number } | { readonly why: string };

export class Tables {
  /** Null while there is nothing to say. */
  readonly filling = signal<Filling | null>(null);
  private readonly fill = new Latest();
  private readonly watch = new Polling(
    POLL_MS,
    () => this.api.request('memlens/sqlState', {}).answer,
    ({ filled, fraction }) => {
      if (!filled && fraction !== null) this.filling.value = { fraction };
    },
  );

  constructor(private readonly api: Pick<Api, 'request'>) {}

  readonly make = (): void => {
    if (this.fill.asking) return;
    this.filling.value = null;
    this.fill.ask(
      this.api.request('memlens/sqlFill', {}),
      () => this.end(null),
      (error) => this.end({ why: messageOf(error) }),
    );
    this.watch.begin();
  };

  readonly stop = (): void => this.end({ why: t('The tables have not been made.') });

  dispose(): void {
    this.end(null);
  }

  private end(filling: Filling | null): void {
    this.fill.cancel();
    this.watch.end();
    this.filling.value = filling;
  }
}
