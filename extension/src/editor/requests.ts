import * as vscode from 'vscode';
import type { FromWebviewMessage, ToWebviewMessage, ViewMethod } from '../../shared/messages';
import { VIEW_METHODS, type Problem, type Requests } from '../../shared/protocol.gen';
import { Disposable } from '../base/disposable';
import type { Server } from '../server/client';
import { CANCELLED, problem, problemOf } from '../server/problem';
import { packed, unpacked } from './packing';

type RequestMessage = Extract<FromWebviewMessage, { type: 'request' }>;

const METHODS: ReadonlySet<string> = new Set(VIEW_METHODS);

/** The methods about two snapshots. */
const COMPARING: ReadonlySet<string> = new Set(
  VIEW_METHODS.filter((method) => method.startsWith('memlens/compare')),
);

/** The methods about the dumps of a series. */
const OF_SERIES: ReadonlySet<string> = new Set(['memlens/heapSeries', 'memlens/seriesSql']);

/** The pending requests of one view. There is one viewport and one query at a time. */
export class ViewRequests extends Disposable {
  readonly #pending = new Map<number, { method: ViewMethod; cancel: vscode.CancellationTokenSource }>();

  constructor(
    private readonly server: Server,
    private readonly post: (message: ToWebviewMessage) => void,
    /** Called when the server has no such snapshot (any more). */
    private readonly onClosed: (snapshot: string) => void,
  ) {
    super();
  }

  /**
   * Pass a request of the view on to the server, with the view's snapshot (and those that it is compared with), and
   * post the response.
   */
  async answer(
    message: RequestMessage,
    snapshot: string | null,
    other: string | null,
    dumps: readonly string[],
  ): Promise<void> {
    const { id, method } = message;
    if (!METHODS.has(method)) return;
    if (snapshot === null) {
      this.#fail(id, problem('closed', vscode.l10n.t('The snapshot is not open yet'), ''));
      return;
    }
    if (COMPARING.has(method) && other === null) {
      this.#fail(
        id,
        problem(
          'no-other',
          vscode.l10n.t('There is no snapshot to compare with'),
          vscode.l10n.t('Choose another snapshot.'),
        ),
      );
      return;
    }
    // Only the latest of these is needed, and abandoned queries must not keep running.
    if (method === 'memlens/viewport' || method === 'memlens/sql') this.#cancelAll(method);
    const cancel = new vscode.CancellationTokenSource();
    this.#pending.set(id, { method, cancel });
    try {
      // SAFETY: the view's types pair method and parameters; the server checks them against its structs.
      const params = {
        ...(message.params as object),
        ...(COMPARING.has(method) ? { other } : {}),
        ...(OF_SERIES.has(method) ? { dumps } : {}),
        snapshot,
      } as Requests[ViewMethod]['params'];
      const result = await this.server.request(method, params, cancel.token, (fraction) => {
        if (this.#pending.has(id)) this.post({ type: 'requestProgress', id, fraction });
      });
      // The page may be at the other end of a slow line.
      const small = vscode.env.remoteName === undefined ? null : await packed(id, result);
      if (cancel.token.isCancellationRequested) this.#fail(id, problem(CANCELLED, 'Cancelled', ''));
      else this.post(small ?? { type: 'response', id, ok: true, result: unpacked(result) });
    } catch (error) {
      const failure = problemOf(error);
      this.#fail(id, failure);
      if (failure.code === 'closed') this.onClosed(snapshot);
    } finally {
      this.#pending.delete(id);
      cancel.dispose();
    }
  }

  cancel(id: number): void {
    this.#pending.get(id)?.cancel.cancel();
  }

  /** Cancel all requests of a page that no longer exists. */
  cancelAll(): void {
    this.#cancelAll();
  }

  override dispose(): void {
    this.#cancelAll();
    super.dispose();
  }

  #cancelAll(method?: ViewMethod): void {
    for (const pending of this.#pending.values()) {
      if (method === undefined || pending.method === method) pending.cancel.cancel();
    }
  }

  #fail(id: number, failure: Problem): void {
    this.post({ type: 'response', id, ok: false, problem: failure });
  }
}
