// A view's state with nothing in it, for what stands around any model's.

import { signal } from '@preact/signals';
import type { FromWebviewMessage, ViewState } from '../../../extension/shared/messages';
import type { SnapshotInfo } from '../../../extension/shared/protocol.gen';
import type { Api } from '../../../webview/src/api';
import { Session } from '../../../webview/src/shell/session';

export class BareSession extends Session {
  readonly info = {} as SnapshotInfo;
  override readonly comparedWith = signal(null);
  protected override readonly topics = {};
  /** What was kept. */
  readonly saved: ViewState[];

  constructor(posted: FromWebviewMessage[] = []) {
    const saved: ViewState[] = [];
    super({
      saved: () => undefined,
      save: (state) => saved.push(state),
      post: (message) => posted.push(message),
    } as Partial<Api> as Api);
    this.saved = saved;
  }

  protected override get place(): ViewState {
    return { model: 'profile', pane: this.pane.value, filter: this.filter } as ViewState;
  }

  override showEvidence(): void {
    throw new Error('It has none.');
  }

  protected override narrow(filter: string): void {
    this.filtering.held.value = filter;
  }
}
